"""Build a corpus: documents from Wikipedia dumps, books and other text."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..config import CorpusConfig, read_small
from ..config.input_kinds import INPUTS, Paths, paths_of
from ..dataset.build import finished
from ..dataset.data_set import DataSet
from ..dataset.manifest_records import Input
from ..dataset.manifest_types import CorpusManifest
from ..dataset.versions import versions
from ..errors import UsageError, few
from ..records import Document
from ..reports.summary import count, size
from ..run.estimate import of_files
from ..run.plan import Plan, run
from ..run.progress import Progress, Reporter
from ..sources.inputs import find
from ..stages.corpus.filtering import load_grams, load_ids
from ..stages.corpus.job import CorpusJob
from ..stages.corpus.plan_tasks import packages
from ..stages.corpus.plan_tasks import plan as cut_input
from ..stages.selection import facts
from ..stages.selection.choose import check_memory, needed_bytes
from ..storage.files import digest, is_local, to_path
from ..storage.problems import storage_errors
from ..storage.stamp import stamp
from ..storage.user_functions import load, name_of, source_digest

_MAX_LISTED = 8  # input files listed in a plan
# Average bytes of input per document and per paragraph of 100 characters, as in English Wikipedia (compressed), Project Gutenberg
# and FineWeb, which differ from other input by a factor of two or more: the task checks again when it knows the numbers.
_PAGE_BYTES, _DOCUMENT_BYTES, _PARAGRAPH_BYTES = 3_000, {"books": 400_000, "text": 3_000}, 400
_LARGE_CHOICE = 400_000_000  # bytes of memory that the plan mentions
_MAX_UNSPLIT = 0.03  # documents of one long sentence, as a share of a source
Maps = Sequence[str | Callable[[Document], Document | str]]


@storage_errors()
def build_corpus(
    *,
    output: str | Path,
    wikipedia: Paths = (),
    wikipedia_html: Paths = (),
    books: Paths = (),
    text: Paths = (),
    maps: Maps = (),
    config: CorpusConfig | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], object] | Reporter | None = None,
    beam_args: tuple[str, ...] = (),
    **options: Any,
) -> DataSet[CorpusManifest]:
    """Extract documents from dumps, books and other text into shards, and return the finished dataset.

    If an earlier run with the same input and configuration was interrupted, resume it. If it is complete, return its dataset.

    Args:
        output: Local directory or store URL for the corpus.
        wikipedia: One or more dumps, as files, globs, directories or URLs.
        wikipedia_html: Rendered pages: Enterprise HTML dumps, their NDJSON files, or directories of pages of the REST API.
        books: Books, in the same form.
        text: Other text, in the same form.
        maps: Your functions that edit documents, or their names ``module:function``. Each takes a `Document`, and returns it
            edited or the reason to drop it. They follow those of `config`.
        config: How to read the input and which text to drop. Keyword options replace its fields.
        workers: Number of local worker processes. None means one per usable CPU, or one for less than 8 MB of input.
        overwrite: Replace the contents of `output` once the new corpus is complete.
        progress: Called with a `Progress` after each task. An engine reports no progress.
        beam_args: Options for Beam, such as ``("--runner=DaskRunner",)``. Empty runs locally without Beam.
        options: Fields of `CorpusConfig`, `FilterConfig` and `ChoiceConfig`, such as ``dedup="near"``, and paths of the files
            `templates`, `exclude` and `exclude_ids`.

    Returns:
        The corpus, with its path, manifest, counts and shards.

    Raises:
        NoInputError: No input was found.
        OutputExistsError: `output` has other contents, is being written, or has an unfinished run with other settings.
        TooManyRejectsError: The share of rejected input exceeds `config.max_rejects`.
        EmptyResultError: No document is left.
        StorageError: A disk or a store fails.

    Examples:
        >>> from bertdata.sample import sample
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> corpus.kind, corpus.rows, [stage.stage for stage in corpus.counts]
        ('documents', 3, ['books'])
    """
    inputs = {"wikipedia": wikipedia, "wikipedia_html": wikipedia_html, "books": books, "text": text}
    if templates := options.get("templates"):
        if not wikipedia:
            raise UsageError("`templates` does nothing without `wikipedia`", field="templates")
        options["templates"] = _tables(templates)
    options |= {name: _named_files(paths, name) for name in ("exclude", "exclude_ids") if (paths := options.get(name))}
    settings = _with_functions(CorpusConfig.with_options(config, options), maps)
    plan = _plan(to_path(str(output)), {kind: paths_of(paths) for kind, paths in inputs.items()}, settings, overwrite)
    return run(plan, workers=workers, overwrite=overwrite, beam_args=beam_args, progress=progress)[0]


def _plan(directory: Path, paths: Mapping[str, tuple[str, ...]], settings: CorpusConfig, overwrite: bool) -> Plan:
    """Find the input files and cut them into tasks. If the corpus is finished and no file has changed, do not read the files."""
    identity: dict[str, Any] = {"command": "build-corpus", "config": settings.identity()}
    identity["versions"] = versions(packages(settings))
    files, ignored = _files(paths)
    identity["seen"] = _seen(files)
    if identity["seen"] and not overwrite and (record := finished(directory, identity)):
        summary = f"build-corpus: {_amount([entry['bytes'] for entry in record['inputs']])} -> {directory}"
        return Plan(outputs={directory: record}, summary=summary)
    cut = cut_input(settings, files)._replace(ignored=ignored)
    identity["inputs"] = [{"name": entry.name, "source": entry.source, "bytes": entry.bytes} for entry in cut.inputs]
    sizes, unread = [entry.bytes for entry in cut.inputs], sum(sum(suffixes.values()) for suffixes in ignored.values())
    suffixes = list(dict.fromkeys(suffix for counts in ignored.values() for suffix in counts))
    dumps = "; use `wikipedia` for dumps" if any(suffix.startswith(".xml") for suffix in suffixes) else ""
    left_out = f"; {count(unread, 'file')} ignored ({few(suffixes, 3)}{dumps})" if unread else ""
    choice, names = settings.choice, [(entry.source, entry.name, entry.bytes) for entry in cut.inputs]
    is_limit = bool(settings.max_documents or choice.mix.strip() or choice.sample_documents or choice.word_limits)
    return Plan(
        outputs={directory: identity},
        tasks=cut.tasks,
        bytes=sum(sizes),
        estimate=of_files(names, choice.dedup == "near", is_limit),
        job=partial(CorpusJob.of, cut, settings),
        summary=f"build-corpus: {_amount(sizes)}, in {count(len(cut.tasks), 'task')}{left_out} -> {directory}",
        notes=(*_listed(cut.inputs), *_choosing(cut.inputs, settings), *_excluded(settings)),
        warnings=partial(_warnings, settings),
    )


def _listed(inputs: Sequence[Input]) -> Iterator[str]:
    """List the input files, and how each is cut into tasks."""
    cuts = {"blocks": " cut at blocks of bzip2", "pages": " cut at pages"}
    for entry in inputs[:_MAX_LISTED]:
        pieces = "one piece" if entry.pieces == 1 else f"{entry.pieces} pieces{cuts.get(entry.cut, '')}"
        yield f"  {entry.source:10} {entry.name}  {size(entry.bytes)}, {pieces}"
    if more := inputs[_MAX_LISTED:]:
        yield f"  and {count(len(more), 'more file')}, {size(sum(entry.bytes for entry in more))}"


def _choosing(inputs: Sequence[Input], config: CorpusConfig) -> Iterator[str]:
    """Estimate the memory of the task that chooses. Raise StorageError if this machine has less."""
    choice = config.choice
    if choice.dedup == "none" and not (choice.dedup_paragraphs or facts.samples(choice)):
        return
    documents = sum(entry.bytes // _DOCUMENT_BYTES.get(entry.source, _PAGE_BYTES) for entry in inputs)
    documents = min(documents, config.max_documents or documents)
    paragraphs = sum(entry.bytes // _PARAGRAPH_BYTES for entry in inputs)
    check_memory(choice, documents, paragraphs)
    needed = needed_bytes(choice, documents, paragraphs)
    if needed > _LARGE_CHOICE:
        yield f"  choosing   {size(needed)} of memory in one task, for about {count(documents, 'document')}"


def _excluded(config: CorpusConfig) -> Iterator[str]:
    """Count the ids and word runs of the files that list documents to drop."""
    if config.exclude_ids:
        yield f"  exclude-ids {count(len(load_ids(config.exclude_ids)), 'id')}"
    if config.exclude:
        grams = load_grams(config.exclude)
        short = f"; {grams.short:,} are too short to match" if grams.short else ""
        yield f"  exclude    {count(grams.examples, 'example')} with {count(len(grams), 'run')} of words{short}"


def _warnings(config: CorpusConfig, corpus: DataSet[CorpusManifest]) -> Iterator[str]:
    """Warn of listed ids that no document has, because a mistyped id drops nothing, and of text without sentences."""
    for name, entry in corpus.manifest.sources.items():
        unsplit = entry.unsplit_documents or 0
        if unsplit > _MAX_UNSPLIT * entry.documents:
            yield (
                f"{unsplit:,} of {entry.documents:,} documents of {name} are one sentence of more than 1,000 characters, so "
                f"make-pairs drops them or cuts them anywhere. Look at some: bertdata inspect {corpus.path}"
            )
    ids = len(load_ids(config.exclude_ids)) if config.exclude_ids else 0
    dropped = sum(stage.dropped.get("excluded id", 0) for stage in corpus.counts)
    if dropped < ids:
        yield (
            f"{count(ids, 'id')} listed in `exclude_ids`, {count(dropped, 'document')} dropped. Look up an id that matched "
            f"nothing: bertdata inspect {corpus.path} --explain ID"
        )


def _seen(files: Mapping[str, list[tuple[str, str]]]) -> str:
    """Return a digest of the files of each kind and their stamps, or an empty string if a file is in a store.

    The digest changes whenever a file changes.
    """
    found = [(kind, name, path) for kind in sorted(files) for name, path in files[kind]]
    if not all(is_local(path) for _, _, path in found):
        return ""
    stamps = [(kind, name, *stamp(path)) for kind, name, path in found]
    return hashlib.sha256(json.dumps(stamps).encode()).hexdigest()


def _amount(sizes: Sequence[int]) -> str:
    return f"{count(len(sizes), 'file')}, {size(sum(sizes))}"


def _files(paths_by_kind: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, list[tuple[str, str]]], dict[str, dict[str, int]]]:
    """Find the input files of each kind. Also count the files that are not read, by kind and suffix.

    The count excludes files that a run uses otherwise: code of the user, and checksum files and indexes of dumps.
    """
    unread: dict[str, set[str]] = {kind: set() for kind, paths in paths_by_kind.items() if paths}
    files = {kind: find(paths_by_kind[kind], INPUTS[kind].suffixes, f"`{kind}`", unread[kind]) for kind in unread}
    read = {path for found in files.values() for _, path in found}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, path in ((kind, path) for kind, paths in unread.items() for path in paths - read):
        if not re.search(r"\.pyc?$|sums?(?:\.txt)?$|-multistream-index[^/]*$", path):
            suffix = re.search(r"(?<=[^/])(\.xml)?\.[a-z]\w{0,11}$", path.lower())
            counts[kind][suffix[0] if suffix else "no suffix"] += 1
    return files, {kind: dict(sorted(suffixes.items())) for kind, suffixes in counts.items()}


def _with_functions(config: CorpusConfig, maps: Maps) -> CorpusConfig:
    """Add the names of functions, and the digests of their sources. Raise UsageError if one cannot be loaded."""
    names = (*config.map_functions, *(name_of(function, "maps") for function in maps))
    for name in names:
        load(name, "maps")
    functions = {*names, *([config.sentence_splitter] if ":" in config.sentence_splitter else [])}
    digests = tuple((name, source_digest(name)) for name in sorted(functions))
    return dataclasses.replace(config, map_functions=names, functions=digests)


def _tables(paths: Paths) -> tuple[tuple[str, str], ...]:
    """Return the name and contents of each template file, for `CorpusConfig.templates`, so that workers need not read the files.

    Raise UsageError if a file cannot be read, or if two files have the same name.
    """
    contents: dict[str, str] = {}
    for path in _existing(paths, "templates"):
        if path.name in contents:
            raise _refused("templates", path, "two files have this name. Rename one of them")
        try:
            contents[path.name] = read_small(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _refused("templates", path, f"it is not UTF-8 ({error}). Save it as UTF-8") from error
    return tuple(contents.items())


def _named_files(paths: Paths, field: str) -> tuple[tuple[str, str, str], ...]:
    """Return name, path and SHA-256 of each file, for `CorpusConfig.exclude` or `exclude_ids`.

    Raise UsageError if a file cannot be read. `field` is the option that names the files.
    """
    # A worker may be in another directory.
    return tuple(sorted((path.name, str(path.resolve()), digest(path)) for path in _existing(paths, field)))


def _existing(paths: Paths, field: str) -> Iterator[Path]:
    for path in map(to_path, paths_of(paths)):
        with storage_errors(f"`{field}` {path}"):
            if not path.is_file():
                problem = "not a regular file" if path.exists() else "no such file"
                raise _refused(field, path, f"{problem}. Check the path")
        yield path


def _refused(field: str, path: Path, problem: str) -> UsageError:
    return UsageError(f"`{field}` {path}: {problem}", field=field, value=path)

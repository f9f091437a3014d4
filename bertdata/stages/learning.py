"""Learn the templates of wikis from their own dumps, in two stages that end before the first page is extracted.

    collect   task by task: the template pages of a range of a dump, and the unknown templates of articles at evenly spaced places
    learn     one task: the definitions of the templates that prose calls and no table has, with the templates that they call

The result depends only on the dumps, the template tables and the division into tasks, so any number of workers learns the same.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..codec import Count, Record, decode, encode
from ..config import CorpusConfig
from ..config.input_kinds import PROJECTS
from ..dataset import shards
from ..dataset.build import STATE
from ..dataset.manifest_records import RowFile
from ..dataset.tasks import InputRange, TaskReport
from ..records import FileRange, Page, Task
from ..sources import dumps
from ..sources.rendered import is_rendered
from ..sources.rendered import read_site as read_rendered_site
from ..storage.files import PRIVATE_MODE, digest, read_json, size, write_json
from ..storage.problems import storage_errors
from ..storage.stamp import read_unchanged
from ..text.wikitext import is_redirect, load_templates, namespaces
from ..text.wikitext.templates.braces import normalize
from ..text.wikitext.templates.learn import Definition, Survey, compile_definition, link, survey

_MIN_PLACES, _MAX_PLACES, _PLACE_BYTES = 4, 64, 8 << 20  # places of the sample: one in 8 MB, within these limits
_SAMPLE_SHARE, _MIN_SAMPLE = 0.05, 1 << 20  # characters of articles per compressed byte (about 1 % of the text), and at least
_MAX_TRIAL_BYTES = 16 << 20  # a trial reads no larger dump from start to end
_MAX_NAMES, _MAX_ROUNDS = 1000, 8  # unknown templates of the sample; redirects and templates within templates
_BATCH_CHARACTERS = 1 << 20
_MISSING = "not in the dump"
_SCHEMA = pa.schema([("name", pa.string()), ("revised", pa.string()), ("text", pa.string())])
_LEARNED = f"{STATE}/work/learned.json"


class Sample(NamedTuple):
    """The places of a wiki where articles are read: every `step`-th task from `first` on, `characters` of each."""

    first: int
    step: int
    characters: int


class Learned(Record, frozen=True, kw_only=True):
    """The templates learned from a wiki's dumps."""

    bodies: dict[str, str]
    """Wikitext by template name."""
    revisions: dict[str, tuple[str, str]]
    """For each template page used, its last change and the SHA-256 of its text."""
    unknown: dict[str, str]
    """For each other unknown template in prose, the reason."""


class TemplatesReport(TaskReport, frozen=True, kw_only=True):
    """The template pages of a task, and the number of calls of unknown templates: in prose, and alone on a line."""

    wiki: str
    language: str
    pages: RowFile
    inputs: Sequence[InputRange]
    unknown: dict[str, Count]
    alone: dict[str, Count]

    @property
    def files(self) -> Sequence[RowFile]:
        """The file of template pages."""
        return [self.pages]


def samples(tasks: Iterable[Task], config: CorpusConfig) -> dict[str, Sample]:
    """Choose the places of each wiki whose templates are learned."""
    wikis: dict[str, list[Task]] = defaultdict(list)
    for task in tasks if config.learn_templates else ():
        if task.kind in PROJECTS and not is_rendered(task.parts[0].name):
            wikis[dumps.read_site(task.parts[0].path).dbname].append(task)
    chosen: dict[str, Sample] = {}
    for wiki, of_wiki in wikis.items():
        total = sum(part.end - part.start for task in of_wiki for part in task.parts)
        if config.max_documents and total > _MAX_TRIAL_BYTES:
            continue
        step = -(-len(of_wiki) // max(_MIN_PLACES, min(_MAX_PLACES, total // _PLACE_BYTES)))
        characters = max(_MIN_SAMPLE, int(_SAMPLE_SHARE * total)) // len(of_wiki[::step])
        chosen[wiki] = Sample(of_wiki[0].number, step, characters)
    return chosen


def collect(root: Path, config: CorpusConfig, samples: Mapping[str, Sample], task: Task) -> TemplatesReport:
    """Write the template pages of a task's range of a dump, and count the unknown templates of its first articles."""
    with storage_errors("cannot read the input"):
        return read_unchanged((part.path for part in task.parts), partial(_collect, root, config, samples, task))


def _collect(root: Path, config: CorpusConfig, samples: Mapping[str, Sample], task: Task) -> TemplatesReport:
    part, *_ = task.parts
    has_html, counts = is_rendered(part.name), Survey()
    site = (read_rendered_site if has_html else dumps.read_site)(part.path)
    sample = None if has_html else samples.get(site.dbname)
    pages = _templates(task, site, sample, config, counts) if sample else ()
    written = shards.write(root, f"{STATE}/work/templates-{task.number:05d}.arrow", _SCHEMA, _batches(pages))
    return TemplatesReport(
        wiki=site.dbname,
        language=site.language,
        pages=written,
        inputs=[InputRange(**part._asdict(), sha256=digest(part.path, part.start, part.end))],
        unknown=dict(sorted(counts.unknown.items())),
        alone=dict(sorted(counts.alone.items())),
    )


def _templates(task: Task, site: dumps.Site, sample: Sample, config: CorpusConfig, counts: Survey) -> Iterator[Page]:
    """Yield the template pages, and survey articles until the task's share of the sample is read."""
    table = load_templates(site.language, dict(config.templates))
    left = -1 if (task.number - sample.first) % sample.step else sample.characters
    for page in dumps.read_pages(task.parts[0], site, config.max_page_bytes):
        if not isinstance(page, Page):
            continue
        if left >= 0:
            left -= len(page.text)
            if page.namespace == 0 and page.model == "wikitext" and not (page.redirect or is_redirect(page.text)):
                survey(page.text, table, counts)
        if page.namespace == namespaces.TEMPLATE:
            yield page


def _batches(pages: Iterable[Page]) -> Iterator[pa.RecordBatch]:
    rows: list[dict[str, str]] = []
    characters = 0
    for page in pages:
        rows.append({"name": _name(page), "revised": page.revised, "text": page.text})
        characters += len(page.text)
        if characters > _BATCH_CHARACTERS:
            yield pa.RecordBatch.from_pylist(rows, _SCHEMA)
            rows, characters = [], 0
    yield pa.RecordBatch.from_pylist(rows, _SCHEMA)


def _name(page: Page) -> str:
    return normalize(page.title.partition(":")[2])


def learn(root: Path, reports: Iterable[TemplatesReport], config: CorpusConfig) -> None:
    """Learn the templates of each wiki from the reports of its tasks, in order. Wikis without template pages are left out."""
    counts, files, languages = defaultdict[str, Survey](Survey), defaultdict[str, list[Path]](list), dict[str, str]()
    for report in reports:
        counts[report.wiki].unknown.update(report.unknown)
        counts[report.wiki].alone.update(report.alone)
        languages[report.wiki] = report.language
        files[report.wiki] += [root / report.pages.name] * bool(report.pages.rows)
    learned = {wiki: _learn(languages[wiki], counts[wiki], files[wiki], config) for wiki in sorted(files) if files[wiki]}
    write_json(root / _LEARNED, {wiki: encode(found) for wiki, found in learned.items()}, PRIVATE_MODE)


def _learn(language: str, counts: Survey, files: list[Path], config: CorpusConfig) -> Learned:
    # Each round reads the definitions of the names that the round before has found: first those of prose, then redirects'
    # targets and the templates that definitions call.
    table = load_templates(language, dict(config.templates))
    names = wanted = _unknown(counts)
    definitions: dict[str, Definition] = {}
    revisions: dict[str, tuple[str, str]] = {}
    for _ in range(_MAX_ROUNDS):
        pages = _find(files, wanted)
        for name in wanted:
            definitions[name] = Definition(reason=_MISSING)
            if name in pages:
                revised, text = pages[name]
                definitions[name] = compile_definition(text)
                revisions[name] = revised, _sha256(text)
        called = {name for done in wanted for name in definitions[done].calls}
        wanted = sorted(name for name in called - definitions.keys() if table.lookup(name) is None)
        if not wanted:
            break
    definitions |= dict.fromkeys(wanted, Definition(reason=_MISSING))
    bodies, unknown = link(definitions, names)
    return Learned(bodies=bodies, revisions={name: revisions[name] for name in bodies}, unknown=unknown)


def _unknown(counts: Survey) -> list[str]:
    """Return the templates in prose that the table lacks, the most frequent first.

    A template that is more often alone on its line shows a note or a box.
    """
    names = sorted(counts.unknown, key=lambda name: (-counts.unknown[name], name))
    return [name for name in names if counts.unknown[name] >= counts.alone[name] and name and not name.endswith(":")][:_MAX_NAMES]


def _find(files: Sequence[Path], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the last change and the text of template pages, the first of each name."""
    wanted, found = pa.array(names, pa.string()), dict[str, tuple[str, str]]()
    for batch in (batch for path in files for batch in shards.read_batches(path)) if names else ():
        chosen = batch.filter(pc.is_in(batch.column("name"), wanted))
        for row in chosen.to_pylist():
            found.setdefault(row["name"], (row["revised"], row["text"]))
    return found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_learned(root: Path) -> dict[str, Learned]:
    """Return the learned templates of each wiki, or nothing if the run learns none."""
    return decode(read_json(root / _LEARNED) or {}, dict[str, Learned])


def restore(digests: Mapping[str, str], paths: Sequence[str], config: CorpusConfig) -> dict[str, str]:
    """Return the bodies that an earlier run learned, from the dumps of one wiki.

    `digests` maps names to the SHA-256 of the template pages. Templates whose page differs or is missing are left out.
    """
    bodies: dict[str, str] = {}
    for path in paths if digests else ():
        for page in dumps.read_pages(FileRange(path, path, 0, size(path)), dumps.read_site(path), config.max_page_bytes):
            if not isinstance(page, Page) or page.namespace != namespaces.TEMPLATE:
                continue
            if digests.get(name := _name(page)) == _sha256(page.text):
                bodies[name] = compile_definition(page.text).body
    return bodies

"""Trace one document from wikitext to training rows: the text removed by each step, sentences, subwords, rows and masks."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..config import CorpusConfig
from ..config.input_kinds import INPUTS, paths_of
from ..dataset import manifest, shards
from ..dataset.manifest import steady
from ..dataset.manifest_types import CorpusManifest, PairsManifest
from ..errors import UsageError
from ..records import Document, FileRange, Page
from ..reports.checks import check_rows
from ..reports.trace import Change, Trace, TracedRow, TracedStep, explain, named_rows, rows_with
from ..sources import dumps, inputs
from ..storage import files
from ..storage.storage import storage_errors
from ..text.wikitext import load_templates
from ..tokens.read import read_any
from ..tokens.vocab import Vocabulary
from .corpus.sources.wikipedia import extractor
from .learning import restore

__all__ = ["trace"]

_MAX_LINES = 4_000  # lines of a page that are compared; a longer page is shown as one change
_CONTEXT_CHARS = 30  # characters shown on each side of a difference
_MIN_PROBE_TOKENS = 6  # minimum tokens of a sentence by which a row is found
_MAX_SENTENCES, _MAX_ROWS = 400, 20  # maximum sentences searched for, and rows shown


@storage_errors()
def trace(
    corpus: str | Path,
    name: str,
    *,
    wikipedia: str | Path | Sequence[str | Path] = (),
    vocab: str | Path | None = None,
    pairs: str | Path | None = None,
) -> Trace:
    """Trace a document from its source to the training rows that contain it.

    Args:
        corpus: Output directory of `build_corpus`.
        name: The document's id, such as ``enwiki:12``, or its title.
        wikipedia: The dumps that the corpus was made from, to show the page's wikitext and the removed text.
        vocab: Directory of a vocabulary, to show the tokens of its sentences. Defaults to the vocabulary of `pairs`.
        pairs: Output directory of `make_pairs`, to show the rows that contain the document.

    Returns:
        The trace of the document.

    Raises:
        UsageError: No document has this id or title.
        NoInputError: A directory does not contain a dataset.

    Examples:
        >>> from bertdata import build_corpus
        >>> from bertdata.sample import sample
        >>> corpus = build_corpus(wikipedia=sample(), output=here / "corpus", workers=1)
        >>> traced = trace(corpus.path, "sampleenwiki:107", wikipedia=sample())
        >>> traced.title, traced.steps[1].name, traced.paragraphs[0][0][:32]
        ('River Ellyn', 'templates', 'The River Ellyn rises on Cold Mo')
    """
    directory = files.to_path(str(corpus))
    with steady(directory):
        contents = manifest.read(directory, CorpusManifest)
        config = contents.settings
        document = _document(directory, contents, name)
        id, title = (document.id, "") if document else (name, name)
        copy = _page(wikipedia, id, title, config.max_page_bytes)
        if document and wikipedia and copy is None:
            raise UsageError(f"{id}: no such page in these dumps. Pass the dumps that the corpus was made from")
        fate: list[str] = []
        try:
            for line in explain(directory, contents, document.id if document else copy.page.id if copy else name):
                fate.append(line)
        except UsageError:
            if copy is None:
                raise
    if copy:
        fate.append(f"The wikitext is from {copy.dump}")
    learned = _learned(contents, copy.site, wikipedia, fate) if copy else {}
    steps, lost = _steps(copy.page, copy.site, config, learned) if copy else ([], [])
    page = Document(copy.page.id if copy else name, "", "", copy.page.title if copy else "", "", [], [])
    known = document or page
    pieces, rows, mark = _tokens(document, vocab, pairs)
    text, dump = (copy.page.text, copy.dump) if copy else ("", "")
    return Trace(known.id, known.title, known.language, fate, text, steps, lost, known.paragraphs(), pieces, rows, mark, dump)


def _document(directory: Path, contents: CorpusManifest, name: str) -> Document | None:
    """Return the first document with this id or title."""
    for shard in contents.shards:
        for batch in shards.read_batches(directory / shard.name):
            for at in named_rows(batch, name):
                return Document(**batch.slice(at, 1).to_pylist()[0])
    return None


class _Copy(NamedTuple):
    """A copy of a page in a dump: the page, the dump's site, and its file."""

    page: Page
    site: dumps.Site
    dump: str


def _dumps(wikipedia: str | Path | Sequence[str | Path]) -> list[tuple[str, str]]:
    """Return the names and paths of the dumps."""
    patterns = paths_of(wikipedia)
    return inputs.find(patterns, INPUTS["wikipedia"].suffixes, "`wikipedia`") if patterns else []


def _learned(
    contents: CorpusManifest, site: dumps.Site, wikipedia: str | Path | Sequence[str | Path], fate: list[str]
) -> dict[str, str]:
    """Return the template bodies that the run learned for a wiki, from its dumps. Say in `fate` if some are not in them."""
    known = next((each.templates for each in contents.learned_templates if each.wiki == site.dbname), {})
    if not known:
        return {}
    paths = [path for _, path in _dumps(wikipedia) if dumps.read_site(path).dbname == site.dbname]
    bodies = restore({name: page.sha256 for name, page in known.items()}, paths, contents.settings)
    if missing := len(known) - len(bodies):
        fate.append(f"{missing} of {len(known)} learned templates are not in these dumps: the steps lack their words")
    return bodies


def _page(wikipedia: str | Path | Sequence[str | Path], id: str, title: str, largest: int) -> _Copy | None:
    """Find the newest copy of a page in dumps, which is the one that a corpus keeps.

    An empty title matches no page.
    """
    copies = (
        _Copy(page, site, path.rpartition("/")[2])
        for _, path in _dumps(wikipedia)
        for page, site in _pages(path, id, title, largest)
    )
    # max returns the first of equally new copies
    return max(copies, key=lambda copy: dumps.as_of(copy.dump, copy.page.revised), default=None)


def _pages(path: str, id: str, title: str, largest: int) -> Iterator[tuple[Page, dumps.Site]]:
    """Yield the first page with this id or title in a dump."""
    wiki, _, number = id.rpartition(":")
    site = dumps.read_site(path)
    is_id = number.isdigit() and wiki.islower()  # 1984 and Blink:182 are titles
    if is_id and wiki != site.dbname:
        return
    for page in dumps.read_pages(FileRange(path, path, 0, files.size(path)), site, largest):
        if isinstance(page, Page) and (page.id == id or (title and page.title == title)):
            yield page, site
            return


def _steps(
    page: Page, site: dumps.Site, config: CorpusConfig, learned: Mapping[str, str]
) -> tuple[list[TracedStep], list[tuple[str, int]]]:
    """Return the effect of each extraction step on a page, and the templates that produced no words."""
    table = load_templates(site.language, dict(config.templates), learned)
    wiki = extractor(site.language, site.namespaces, table, config)
    found = wiki(page.text, page.title)
    texts = [
        ("", page.text),
        *wiki.steps(page.text, page.title),
        ("lists, headings, boxes and markup", "\n".join(found.paragraphs)),
    ]
    steps = [
        TracedStep(name, len(before) - len(after), list(_changes(before, after)))
        for (_, before), (name, after) in zip(texts, texts[1:], strict=False)
    ]
    return steps, sorted(found.dropped_templates.items(), key=lambda item: (-item[1], item[0]))


def _changes(before: str, after: str) -> Iterator[Change]:
    """Yield the differing lines. Adjacent ones form one change."""
    old, new = ([line for line in text.split("\n") if line.strip()] for text in (before, after))
    if max(len(old), len(new)) > _MAX_LINES:
        yield Change(before, after)
        return
    for kind, start, end, at, to in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and end - start == to - at:
            yield from map(_focused, old[start:end], new[at:to])
        elif kind != "equal":
            yield Change("\n".join(old[start:end]), "\n".join(new[at:to]))


def _focused(before: str, after: str) -> Change:
    """Remove the common start and end of two lines, except a few characters around the difference.

    >>> _focused("x" * 100 + "<!-- a --> b", "x" * 100 + " b").before[-24:]
    'xxxxxxxxxxxx<!-- a --> b'
    """
    first = len(os.path.commonprefix([before, after]))
    last = len(os.path.commonprefix([before[first:][::-1], after[first:][::-1]]))
    start, rest = max(0, first - _CONTEXT_CHARS), max(0, last - _CONTEXT_CHARS)

    def shown(line: str) -> str:
        return f"{'…' if start else ''}{line[start : len(line) - rest]}{'…' if rest else ''}"

    return Change(shown(before), shown(after))


def _tokens(
    document: Document | None, vocabulary: str | Path | None, pairs: str | Path | None
) -> tuple[list[list[str]], list[TracedRow], str]:
    """Return the tokens of sentences, the rows that contain one of them, and the prefix that marks subwords."""
    where = vocabulary if vocabulary is not None else pairs
    if where is None or document is None:
        return [], [], ""
    known, cut = _cut(document, where)
    pieces = [[known.pieces[i] for i in ids] for ids in cut]
    if pairs is None:
        return pieces, [], known.special.mark
    rows = list(_rows(files.to_path(str(pairs)), cut if where == pairs else _cut(document, pairs)[1]))
    return pieces, rows, known.special.mark


def _cut(document: Document, where: str | Path) -> tuple[Vocabulary, list[Any]]:
    """Return a vocabulary and the ids of a document's sentences, as in rows."""
    known = read_any(files.to_path(str(where)))
    columns = (pa.array([column]) for column in (document.sentences, document.paragraph_starts))
    ids, ends = known.encoder().encode_documents(*columns)
    return known, np.split(ids, ends[:-1])


def _rows(directory: Path, sentences: list[Any]) -> Iterator[TracedRow]:
    """Yield the rows that contain a sentence's consecutive ids. Masked rows are restored first."""
    probes = {ids.tobytes() for ids in sentences[:_MAX_SENTENCES] if len(ids) >= _MIN_PROBE_TOKENS}
    contents, vocabulary = manifest.read(directory, PairsManifest), read_any(directory)
    before, shown = 0, 0
    for shard in contents.shards:
        for batch in shards.read_batches(directory / shard.name):
            check_rows(directory, [(before, batch)], contents, vocabulary)
            for row in rows_with(batch, probes):
                yield TracedRow(before + row, batch.slice(row, 1).to_pylist()[0])
                shown += 1
                if shown == _MAX_ROWS:
                    return
            before += batch.num_rows
            del batch

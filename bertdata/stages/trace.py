"""Trace one document from its wikitext to its sentences: the text that each step of the extraction removed."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.compute as pc

from ..config.input_kinds import INPUTS, paths_of
from ..dataset import manifest
from ..dataset.manifest import steady
from ..dataset.manifest_types import CorpusManifest
from ..errors import UsageError
from ..records import Document, FileRange, Page
from ..reports.select import batches, explain
from ..sources import dumps, inputs
from ..storage.files import size, to_path
from ..storage.problems import storage_errors
from ..text.wikitext import load_templates
from .corpus.wikipedia import extractor
from .learning import restore

__all__ = ["trace"]

_MAX_LINES = 4_000  # lines of a page that are compared; a longer page is shown as one change
_CONTEXT_CHARS = 30  # characters shown on each side of a difference


class Change(NamedTuple):
    """Lines that a step changed, before and after it."""

    before: str
    after: str


class TracedStep(NamedTuple):
    """A step of the extraction: its name, the number of characters it removed, and the lines it changed."""

    name: str
    removed: int
    changes: list[Change]


class Trace(NamedTuple):
    """The trace of one document. `wikitext`, `steps`, `lost` and `dump` need its dump."""

    id: str
    title: str
    language: str
    fate: list[str]  # lines that say where the document is, or why it is not in the corpus
    wikitext: str
    steps: list[TracedStep]
    lost: list[tuple[str, int]]  # templates that produced no words, and how often each was called
    paragraphs: list[list[str]]
    dump: str = ""


@storage_errors()
def trace(corpus: str | Path, name: str, *, wikipedia: str | Path | Sequence[str | Path] = ()) -> Trace:
    """Trace a document from its wikitext to its sentences.

    Args:
        corpus: Output directory of `build_corpus`.
        name: The document's id, such as ``enwiki:12``, or its title.
        wikipedia: The dumps that the corpus was made from, to show the page's wikitext and the removed text.

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
    directory, patterns = to_path(str(corpus)), paths_of(wikipedia)
    paths = [path for _, path in inputs.find(patterns, INPUTS["wikipedia"].suffixes, "`wikipedia`")] if patterns else []
    with steady(directory):
        contents = manifest.read(directory, CorpusManifest)
        document = _document(directory, contents, name)
        id, title = (document.id, "") if document else (name, name)
        copies = (copy for path in paths for copy in _copies(path, id, title, contents.settings.max_page_bytes))
        # The newest copy is the one that a corpus keeps. max returns the first of equally new copies.
        copy = max(copies, key=lambda copy: dumps.as_of(copy.dump, copy.page.revised), default=None)
        if document and paths and copy is None:
            raise UsageError(f"{document.id}: no such page in these dumps. Pass the dumps that the corpus was made from")
        id = copy.page.id if copy else id
        fate: list[str] = []
        try:
            fate += explain(directory, contents, id)
        except UsageError:
            if copy is None:
                raise
    steps, lost = _steps(copy, paths, contents, fate) if copy else ([], [])
    known = document or Document(id, "", "", copy.page.title if copy else "", "", [], [])
    text, dump = (copy.page.text, copy.dump) if copy else ("", "")
    return Trace(known.id, known.title, known.language, fate, text, steps, lost, known.paragraphs(), dump)


def _document(directory: Path, contents: CorpusManifest, name: str) -> Document | None:
    """Return the first document with this id, or with this title in any case."""
    for _, batch in batches(directory, contents):
        titles = pc.equal(pc.utf8_lower(batch.column("title")), name.lower())
        for at in pc.indices_nonzero(pc.or_(pc.equal(batch.column("id"), name), titles)).to_pylist():
            return Document(**batch.slice(at, 1).to_pylist()[0])
    return None


class _Copy(NamedTuple):
    """A copy of a page in a dump: the page, the dump's site, and its file."""

    page: Page
    site: dumps.Site
    dump: str


def _copies(path: str, id: str, title: str, largest: int) -> Iterator[_Copy]:
    """Yield the first page with this id or title in a dump."""
    wiki, _, number = id.rpartition(":")
    site = dumps.read_site(path)
    if number.isdigit() and wiki.islower() and wiki != site.dbname:  # 1984 and Blink:182 are titles
        return
    for page in dumps.read_pages(FileRange(path, path, 0, size(path)), site, largest):
        if isinstance(page, Page) and (page.id == id or (title and page.title == title)):
            yield _Copy(page, site, path.rpartition("/")[2])
            return


def _steps(
    copy: _Copy, paths: Sequence[str], contents: CorpusManifest, fate: list[str]
) -> tuple[list[TracedStep], list[tuple[str, int]]]:
    """Return the effect of each extraction step on a page, and the templates that produced no words."""
    page, site, config = copy.page, copy.site, contents.settings
    fate.append(f"The wikitext is from {copy.dump}")
    known = next((each.templates for each in contents.learned_templates if each.wiki == site.dbname), {})
    of_wiki = [path for path in paths if known and dumps.read_site(path).dbname == site.dbname]
    learned = restore({name: template.sha256 for name, template in known.items()}, of_wiki, config)
    if missing := len(known) - len(learned):
        fate.append(f"{missing} of {len(known)} learned templates are not in these dumps: the steps lack their words")
    wiki = extractor(site.language, site.namespaces, load_templates(site.language, dict(config.templates), learned), config)
    found = wiki(page.text, page.title)
    texts = [("", page.text), *wiki.steps(page.text, page.title), ("lists, boxes and markup", "\n".join(found.paragraphs))]
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
    """Remove the common start and end of two lines, except a few characters around the difference."""
    first = len(os.path.commonprefix([before, after]))
    last = len(os.path.commonprefix([before[first:][::-1], after[first:][::-1]]))
    start, end = max(0, first - _CONTEXT_CHARS), max(0, last - _CONTEXT_CHARS)
    return Change(*(f"{'…' * (start > 0)}{line[start : len(line) - end]}{'…' * (end > 0)}" for line in (before, after)))

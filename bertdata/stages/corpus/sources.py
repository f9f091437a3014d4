"""The kinds of input: how each is split into tasks and read. To add a kind, add it to `INPUTS` and here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...config import CorpusConfig
from ...config.input_kinds import INPUTS, PROJECTS, WIKI_LICENCE
from ...records import Drop, FileRange, Prose, Reject
from ...sources import text
from ...sources.tables import Columns
from ..counts import add_under


class Source(NamedTuple):
    """A kind of input, as `build-corpus` uses it.

    stage: the stage name under which the manifest counts it.
    licence: the licence on the data card if the input declares none.
    ranges(path, size, target, config): byte ranges of about `target` bytes that a task can read independently.
    read(part, config, counts): the prose, drops and rejects of a file range; `counts` receives the omitted text.
    describe(parts, config): manifest fields of a file other than its name and size.
    grouped: whether small files share a task.
    """

    stage: str
    licence: str
    ranges: Callable[[str, int, int, CorpusConfig], list[tuple[int, int]]]
    read: Callable[[FileRange, CorpusConfig, Counter[str]], Iterator[Prose | Drop | Reject]]
    describe: Callable[[list[FileRange]], dict[str, str]] = lambda parts: {}
    grouped: bool = True


def source(kind: str) -> Source:
    """Return a kind of input. The readers of dumps and books take a while to import, so they are imported on demand."""
    if kind == "text":
        return Source("texts", text.LICENCE, _text_ranges, _read_text)
    if kind == "books":
        from ...sources.books.read import LICENCE

        return Source("books", LICENCE, _book_ranges, _read_books)
    from . import wikipedia

    return Source(f"{kind} pages", WIKI_LICENCE, wikipedia.ranges, wikipedia.read, wikipedia.describe, grouped=False)


def in_order(kinds: Iterable[str]) -> list[str]:
    """Sort kinds of input in corpus order.

    >>> in_order(["text", "wikipedia"])
    ['wikipedia', 'text']
    """
    return sorted(kinds, key=[*dict.fromkeys((*PROJECTS, *INPUTS))].index)


def _columns(config: CorpusConfig) -> Columns:
    return Columns(config.text_column, config.title_column, config.id_column)


def _text_reading(config: CorpusConfig, dropped: Counter[str]) -> text.Reading:
    columns = _columns(config)
    return text.Reading(columns, config.text_documents, config.text_lines, config.encoding, config.max_page_bytes, dropped)


def _text_ranges(path: str, size: int, target: int, config: CorpusConfig) -> list[tuple[int, int]]:
    return text.split(path, size, target, _text_reading(config, Counter()))


def _read_text(part: FileRange, config: CorpusConfig, counts: Counter[str]) -> Iterator[Prose | Drop | Reject]:
    dropped = Counter[str]()
    try:
        yield from text.read_text(part, _text_reading(config, dropped))
    finally:  # a trial stops before the end
        add_under(counts, "marks", dropped)


def _book_ranges(path: str, size: int, target: int, config: CorpusConfig) -> list[tuple[int, int]]:
    from ...sources import books

    return books.split(path, size, target, _columns(config))


def _read_books(part: FileRange, config: CorpusConfig, counts: Counter[str]) -> Iterator[Prose | Drop | Reject]:
    from ...sources import books

    reading = books.Reading(config.verse, config.encoding, config.footnotes)
    return books.read_books(part, _columns(config), reading, config.max_page_bytes)

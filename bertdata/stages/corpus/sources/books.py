"""Read books: one per file, archive member or table row."""

from __future__ import annotations

from collections.abc import Iterator

from ....config import CorpusConfig
from ....config.input_kinds import INPUTS
from ....records import FileRange
from ....sources import books
from ....sources.books.read import LICENCE
from .base import Counts, Record, Source
from .text import columns


def _ranges(path: str, size: int, target: int, config: CorpusConfig) -> list[tuple[int, int]]:
    return books.split(path, size, target, columns(config))


def _read(parts: list[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Record]:
    reading = books.Reading(config.verse, config.encoding, config.footnotes)
    for part in parts:
        yield from books.read_books(part, columns(config), reading, config.max_page_bytes)


SOURCE = Source(
    name="books",
    stage="books",
    licence=LICENCE,
    suffixes=INPUTS["books"].suffixes,
    ranges=_ranges,
    read=_read,
)

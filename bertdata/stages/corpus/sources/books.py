"""Read books: one per file, archive member or table row, or lines without boundaries between books."""

from __future__ import annotations

from collections.abc import Iterator

from ....config import CorpusConfig
from ....records import Drop, FileRange, Prose, Reject
from ....sources import SUFFIXES, books, licences
from .base import Counts, Record, Source
from .text import columns

__all__ = ["SOURCE"]


def _ranges(path: str, size: int, target: int, config: CorpusConfig) -> list[tuple[int, int]]:
    return books.split(path, size, target, columns(config))


def _describe(parts: list[FileRange], config: CorpusConfig) -> dict[str, str]:
    if not books.is_sentence_lines(parts[0].name):
        return {}
    return {"documents": f"of {config.book_sentences} lines each, which may be of two books: the file has no borders"}


def _read(parts: list[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Record]:
    reading = books.Reading(config.verse, config.encoding, config.footnotes)
    records = books.read_books(
        parts,
        columns=columns(config),
        sentences=config.book_sentences,
        reading=reading,
        max_bytes=config.max_page_bytes,
        licences=counts.licences,
    )
    for book in records:
        if isinstance(book, Drop | Reject):
            yield book
        else:
            id, title, language, paragraphs, url, sentences, licence = book
            licence = licences.name_of(licence, SOURCE.licence)
            yield Prose(id, "books", language, title, url, paragraphs, is_split=sentences, licence=licence)


SOURCE = Source(
    name="books",
    stage="books",
    licence="as each book states",
    suffixes=SUFFIXES["books"],
    ranges=_ranges,
    read=_read,
    describe=_describe,
)

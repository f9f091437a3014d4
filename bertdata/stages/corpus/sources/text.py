"""Read other text: a document is a file, an archive member, a section of a file, or a table row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....config import CorpusConfig
from ....records import Drop, FileRange, Prose, Reject
from ....sources import SUFFIXES, licences, text
from ....sources.tables import Columns
from .base import Counts, Record, Source

__all__ = ["SOURCE", "columns"]


def columns(config: CorpusConfig) -> Columns:
    """Return the table column of each document field."""
    return Columns(config.text_column, config.title_column, config.id_column)


def _ranges(path: str, size: int, target: int, config: CorpusConfig) -> list[tuple[int, int]]:
    return text.split(path, size, target, columns(config), config.text_documents, config.text_lines)


def _read(parts: list[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Record]:
    marks = Counter[str]()
    items = text.read_text(
        parts,
        columns=columns(config),
        documents=config.text_documents,
        lines=config.text_lines,
        marks=marks if config.text_marks == "drop" else None,
        encoding=config.encoding,
        max_bytes=config.max_page_bytes,
        licences=counts.licences,
    )
    try:
        for item in items:
            if isinstance(item, Drop | Reject):
                yield item
            else:
                licence = licences.name_of(item.licence, SOURCE.licence)
                yield Prose(item.id, "text", item.language, item.title, item.url, item.paragraphs, licence=licence)
    finally:  # a trial stops before the end
        counts.add("marks", marks)


SOURCE = Source(
    name="text",
    stage="texts",
    licence="as its owner states",
    suffixes=SUFFIXES["text"],
    ranges=_ranges,
    read=_read,
)

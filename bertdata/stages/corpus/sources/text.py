"""Read other text: a document is a file, an archive member, a section of a file, or a table row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....config import CorpusConfig
from ....config.input_kinds import INPUTS
from ....records import FileRange
from ....sources import text
from ....sources.tables import Columns
from .base import Counts, Record, Source


def columns(config: CorpusConfig) -> Columns:
    """Return the table column of each document field."""
    return Columns(config.text_column, config.title_column, config.id_column)


def _reading(config: CorpusConfig, dropped: Counter[str]) -> text.Reading:
    return text.Reading(
        columns(config), config.text_documents, config.text_lines, config.encoding, config.max_page_bytes, dropped
    )


def _ranges(path: str, size: int, target: int, config: CorpusConfig) -> list[tuple[int, int]]:
    return text.split(path, size, target, _reading(config, Counter()))


def _read(parts: list[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Record]:
    dropped = Counter[str]()
    try:
        for part in parts:
            yield from text.read_text(part, _reading(config, dropped))
    finally:  # a trial stops before the end
        counts.add("marks", dropped)


SOURCE = Source(
    name="text",
    stage="texts",
    licence=text.LICENCE,
    suffixes=INPUTS["text"].suffixes,
    ranges=_ranges,
    read=_read,
)

"""Read the records of every source: each is a document, a drop or a reject; documents pass the filters or are dropped."""

from __future__ import annotations

from collections.abc import Iterator

from ...config import CorpusConfig
from ...records import Document, FileRange
from .filtering import reason_to_drop
from .sources import Counts, Record, source

__all__ = ["read"]


def read(kind: str, parts: list[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Record]:
    """Read the records of parts of one kind, in order: each is a document, a drop or a reject.

    What is left out of documents is counted in `counts`, by name.
    """
    for record in source(kind).read(parts, config, counts):
        yield (reason_to_drop(record, config) or record) if isinstance(record, Document) else record

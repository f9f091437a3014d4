"""Records of every source: each is a document, a drop or a reject; documents pass the filters or are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...config import CorpusConfig
from ...records import Document, FileRange
from .filtering import reason_to_drop
from .sources import Record, source

__all__ = ["read"]


def read(kind: str, parts: list[FileRange], config: CorpusConfig, templates: Counter[str]) -> Iterator[Record]:
    """Read the records of parts of files of one kind, in order: each is a document, a drop or a reject.

    The calls of templates that gave no words are counted in `templates`, by name.
    """
    for record in source(kind).read(parts, config, templates):
        yield (reason_to_drop(record, config) or record) if isinstance(record, Document) else record

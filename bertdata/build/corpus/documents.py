"""Read the records of every source: each is a document, a drop or a reject; documents pass the filters or are dropped.

A file of some kilobytes can unpack to millions of records, and each takes a worker some microseconds. So a file range that
yields many times more than text of its size can is given up: it is rejected, and the run goes on with the next file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from ...config import CorpusConfig
from ...records import Article, Document, Drop, FileRange, Prose, Reject
from .filtering import reason_to_drop
from .sources import Counts, source
from .sources.base import document

__all__ = ["FREE_DOCUMENTS", "FREE_REJECTS", "read", "up_to_limits"]

T = TypeVar("T", bound=Article | Prose | Document | Drop | Reject)

FREE_REJECTS = 50_000  # rejects of a file range, however short it is
_BYTES_PER_REJECT = 16  # and one more for each of so many bytes
FREE_DOCUMENTS = 50_000  # documents and drops of a file range, however short it is: each takes about 100 microseconds
_BYTES_PER_DOCUMENT = 2  # and one more for each of so many bytes
_FREE_TEXT = 256 << 20  # bytes of records of a file range, however short it is
_MAX_RATIO = 250  # and so many more for each of its bytes: packed text has 3 to 10, the revisions of a page up to 100
_RECORD_BYTES = 512  # bytes that a record counts for, in addition to its text


def read(kind: str, parts: list[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Document | Drop | Reject]:
    """Read the records of parts of one kind, in order: each is a document, a drop or a reject.

    What is left out of documents is counted in `counts`, by name.
    """
    for part in parts:
        records = source(kind).read([part], config, counts)
        documents = (document(record, config) if isinstance(record, Prose) else record for record in records)
        for record in up_to_limits(documents, part, kind):
            yield (reason_to_drop(record, config) or record) if isinstance(record, Document) else record


def up_to_limits(records: Iterator[T], part: FileRange, kind: str) -> Iterator[T | Reject]:
    """Yield the records of a file range, and end with a Reject if there are too many for its size."""
    size = part.end - part.start
    text_left = _FREE_TEXT + _MAX_RATIO * size
    rejects_left = FREE_REJECTS + size // _BYTES_PER_REJECT
    documents_left = FREE_DOCUMENTS + size // _BYTES_PER_DOCUMENT
    for record in records:
        yield record
        text_left -= _RECORD_BYTES
        text_left -= _characters(record)
        if isinstance(record, Reject):
            rejects_left -= 1
        else:
            documents_left -= 1
        if min(text_left, rejects_left, documents_left) < 0:
            reason = "too-many-rejects" if rejects_left < 0 <= text_left else "decompression-bomb"
            where = f"bytes {part.start}-{part.end} of {part.name}: too many records for so few bytes; the rest is skipped"
            yield Reject(f"{kind}:{part.name}", reason, where, lost=size)
            return


def _characters(record: Article | Prose | Document | Drop | Reject) -> int:
    if isinstance(record, Article):
        return len(record.wikitext)
    texts = record.sentences if isinstance(record, Document) else record.paragraphs if isinstance(record, Prose) else ()
    return sum(map(len, texts))

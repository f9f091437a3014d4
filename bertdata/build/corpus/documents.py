"""Read the records of every source: each is a document, a drop or a reject; documents pass the filters or are dropped.

A file of some kilobytes can unpack to millions of records, and each takes a worker some microseconds. So a file range that
yields many times more than text of its size can is given up: it is rejected, and the run goes on with the next file.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config import CorpusConfig
from ...records import Document, FileRange, Reject
from .filtering import reason_to_drop
from .sources import Counts, Record, source

__all__ = ["FREE_REJECTS", "read"]

FREE_REJECTS = 50_000  # rejects of a file range, however short it is
_BYTES_PER_REJECT = 16  # and one more for each of so many bytes
_FREE_TEXT = 256 << 20  # bytes of records of a file range, however short it is
_MAX_RATIO = 250  # and so many more for each of its bytes: packed text has 3 to 10, the revisions of a page up to 100
_RECORD_BYTES = 512  # bytes that a record counts for, in addition to its text


def read(kind: str, parts: list[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Record]:
    """Read the records of parts of one kind, in order: each is a document, a drop or a reject.

    What is left out of documents is counted in `counts`, by name.
    """
    for part in parts:
        for record in _up_to_limits(source(kind).read([part], config, counts), part, kind):
            yield (reason_to_drop(record, config) or record) if isinstance(record, Document) else record


def _up_to_limits(records: Iterator[Record], part: FileRange, kind: str) -> Iterator[Record]:
    """Pass on the records of a file range; where there are too many for its size, end with a Reject."""
    size = part.end - part.start
    text_left = _FREE_TEXT + _MAX_RATIO * size
    rejects_left = FREE_REJECTS + size // _BYTES_PER_REJECT
    for record in records:
        yield record
        text_left -= _RECORD_BYTES
        if isinstance(record, Document):
            text_left -= sum(map(len, record.sentences))
        rejects_left -= isinstance(record, Reject)
        if text_left < 0 or rejects_left < 0:
            reason = "decompression-bomb" if text_left < 0 else "too-many-rejects"
            where = f"bytes {part.start}-{part.end} of {part.name}: too many records for so few bytes; the rest is skipped"
            yield Reject(f"{kind}:{part.name}", reason, where, lost=size)
            return

"""Read the records of every source. Each is a document, a drop or a reject. Documents that fail a filter become drops.

A file of a few kilobytes can unpack to millions of records, and each takes a worker a few microseconds. If a file range yields
many times more records than text of its size can contain, the rest of the range is rejected and the run continues with the next
file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ...config import CorpusConfig
from ...records import Article, Document, Drop, FileRange, Prose, Reject
from ...sources.lines import drop_controls
from .editing import edit
from .filtering import excluded, reason_to_drop
from .sources import source
from .sources.base import Counts, document

T = TypeVar("T", bound=Article | Prose | Document | Drop | Reject)

FREE_REJECTS = 50_000  # rejects allowed per file range, whatever its size
_BYTES_PER_REJECT = 16  # plus one reject for this many bytes
FREE_DOCUMENTS = 50_000  # documents and drops allowed per file range, whatever its size; each takes about 100 microseconds
_BYTES_PER_DOCUMENT = 2  # plus one document or drop for this many bytes
_FREE_TEXT = 256 << 20  # bytes of records allowed per file range, whatever its size
_MAX_RATIO = 250  # plus this many bytes for each byte of the range; packed text has a ratio of 3 to 10, page revisions up to 100
_RECORD_BYTES = 512  # overhead counted per record, in addition to its text


def read(kind: str, parts: Iterable[FileRange], config: CorpusConfig, counts: Counts) -> Iterator[Document | Drop | Reject]:
    """Read the records of file ranges of one kind, in order: documents, drops and rejects.

    `counts` receives the text left out of documents, by name.
    """
    for part in parts:
        records = source(kind).read([part], config, counts)
        documents = (document(_printable(record, counts), config) if isinstance(record, Prose) else record for record in records)
        for record in up_to_limits(documents, part, kind):
            yield _edited_and_filtered(record, config, counts) if isinstance(record, Document) else record


def _printable(prose: Prose, counts: Counts) -> Prose:
    """Drop control characters from a document's text and title, and count the documents that had any."""
    title, *paragraphs = map(drop_controls, (prose.title, *prose.paragraphs))
    if title == prose.title and paragraphs == prose.paragraphs:
        return prose
    counts.add("marks", {"control characters": 1})
    return prose._replace(title=title, paragraphs=[paragraph for paragraph in paragraphs if paragraph.strip()])


def _edited_and_filtered(document: Document, config: CorpusConfig, counts: Counts) -> Document | Drop | Reject:
    # Ids come first, so that a document to take down is dropped whatever a function does with it.
    # Filters and later rules see the edited text.
    if drop := excluded(document, config):
        return drop
    edited = edit(document, config, counts.numbers)
    return (reason_to_drop(edited, config) or edited) if isinstance(edited, Document) else edited


def up_to_limits(records: Iterator[T], part: FileRange, kind: str) -> Iterator[T | Reject]:
    """Yield the records of a file range. If there are too many for its size, end with a Reject."""
    # Three budgets that grow with the size of the range. Real files never come near them. A file
    # made to keep a worker busy for days exhausts one of them within seconds.
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

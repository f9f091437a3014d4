"""Read the records of every source. Each is a document, a drop or a reject. Documents that fail a filter become drops.

A file of a few kilobytes can unpack to millions of records, and each takes a worker a few microseconds. If a file range yields
many times more records than text of its size can contain, the rest of the range is rejected and the run continues with the next
file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from ...config import CorpusConfig
from ...records import Article, Document, Drop, FileRange, Prose, Reject
from ...sources.lines import drop_controls
from ...text import language
from ...text.sentences import is_lower_cased, split_sentences, splitter
from ..counts import add_under
from .editing import edit
from .filtering import excluded, reason_to_drop
from .sources import source

T = TypeVar("T", bound=Article | Prose | Document | Drop | Reject)
_CODE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{1,8}){0,3}")  # language code with optional script, region, variant
_BATCH_RECORDS, _BATCH_CHARACTERS = 100, 200_000  # whose languages are detected together
_SPACE = re.compile(r"\s")
_MAX_PARAGRAPH_CHARACTERS = 1 << 20  # characters split into sentences in one call
_MAX_SENTENCES = 500_000  # sentences per document; a book has ten thousand
FREE_REJECTS = 50_000  # rejects allowed per file range, whatever its size
_BYTES_PER_REJECT = 16  # plus one reject for this many bytes
FREE_DOCUMENTS = 50_000  # documents and drops allowed per file range, whatever its size; each takes about 100 microseconds
_BYTES_PER_DOCUMENT = 2  # plus one document or drop for this many bytes
_FREE_TEXT = 256 << 20  # bytes of records allowed per file range, whatever its size
_MAX_RATIO = 250  # plus this many bytes for each byte of the range; packed text has a ratio of 3 to 10, page revisions up to 100
_RECORD_BYTES = 512  # overhead counted per record, in addition to its text


def read(kind: str, parts: Iterable[FileRange], config: CorpusConfig, counts: Counter[str]) -> Iterator[Document | Drop | Reject]:
    """Read the records of file ranges of one kind, in order: documents, drops and rejects.

    `counts` receives the text left out of documents, by name.
    """
    for part in parts:
        found = source(kind).read(part, config, counts)
        records = (_printable(record, counts) if isinstance(record, Prose) else record for record in found)
        known = records if config.language else with_languages(records)
        documents = (document(record, config) if isinstance(record, Prose) else record for record in known)
        for record in up_to_limits(documents, part, kind):
            yield _edited_and_filtered(record, config, counts) if isinstance(record, Document) else record


def _printable(prose: Prose, counts: Counter[str]) -> Prose:
    """Drop control characters from a document's text and title, and count the documents that had any."""
    title, *paragraphs = map(drop_controls, (prose.title, *prose.paragraphs))
    if title == prose.title and paragraphs == prose.paragraphs:
        return prose
    add_under(counts, "marks", {"control characters": 1})
    return prose._replace(title=title, paragraphs=[paragraph for paragraph in paragraphs if paragraph.strip()])


def with_languages(records: Iterable[Prose | Drop | Reject]) -> Iterator[Any]:
    """Detect the language of prose without a valid code: of several texts at once, which is much faster if they are short."""
    batch: list[Prose | Drop | Reject] = []
    unknown: dict[int, Prose] = {}  # by place in the batch
    size = 0
    for record in chain(records, [None]):
        if isinstance(record, Prose) and not _CODE.fullmatch(record.language):
            unknown[len(batch)] = record
            size += _characters(record)
        batch += [record] if record else []
        if unknown and record and size < _BATCH_CHARACTERS and len(batch) < _BATCH_RECORDS:
            continue
        guesses = language.identify_all(["\n".join(prose.paragraphs) for prose in unknown.values()])
        for (number, prose), guess in zip(unknown.items(), guesses, strict=True):
            batch[number] = prose._replace(language=guess.language)
        yield from batch
        batch, unknown, size = [], {}, 0


def document(prose: Prose, config: CorpusConfig) -> Document | Drop | Reject:
    """Split paragraphs into sentences."""
    id, source, code, title, url, paragraphs, as_of, is_split, licence = prose
    code = config.language or code
    if is_split:
        return Document(id, source, code, title, url, paragraphs, [0], as_of, licence)
    sentences: list[str] = []
    starts: list[int] = []
    split = splitter(config.sentence_splitter)
    if split is split_sentences and is_lower_cased("\n".join(paragraphs), len(paragraphs)):
        split = partial(split_sentences, lower_cased=True)
    for paragraph in paragraphs:
        begin = len(sentences)
        for part in _parts(paragraph):
            sentences += split(part, code)
            if len(sentences) > _MAX_SENTENCES:
                return Reject(id, "too-large", f"{id}: more than {_MAX_SENTENCES} sentences")
        if len(sentences) > begin:
            starts.append(begin)
    if not sentences:
        return Drop("no prose", id)
    return Document(id, source, code, title, url, sentences, starts, as_of, licence)


def _parts(paragraph: str) -> Iterator[str]:
    """Cut a paragraph of over a million characters at word ends. Splitting it in one call takes many times its size in memory."""
    start = 0
    while len(paragraph) - start > _MAX_PARAGRAPH_CHARACTERS:
        space = _SPACE.search(paragraph, start + _MAX_PARAGRAPH_CHARACTERS)
        end = space.start() if space else len(paragraph)
        yield paragraph[start:end]
        start = end
    yield paragraph[start:] if start else paragraph


def _edited_and_filtered(document: Document, config: CorpusConfig, counts: Counter[str]) -> Document | Drop | Reject:
    # Ids come first, so that a document to take down is dropped whatever a function does with it.
    # Filters and later rules see the edited text.
    if drop := excluded(document, config):
        return drop
    edited = edit(document, config, counts)
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

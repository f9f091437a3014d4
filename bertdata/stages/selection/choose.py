"""Decide which documents of a corpus are dropped: one task reads the facts of all documents, a column at a time.

The rules, in order: repeated pages, same texts, near-copies, paragraphs, mixture, sample, words. A rule does not see what an
earlier one drops. The first of identical documents is kept, and the newest copy of a page.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...config import ChoiceConfig
from ...config.input_kinds import PROJECTS
from ...dataset import shards
from ...dataset.build import STATE
from ...errors import StorageError
from ...storage.cgroup import limits
from . import minhash, samples
from .documents import Documents

Array = npt.NDArray[Any]
WHOLE_DOCUMENT = (1 << 32) - 1  # as a paragraph number: the complete document
REASONS = ("repeated id", "duplicate", "near-duplicate", "duplicate paragraphs", "mixture", "sample", "words")
LISTED = REASONS[:4]  # the other reasons do not depend on the document's content
_SCHEMA = pa.schema(
    [("row", pa.uint32()), ("paragraph", pa.uint32()), ("words", pa.uint32()), ("reason", pa.string()), ("detail", pa.string())]
)
_LOSSES = f"{STATE}/work/losses.arrow"
_PAIRS_AT_ONCE = 1 << 14  # signatures compared at a time, 128 bytes each
# Peak memory, measured on a million generated documents, with a tenth of room.
_BASE_BYTES, _DOCUMENT_BYTES, _NEAR_BYTES, _PARAGRAPH_BYTES = 200 << 20, 120, 300, 48


class Loss(NamedTuple):
    """What a rule drops: documents, or a paragraph of each, or all text after the first `words` words."""

    reason: str
    documents: Array
    kept: Array | None = None  # the earlier document of each
    newer: Array | None = None  # date of the kept copy of a page, or 0 if it is not newer
    paragraphs: Array | None = None
    words: Array | None = None


def needed_bytes(choice: ChoiceConfig, documents: int, paragraphs: int) -> int:
    """Return the memory that the decision about so many documents and long paragraphs takes."""
    per_document = _NEAR_BYTES if choice.dedup == "near" else _DOCUMENT_BYTES
    return _BASE_BYTES + documents * per_document + paragraphs * _PARAGRAPH_BYTES * choice.dedup_paragraphs


def check_memory(choice: ChoiceConfig, documents: int, paragraphs: int) -> None:
    """Raise StorageError if the decision about so many documents and long paragraphs needs more memory than this machine has."""
    needed = needed_bytes(choice, documents, paragraphs)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > (memory := min(total, limits().memory or total)):
        raise StorageError(
            f"choosing among {documents:,} documents takes {needed / 1e9:.1f} GB of memory, and this machine has "
            f"{memory / 1e9:.1f} GB. Use a machine with more memory, `dedup` exact or none, or build a corpus of less input"
        )


def losses(root: Path, first: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the losses of each task, in order of rows."""
    return shards.read_batches(root / _LOSSES, first, end)


def choose(root: Path, tasks: Mapping[str, int], choice: ChoiceConfig) -> None:
    """Decide about the documents of all tasks, which are counted by source, and write a record batch of losses for each task."""
    documents = Documents(root, tasks)
    check_memory(choice, documents.count, documents.long_paragraphs)
    found = _rules(documents, choice) if documents.count else ()
    table = _table([loss for loss in found if len(loss.documents)])
    kept = np.unique(table["kept"])
    kept_ids = documents.ids(kept[kept >= 0])
    offset = int(np.searchsorted(kept, 0))  # no document: -1 comes first
    edges = np.searchsorted(table["document"], documents.ends)

    def batches() -> Iterator[pa.RecordBatch]:
        for task, (start, end) in enumerate(pairwise(edges.tolist())):
            own = {name: column[start:end] for name, column in table.items()}
            number = np.maximum(np.searchsorted(kept, own["kept"]) - offset, 0)
            ids = kept_ids.take(pa.array(number)).to_pylist() if len(kept_ids) else [""] * len(number)
            details = map(_detail, own["kept"].tolist(), own["newer"].tolist(), ids)
            columns = [own["document"] - documents.ends[task], own["paragraph"], own["words"]]
            columns += [pa.array([REASONS[number] for number in own["reason"].tolist()], pa.string())]
            yield pa.record_batch([*columns, pa.array(list(details), pa.string())], schema=_SCHEMA)

    shards.write(root, _LOSSES, _SCHEMA, batches())


def _table(found: list[Loss]) -> dict[str, Array]:
    """Join losses, in order of documents; those of one document in order of the rules."""

    def column(name: str, default: int, kind: Any) -> Array:
        parts = [
            getattr(loss, name) if getattr(loss, name) is not None else np.full(len(loss.documents), default) for loss in found
        ]
        return np.concatenate([np.zeros(0, kind), *(part.astype(kind) for part in parts)])

    numbers = [np.full(len(loss.documents), REASONS.index(loss.reason), np.uint8) for loss in found]
    table = {
        "document": column("documents", 0, np.int64),
        "paragraph": column("paragraphs", WHOLE_DOCUMENT, np.uint32),
        "words": column("words", 0, np.uint32),
        "kept": column("kept", -1, np.int64),
        "newer": column("newer", 0, np.uint32),
        "reason": np.concatenate([np.zeros(0, np.uint8), *numbers]),
    }
    order = np.argsort(table["document"], kind="stable")
    return {name: values[order] for name, values in table.items()}


def _detail(kept: int, newer: int, id: str) -> str:
    """Describe a loss for the list of drops: the kept document, and the date of the kept copy if that decided."""
    date = f", whose newer copy of {datetime.fromtimestamp(newer, timezone.utc).date()} is kept" if newer else ""
    return f"of {id}{date}" if kept >= 0 else ""


def _rules(documents: Documents, choice: ChoiceConfig) -> Iterator[Loss]:
    left = np.ones(documents.count, bool)

    def drop(loss: Loss) -> Loss:
        left[loss.documents] = False
        return loss

    if pages := max((end for source, (_, end) in documents.sources.items() if source in PROJECTS), default=0):
        yield drop(_repeated_pages(documents, pages))
    if choice.dedup != "none":
        rows = np.flatnonzero(left)
        later, first = _repeats(documents.hashes("hash", left))
        yield drop(Loss("duplicate", rows[later], rows[first]))
    if choice.dedup == "near":
        yield drop(Loss("near-duplicate", *_near(documents, left, choice.near_threshold)))
    lost_text = None
    if choice.dedup_paragraphs:
        lost_text = _repeated_paragraphs(documents, left.copy())
        yield lost_text.loss
        left &= np.bincount(lost_text.loss.documents, minlength=len(left)) < documents.column("paragraphs")
    if choice.mix.strip() or choice.sample_documents:
        rows = np.flatnonzero(left)
        size = _sizes(documents, "bytes", left, lost_text) if choice.mix.strip() else np.ones(len(rows), np.int64)
        for reason, lost in samples.sampled(choice, _by_source(documents, rows), documents.column("key", left), size):
            yield drop(Loss(reason, rows[lost]))
    if choice.word_limits:
        rows = np.flatnonzero(left)
        words = _sizes(documents, "words", left, lost_text)
        key = documents.column("words_key" if choice.mix.strip() else "key", left)
        keep = samples.limited(choice, _by_source(documents, rows), key, words)
        less = keep < words
        yield Loss("words", rows[less], words=keep[less])


def _by_source(documents: Documents, rows: Array) -> dict[str, Array]:
    """Return the items of each source, for documents in order."""
    return {name: np.arange(*np.searchsorted(rows, bounds)) for name, bounds in documents.sources.items()}


def _repeats(keys: Array, *tie_breakers: Array) -> tuple[Array, Array]:
    """Return the later ones of items with equal keys [K, N], and the first one of each.

    Items are in order of position, or of `tie_breakers` first, the least significant one first.
    """
    if not keys.size:  # no documents are left
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((*tie_breakers, *keys))
    is_later = np.zeros(len(order), bool)
    is_later[1:] = True
    for key in keys:
        in_order = key[order]
        is_later[1:] &= in_order[1:] == in_order[:-1]
    later, starts = np.flatnonzero(is_later), np.flatnonzero(~is_later)
    first = starts[np.searchsorted(starts, later) - 1]
    return order[later], order[first]


def _repeated_pages(documents: Documents, count: int) -> Loss:
    """Find the older copies of pages among the first documents."""
    as_of = documents.column("as_of", end=count)
    lost, kept = _repeats(documents.hashes("id_hash", end=count), ~as_of)
    return Loss("repeated id", lost, kept, newer=np.where(as_of[lost] < as_of[kept], as_of[kept], 0))


def _near(documents: Documents, left: Array, threshold: float) -> tuple[Array, Array]:
    """Return near-copies, and the earliest document that each is a copy of, even if that one is dropped too.

    A document is compared with the first document that shares a band of its signature, and with the one just before it: 2n pairs
    of n documents, because a wiki may use one template for 100,000 pages. One band after another bounds the memory.
    """
    signatures = documents.column("signature", left)
    count, rows = len(signatures), np.flatnonzero(left)
    with_words = np.flatnonzero(signatures.any(1)).astype(np.uint32)  # a text without words is no copy
    bands, width = minhash.layout(threshold)
    earliest = np.arange(count, dtype=np.uint32)
    for band in range(bands):
        key = np.zeros((1, len(with_words)), np.uint64)
        for value in range(band * width, (band + 1) * width):
            key *= np.uint64(257)
            key += signatures[with_words, value]
            key += np.uint64(1)
        order = np.argsort(key[0], kind="stable")
        in_order = key[0, order]
        later = np.flatnonzero(in_order[1:] == in_order[:-1]) + 1
        starts = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1]))
        first = starts[np.searchsorted(starts, later) - 1]
        del in_order, starts, key
        for earlier in (first, later - 1):
            for at in range(0, len(later), _PAIRS_AT_ONCE):
                own, other = (with_words[order[each[at : at + _PAIRS_AT_ONCE]]] for each in (later, earlier))
                close = minhash.similarity(signatures[own], signatures[other]) >= threshold
                np.minimum.at(earliest, own[close], other[close])
    copies = np.flatnonzero(earliest < np.arange(count))
    return rows[copies], rows[earliest[copies]]


class _LostParagraphs(NamedTuple):
    """The repeated ones among the long paragraphs of the documents in a mask, and their numbers there."""

    loss: Loss
    mask: Array
    numbers: Array


def _repeated_paragraphs(documents: Documents, mask: Array) -> _LostParagraphs:
    later, first = _repeats(documents.hashes("long_hash", mask))
    order = np.argsort(later)
    numbers, first = later[order], first[order]
    document, index = documents.long(mask), documents.column("long_index", mask)
    loss = Loss("duplicate paragraphs", document[numbers], document[first], paragraphs=index[numbers])
    return _LostParagraphs(loss, mask, numbers)


def _sizes(documents: Documents, unit: str, left: Array, lost: _LostParagraphs | None) -> Array:
    """Return the bytes or words of documents without their lost paragraphs."""
    size = documents.column(unit).astype(np.int64)
    if lost:
        lengths = documents.column(f"long_{unit}", lost.mask)[lost.numbers]
        np.subtract.at(size, lost.loss.documents, lengths.astype(np.int64))
    return size[left]

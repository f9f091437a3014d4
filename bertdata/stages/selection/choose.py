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
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...config import ChoiceConfig
from ...config.input_kinds import PROJECTS
from ...dataset import shards
from ...dataset.build import STATE
from ...errors import StorageError
from ...storage.cgroup import limits
from . import facts, minhash, samples
from .documents import Documents

Array = npt.NDArray[Any]
WHOLE_DOCUMENT = (1 << 32) - 1  # as a paragraph number: the complete document
REASONS = ("repeated id", "duplicate", "near-duplicate", "duplicate paragraphs", "mixture", "sample", "words")
LISTED = REASONS[:4]  # the other reasons do not depend on the document's content
_SCHEMA = pa.schema(
    [("row", pa.uint32()), ("paragraph", pa.uint32()), ("words", pa.uint32()), ("reason", pa.string()), ("detail", pa.string())]
)
# What a rule drops: a document, one of its paragraphs, or all text after its first words. `kept` is the earlier document, or -1,
# and `newer` the date of the kept copy of a page, or 0 if it is not newer.
_LOSS = np.dtype([("document", "i8"), ("paragraph", "u4"), ("words", "u4"), ("kept", "i8"), ("newer", "u4"), ("reason", "u1")])
_LOSSES = f"{STATE}/work/losses.arrow"
_PAIRS_AT_ONCE = 1 << 14  # signatures compared at a time, 128 bytes each
# Peak memory, measured on a million generated documents, with a tenth of room.
_BASE_BYTES, _DOCUMENT_BYTES, _NEAR_BYTES, _PARAGRAPH_BYTES = 200 << 20, 120, 300, 48


def needed_bytes(choice: ChoiceConfig, documents: int, paragraphs: int) -> int:
    """Return the memory needed to decide about this number of documents and long paragraphs."""
    per_document = _NEAR_BYTES if choice.dedup == "near" else _DOCUMENT_BYTES
    return _BASE_BYTES + documents * per_document + paragraphs * _PARAGRAPH_BYTES * choice.dedup_paragraphs


def check_memory(choice: ChoiceConfig, documents: int, paragraphs: int) -> None:
    """Raise StorageError if this number of documents and long paragraphs needs more memory than this machine has."""
    needed = needed_bytes(choice, documents, paragraphs)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > (memory := min(total, limits()[1] or total)):
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
    table = np.concatenate([np.empty(0, _LOSS), *(_rules(documents, choice) if documents.count else ())])
    table = table[np.argsort(table["document"], kind="stable")]  # the losses of one document stay in order of the rules
    kept = np.unique(table["kept"][table["kept"] >= 0])
    kept_ids = pa.concat_arrays([documents.ids(kept), pa.array([""])])
    edges = np.searchsorted(table["document"], documents.ends)

    def batches() -> Iterator[pa.RecordBatch]:
        for task, (start, end) in enumerate(pairwise(edges.tolist())):
            own = table[start:end]
            ids = kept_ids.take(pa.array(np.where(own["kept"] < 0, len(kept), np.searchsorted(kept, own["kept"])))).to_pylist()
            columns = [own["document"] - documents.ends[task], own["paragraph"], own["words"]]
            columns += [pa.array([REASONS[number] for number in own["reason"].tolist()], pa.string())]
            columns += [pa.array(map(_detail, ids, own["newer"].tolist()), pa.string())]
            yield pa.record_batch(columns, schema=_SCHEMA)

    shards.write(root, _LOSSES, _SCHEMA, batches())


def _detail(kept: str, newer: int) -> str:
    """Describe a loss for the list of drops: the kept document, and the date of the kept copy if that decided."""
    date = f", whose newer copy of {datetime.fromtimestamp(newer, timezone.utc).date()} is kept" if newer else ""
    return f"of {kept}{date}" if kept else ""


def _losses(reason: str, documents: Array, kept: Any = -1, **more: Any) -> Array:
    """Return the losses of documents by one rule. `more` are other fields than the default ones of a complete document."""
    losses = np.empty(len(documents), _LOSS)
    default = {"paragraph": WHOLE_DOCUMENT, "words": 0, "newer": 0}
    fields = {**default, "document": documents, "kept": kept, "reason": REASONS.index(reason), **more}
    for name, values in fields.items():
        losses[name] = values
    return losses


def _rules(documents: Documents, choice: ChoiceConfig) -> Iterator[Array]:
    left = np.ones(documents.count, bool)

    def drop(losses: Array) -> Array:
        left[losses["document"]] = False
        return losses

    if pages := max((end for source, (_, end) in documents.sources.items() if source in PROJECTS), default=0):
        yield drop(_repeated_pages(documents, pages))
    if choice.dedup != "none":
        rows = np.flatnonzero(left)
        later, first = _repeats(documents.hashes("hash", left))
        yield drop(_losses("duplicate", rows[later], rows[first]))
    if choice.dedup == "near":
        yield drop(_losses("near-duplicate", *_near(documents, left, choice.near_threshold)))
    sizes = {unit: documents.column(unit).astype(np.int64) for unit in facts.units(choice)}
    if choice.dedup_paragraphs:
        losses = _repeated_paragraphs(documents, left, sizes)
        yield losses
        left &= np.bincount(losses["document"], minlength=len(left)) < documents.column("paragraphs")
    if choice.mix.strip() or choice.sample_documents:
        rows = np.flatnonzero(left)
        size = sizes["bytes"][left] if choice.mix.strip() else np.ones(len(rows), np.int64)
        for reason, lost in samples.sampled(choice, _by_source(documents, rows), documents.column("key", left), size):
            yield drop(_losses(reason, rows[lost]))
    if choice.word_limits:
        rows = np.flatnonzero(left)
        words = sizes["words"][left]
        key = documents.column("words_key" if choice.mix.strip() else "key", left)
        keep = samples.limited(choice, _by_source(documents, rows), key, words)
        less = keep < words
        yield _losses("words", rows[less], words=keep[less])


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


def _repeated_pages(documents: Documents, count: int) -> Array:
    """Find the older copies of pages among the first documents."""
    as_of = documents.column("as_of", end=count)
    lost, kept = _repeats(documents.hashes("id_hash", end=count), ~as_of)
    return _losses("repeated id", lost, kept, newer=np.where(as_of[lost] < as_of[kept], as_of[kept], 0))


def _near(documents: Documents, left: Array, threshold: float) -> tuple[Array, Array]:
    """Return near-copies, and the earliest document that each is a copy of, even if that one is dropped too.

    A document is compared with the first document that shares a band of its signature, and with the one just before it: 2n pairs
    of n documents, because a wiki may use one template for 100,000 pages. One band after another bounds the memory.
    """
    signatures = documents.column("signature", left)
    count, rows = len(signatures), np.flatnonzero(left)
    with_words = np.flatnonzero(signatures.any(1)).astype(np.uint32)  # a text without words is not a copy
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


def _repeated_paragraphs(documents: Documents, left: Array, sizes: dict[str, Array]) -> Array:
    """Find the repeated ones among the long paragraphs of the documents in a mask, and subtract them from documents' sizes."""
    later, first = _repeats(documents.hashes("long_hash", left))
    order = np.argsort(later)
    later, first = later[order], first[order]
    document = documents.long(left)
    losses = _losses(
        "duplicate paragraphs", document[later], document[first], paragraph=documents.column("long_index", left)[later]
    )
    for unit, size in sizes.items():
        np.subtract.at(size, losses["document"], documents.column(f"long_{unit}", left)[later].astype(np.int64))
    return losses

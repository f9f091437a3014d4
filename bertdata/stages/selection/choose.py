"""Decide which documents of a corpus are lost: one task, which has the facts of all documents as columns in memory.

The rules, in order: repeated pages, same texts, near-copies, paragraphs, mixture, sample, words. What one rule drops is not seen
by the next. The first of identical documents is kept, by order of source (wikipedia, books, text), file name and position; of the
copies of a page, the newest. Documents are numbered in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys
from ...config import ChoiceConfig
from ...config.byte_premiums import BYTES_PER_WORD
from ...dataset import shards
from ...dataset.build import STATE
from . import facts, minhash, mixture
from .duplicates import fingerprint

__all__ = ["LISTED", "REASONS", "WHOLE_DOCUMENT", "choose", "losses", "needs"]

Array = npt.NDArray[Any]
WHOLE_DOCUMENT = (1 << 32) - 1  # as a paragraph number: the complete document
REASONS = ("repeated id", "duplicate", "near-duplicate", "duplicate paragraphs", "mixture", "sample", "words")
LISTED = REASONS[:4]  # the other reasons do not depend on the document's content
_SCHEMA = pa.schema(
    [("row", pa.uint32()), ("paragraph", pa.uint32()), ("words", pa.uint32()), ("reason", pa.string()), ("detail", pa.string())]
)
_LOSSES = f"{STATE}/work/losses.arrow"
_PAIRS_AT_ONCE = 1 << 16  # signatures compared at a time, 128 bytes each


class Lost(NamedTuple):
    """What a rule drops: documents, or of each a paragraph, or all text after the first `words` words."""

    reason: str
    documents: Array
    kept: Array | None = None  # the earlier document of each
    paragraphs: Array | None = None
    words: Array | None = None


def needs(config: ChoiceConfig) -> facts.Needs:
    """Return the facts that the rules need."""
    samples = bool(config.mix.strip() or config.sample_documents or config.word_limits)
    words = bool(config.word_limits) and not config.premiums
    return facts.Needs(
        config.dedup == "near", config.dedup_paragraphs, words, config.group_by if samples else "", config.premiums
    )


def losses(root: Path, first: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the losses of each task, in order of rows."""
    return shards.read_batches(root / _LOSSES, first, end)


def choose(root: Path, tasks: int, wiki_tasks: int, config: ChoiceConfig) -> None:
    """Read the facts of all tasks, of which the first `wiki_tasks` are of wikis, and write a record batch of losses for each."""
    corpus = _Corpus([facts.read(root, task) for task in range(tasks)], wiki_tasks)
    found = [_table(corpus, lost) for lost in _rules(corpus, config) if len(lost.documents)]
    table = pa.concat_tables([*found, _table(corpus, Lost("", np.zeros(0, np.int64)))]).combine_chunks()
    # In order of documents; of one document, rule after rule.
    table = table.take(pa.array(np.argsort(table.column("document").to_numpy(), kind="stable")))
    document = table.column("document").to_numpy()
    edges = np.searchsorted(document, corpus.ends)

    def batches() -> Iterator[pa.RecordBatch]:
        for task, (start, end) in enumerate(pairwise(edges.tolist())):
            rows = pa.array(document[start:end] - corpus.ends[task], pa.uint32())
            own = table.slice(start, end - start).combine_chunks()
            columns = [rows, *(own.column(name).combine_chunks() for name in _SCHEMA.names[1:])]
            yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)

    shards.write(root, _LOSSES, _SCHEMA, batches())


def _rules(corpus: _Corpus, config: ChoiceConfig) -> Iterator[Lost]:
    left = np.ones(corpus.ends[-1], bool)

    def drop(reason: str, documents: Array, kept: Array | None = None) -> Lost:
        left[documents] = False
        return Lost(reason, documents, kept)

    if wikis := corpus.wikis:
        ids, as_of = corpus.id_hashes(wikis), corpus.column("as_of")[:wikis]
        yield drop("repeated id", *_later(ids, np.lexsort((-as_of.astype(np.int64), ids[:, 1], ids[:, 0]))))
    if config.dedup != "none":
        yield drop("duplicate", *_same(corpus.hashes("hash"), np.flatnonzero(left)))
    if config.dedup == "near":
        yield drop("near-duplicate", *_near(corpus, left, config.near_threshold))
    gone = np.zeros(0, np.int64)  # long paragraphs that are lost
    if config.dedup_paragraphs:
        document, index = corpus.paragraphs()
        gone, first = _same(corpus.hashes("long_hash"), np.flatnonzero(left[document]))
        order = np.argsort(gone)
        yield Lost("duplicate paragraphs", document[gone[order]], document[first[order]], index[gone[order]])
        left &= np.bincount(document[gone], minlength=len(left)) < corpus.column("paragraphs")
    if config.mix.strip() or config.sample_documents:
        for reason, documents in _sampled(corpus, config, left, gone):
            yield drop(reason, documents)
    if config.word_limits:
        yield _limited(corpus, config, left, gone)


def _later(hashes: Array, order: Array) -> tuple[Array, Array]:
    """Return the later ones of equal hashes [N, 2], which are neighbors in this order, and the first one of each."""
    new = np.ones(len(order), bool)
    new[1:] = (hashes[order[1:]] != hashes[order[:-1]]).any(1)
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    later = np.flatnonzero(~new)
    return order[later], order[first[later]]


def _same(hashes: Array, rows: Array) -> tuple[Array, Array]:
    return _later(hashes, rows[np.lexsort((hashes[rows, 1], hashes[rows, 0]))])


def _near(corpus: _Corpus, left: Array, threshold: float) -> tuple[Array, Array]:
    """Return near-copies, and the earliest document that each is a copy of, even if that one is dropped too.

    A document is compared with the first document that shares a band of its signature, and with the one just before it: 2n pairs
    of n documents, because a wiki may use one template for 100,000 pages. One band after another bounds the memory.
    """
    signatures = corpus.fixed("signature")
    rows = np.flatnonzero(left & signatures.any(1))  # a text without words is no copy
    bands, width = minhash.layout(threshold)
    found = [np.zeros((0, 2), np.int64)]
    for band in range(bands):
        key = np.zeros((len(rows), 1), np.uint64)
        for value in range(band * width, (band + 1) * width):
            key[:, 0] = key[:, 0] * np.uint64(257) + signatures[rows, value] + np.uint64(1)
        order = np.argsort(key[:, 0], kind="stable")
        later, first = _later(key, order)
        before = order[np.flatnonzero(np.append(False, (key[order[1:]] == key[order[:-1]])[:, 0])) - 1]
        for earlier in (first, before):
            for at in range(0, len(later), _PAIRS_AT_ONCE):
                a, b = rows[later[at : at + _PAIRS_AT_ONCE]], rows[earlier[at : at + _PAIRS_AT_ONCE]]
                close = minhash.similarity(signatures[a], signatures[b]) >= threshold
                found.append(np.stack([a[close], b[close]], 1))
    pairs = np.unique(np.concatenate(found), axis=0)  # by document, then by the earlier one
    own, at = np.unique(pairs[:, 0], return_index=True)
    return own, pairs[at, 1]


def _smallest(key: Array, size: Array, limit: int) -> tuple[Array, Any]:
    """Return a mask of the items with the smallest keys whose sizes add up to at most `limit`, and the next item, or -1."""
    order = np.argsort(key, kind="stable")
    count = int(np.searchsorted(np.cumsum(size[order]), limit, side="right"))
    mask = np.zeros(len(key), bool)
    mask[order[:count]] = True
    return mask, order[count] if count < len(order) else -1


def _sampled(corpus: _Corpus, config: ChoiceConfig, left: Array, gone: Array) -> Iterator[tuple[str, Array]]:
    """Reduce sources or languages to their shares of the text, then the corpus to a number of documents."""
    rows = np.flatnonzero(left)
    key, size, group = (
        corpus.keys(config.seed, "choose", rows),
        corpus.sizes("bytes", config, gone)[rows],
        corpus.column("group")[rows],
    )
    kept, scaled = np.ones(len(rows), bool), key.copy()
    if config.mix.strip():
        names = {facts.group_of(name): name for name in config.shares}
        sizes = {names.get(each, str(each)): int(size[group == each].sum()) for each in np.unique(group).tolist()}
        shares = config.shares
        if config.temperature is not None:
            shares = {name: float(total**config.temperature) for name, total in sizes.items() if total}
        targets = mixture.targets(shares, sizes)
        for each in np.unique(group).tolist():
            of = np.flatnonzero(group == each)
            kept[of], after = _smallest(key[of], size[of], targets.get(names.get(each, str(each)), 0))
            # Each group's keys lie below a different cut: scale them to the same range, so that the sample keeps the shares.
            scaled[of] = mixture.scaled(key[of], mixture.Cut(int(key[of][after]), 0) if after >= 0 else mixture.ALL)
        yield "mixture", rows[~kept]
    if config.sample_documents:
        of = np.flatnonzero(kept)
        yield "sample", rows[of[~_smallest(scaled[of], np.ones(len(of), np.int64), config.sample_documents)[0]]]


def _limited(corpus: _Corpus, config: ChoiceConfig, left: Array, gone: Array) -> Lost:
    """Keep a number of words of each source or language that has a limit, and then of the corpus ("").

    The first document over the limit is cut to fit, so the number is exact. With byte premiums, it is dropped.
    """
    rows, premiums = np.flatnonzero(left), bool(config.premiums)
    # After a mixture, the remaining keys of a group are all below its cut: new keys keep the shares of the mixture.
    key, group = corpus.keys(config.seed, "words" if config.mix.strip() else "choose", rows), corpus.column("group")[rows]
    words = corpus.sizes("bytes" if premiums else "words", config, gone)[rows]
    keep = words.copy()
    for name, limit in config.word_limits.items():
        of = np.arange(len(rows)) if not name else np.flatnonzero(group == facts.group_of(name))
        limit = round(limit * BYTES_PER_WORD) if premiums else limit
        mask, after = _smallest(key[of], keep[of], limit)
        if after < 0:
            continue
        rest, over = limit - int(keep[of][mask].sum()), of[~mask & (keep[of] > 0)]
        keep[of[~mask]] = 0
        if len(over) and not premiums:
            keep[over[np.argmin(key[over])]] = rest
    less = keep < words
    return Lost("words", rows[less], words=keep[less])


class _Corpus:
    """The facts of all documents: a column at a time."""

    def __init__(self, tables: list[pa.RecordBatch], wiki_tasks: int) -> None:
        self._table = pa.Table.from_batches(tables)
        self.ends = np.cumsum([0, *(table.num_rows for table in tables)])
        self.wikis = int(self.ends[wiki_tasks])

    def column(self, name: str) -> Array:
        """Return a column of numbers."""
        return np.asarray(self._table.column(name).to_numpy())

    def ids(self, documents: Array) -> list[str]:
        """Return the ids of documents."""
        return list(self._table.column("id").take(pa.array(documents)).to_pylist())

    def id_hashes(self, count: int) -> Array:
        """Return a hash of the ids of the first documents [N, 2]."""
        chunks = (chunk.to_pylist() for chunk in self._table.column("id").slice(0, count).chunks)
        hashed = [np.frombuffer(b"".join(map(fingerprint, ids)), ">u8") for ids in chunks]
        return np.concatenate(hashed).reshape(-1, 2).astype(np.uint64)

    def fixed(self, name: str) -> Array:
        """Return a column of byte strings of one length, or of lists of them, as an array [N, bytes]."""
        chunks = [chunk.flatten() if pa.types.is_list(chunk.type) else chunk for chunk in self._table.column(name).chunks]
        return np.concatenate([facts.bytes_of(chunk) for chunk in chunks])

    def hashes(self, name: str) -> Array:
        """Return a column of hashes [N, 2]."""
        return self.fixed(name).view(">u8").astype(np.uint64)

    def paragraphs(self) -> tuple[Array, Array]:
        """Return the document of each long paragraph, and the paragraph's index in it."""
        lists = self._table.column("long_index").combine_chunks()
        lengths = lists.value_lengths().to_numpy()
        return np.repeat(np.arange(len(lengths)), lengths), lists.flatten().to_numpy().astype(np.int64)

    def keys(self, seed: int, purpose: str, documents: Array) -> Array:
        """Return a random key of each document: a hash of the seed and the id."""
        return np.asarray(keys.many(seed, purpose, last=zip(self.ids(documents))))

    def sizes(self, unit: str, config: ChoiceConfig, gone: Array) -> Array:
        """Return the bytes or words of each document, without those of the long paragraphs that are gone."""
        size = self.column(unit).astype(np.int64)
        if len(gone):
            lengths = self._table.column(f"long_{unit}").combine_chunks().flatten().to_numpy().astype(np.int64)
            np.subtract.at(size, self.paragraphs()[0][gone], lengths[gone])
        return np.rint(size / self.column("premium")).astype(np.int64) if config.premiums else size


def _table(corpus: _Corpus, lost: Lost) -> pa.Table:
    """Return losses with the number of the document, and for the list of drops the id of the document that is kept."""
    count = len(lost.documents)
    details = [""] * count
    if lost.kept is not None:
        details = [f"of {id}" for id in corpus.ids(lost.kept)]
    if lost.reason == "repeated id":  # the list has the date only if it decided; otherwise, the position did
        as_of = corpus.column("as_of")
        newer = np.where(as_of[lost.documents] < as_of[lost.kept], as_of[lost.kept], 0).tolist()
        details = [
            f"{detail}, whose newer copy of {datetime.fromtimestamp(at, timezone.utc).date()} is kept" if at else detail
            for detail, at in zip(details, newer, strict=True)
        ]
    whole, none = np.full(count, WHOLE_DOCUMENT), np.zeros(count)
    return pa.table(
        {
            "document": lost.documents.astype(np.int64),
            "paragraph": (whole if lost.paragraphs is None else lost.paragraphs).astype(np.uint32),
            "words": (none if lost.words is None else lost.words).astype(np.uint32),
            "reason": pa.array([lost.reason] * count, pa.string()),
            "detail": pa.array(details, pa.string()),
        }
    )

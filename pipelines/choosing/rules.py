"""The rules by which documents are chosen, in order: repeated pages, same texts, near-copies, paragraphs, mixture and sample.

Of documents that are the same the first stays: in order of sources (wikipedia, books, text), of files by name, and of places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bertdata import keys
from bertdata.choosing import minhash, mixture
from bertdata.choosing.duplicates import Claims, fingerprint, first_of_each
from bertdata.config import ChoiceConfig
from bertdata.files import place

from . import facts
from .rounds import LOST, WHOLE, Gone, Offers, Rule

__all__ = ["LISTED", "REASONS", "make", "needs"]

REASONS = ("repeated id", "duplicate", "near-duplicate", "duplicate paragraphs", "mixture", "sample")
_REPEATED, _DUPLICATE, _NEAR, _PARAGRAPHS, _MIXTURE, _SAMPLE = range(len(REASONS))
LISTED = REASONS[:_MIXTURE]  # the others are counted only: they say nothing of the document
_PAIRS = 1 << 16  # of documents whose signatures are compared at a time


def make(config: ChoiceConfig, root: str, kinds: tuple[str, ...]) -> list[Rule]:
    """Return the rules of a run; `kinds` are the sources of its tasks, in order, those apart that check files."""
    rules: list[Rule] = []
    if "wikipedia" in kinds:
        rules.append(_Same(root, "ids", _REPEATED, kinds))
    if config.dedup != "none":
        rules.append(_Same(root, "texts", _DUPLICATE, kinds))
    if config.dedup == "near":
        rules.append(_Near(root, config.near_threshold))
    if config.dedup_paragraphs:
        rules.append(_Paragraphs(root))
    if config.shares or config.sample_documents:
        rules.append(_Selection(root, config.seed, tuple(config.shares.items()), config.sample_documents, kinds))
    return rules


def needs(config: ChoiceConfig) -> facts.Needs:
    """Return which facts the rules go by."""
    return facts.Needs(config.dedup == "near", config.dedup_paragraphs)


@dataclass(frozen=True)
class _Same:
    """Of documents with one hash, that of their text or of their page's id, the first stays."""

    root: str
    name: str
    reason: int
    kinds: tuple[str, ...]
    per_document = 1.0

    def claims(self, task: int, gone: Gone) -> Claims:
        if self.reason == _REPEATED and self.kinds[task] != "wikipedia":
            return _claims(task, np.zeros((0, 2), np.uint64), np.zeros(0, np.uint32))
        found = []
        for batch in facts.read(place(self.root), task):
            if self.reason == _REPEATED:
                found.append(np.array([fingerprint(id) for id in batch.column("id").to_pylist()], np.uint64).reshape(-1, 2))
            else:
                found.append(np.stack([batch.column("high").to_numpy(), batch.column("low").to_numpy()], 1))
        hashes = np.concatenate([*found, np.zeros((0, 2), np.uint64)])
        rows = np.flatnonzero(gone.left(len(hashes))).astype(np.uint32)
        return _claims(task, hashes[rows], rows)

    def decide(self, offers: Offers) -> Iterator[tuple[int, pa.RecordBatch]]:
        return _later(self.root, offers.all(), self.reason)


@dataclass(frozen=True)
class _Paragraphs:
    """A long paragraph that has occurred before goes, and the document with the last of its paragraphs."""

    root: str
    name = "paragraphs"
    per_document = 8.0

    def claims(self, task: int, gone: Gone) -> Claims:
        batches = list(facts.read(place(self.root), task))
        row, part, _, counts = _paragraphs(batches)
        high, low = (_flat(batches, name) for name in ("part_high", "part_low"))
        left = gone.left(len(counts))[row]
        return _claims(task, np.stack([high, low], 1)[left], row[left].astype(np.uint32), part[left].astype(np.uint32))

    def decide(self, offers: Offers) -> Iterator[tuple[int, pa.RecordBatch]]:
        return _later(self.root, offers.all(), _PARAGRAPHS)


@dataclass(frozen=True)
class _Near:
    """A document goes when an earlier one is its near-copy, also where that one goes itself: so no order of decisions matters."""

    root: str
    threshold: float
    name = "near"

    @property
    def per_document(self) -> float:
        return float(minhash.layout(self.threshold)[0])

    def claims(self, task: int, gone: Gone) -> Claims:
        bands, rows = minhash.layout(self.threshold)
        found = [np.zeros((0, minhash.PLACES), np.uint8)]
        found += [facts.signatures(batch.column("signature")) for batch in facts.read(place(self.root), task)]
        signatures = np.concatenate(found)
        own = np.flatnonzero(gone.left(len(signatures)) & signatures.any(1)).astype(np.uint32)  # and has a word
        hashes = minhash.band_hashes(signatures[own], bands, rows).ravel()
        return _claims(task, np.stack([hashes, np.zeros_like(hashes)], 1), np.repeat(own, bands))

    def decide(self, offers: Offers) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Compare each document with the first one that shares a band with it, and with the last one before it."""
        claims = offers.all()
        place_of, first = np.arange(len(claims.high)), first_of_each(claims)
        later = place_of[first != place_of]
        pairs = np.concatenate([np.stack([later, first[later]], 1), np.stack([later, later - 1], 1)])
        at = claims.task.astype(np.uint64) << np.uint64(32) | claims.row
        documents = np.unique(at[pairs], axis=0)  # of a document and an earlier one; bands may name a pair twice
        groups = (documents[start : start + _PAIRS] for start in range(0, len(documents), _PAIRS))
        near = np.concatenate([np.zeros((0, 2), np.uint64), *(pairs[self._near(pairs)] for pairs in groups)])
        near = near[np.unique(near[:, 0], return_index=True)[1]]  # the earliest
        return _lost(self.root, near[:, 0], np.full(len(near), WHOLE, np.uint32), near[:, 1], _NEAR)

    def _near(self, pairs: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        found, inverse = np.unique(pairs, return_inverse=True)
        signed = facts.signatures(facts.look_up(place(self.root), *_split(found), "signature"))
        inverse = inverse.reshape(pairs.shape)
        return np.asarray(minhash.similarity(signed[inverse[:, 0]], signed[inverse[:, 1]]) >= self.threshold)


@dataclass(frozen=True)
class _Selection:
    """Thin sources to their shares of the text, and then the corpus to a number of documents, by a key hashed from the id."""

    root: str
    seed: int
    shares: tuple[tuple[str, float], ...]
    sample: int
    kinds: tuple[str, ...]
    name = "selection"
    per_document = 0.0

    def claims(self, task: int, gone: Gone) -> Claims:
        """Claim a key (`high`) for each document and the bytes of its text (`low`)."""
        batches = list(facts.read(place(self.root), task))
        size = np.concatenate([np.zeros(0, np.uint64), *(batch.column("bytes").to_numpy() for batch in batches)])
        left = gone.left(len(size))
        if (in_part := gone.column("part") != WHOLE).any():
            cut, part = gone.column("row")[in_part], gone.column("part")[in_part]
            rows, parts, sizes, counts = _paragraphs(batches)
            found = np.searchsorted(rows << 32 | parts, cut.astype(np.int64) << 32 | part)
            np.subtract.at(size, cut, sizes[found])
            left &= np.bincount(cut, minlength=len(size)) < counts
        row = np.flatnonzero(left).astype(np.uint32)
        ids = [id for batch in batches for id in batch.column("id").to_pylist()]
        hashed = np.array([keys.key(self.seed, "choose", ids[place]) for place in row.tolist()], np.uint64)
        return _claims(task, np.stack([hashed, size[row]], 1), row)

    def decide(self, offers: Offers) -> Iterator[tuple[int, pa.RecordBatch]]:
        cuts = self._mixture(offers)
        last = mixture.ALL
        if self.sample:
            last = mixture.cut(
                lambda: ((k[own], own[own].astype(np.int64)) for _, k, own in self._kept(offers, cuts)), self.sample
            )
        before = 0
        for task, (claims, scaled, own) in zip(offers.tasks, self._kept(offers, cuts), strict=True):
            chosen = own.copy()
            chosen[own] = last.admits(scaled[own], before)
            before += int(np.count_nonzero(scaled[own] == np.uint64(last.key))) if last.key < 1 << 64 else 0
            if not chosen.all():
                row, reason = claims.row[~chosen], np.where(own[~chosen], _SAMPLE, _MIXTURE).astype(np.uint8)
                zeros, whole = np.zeros(len(row), np.uint32), np.full(len(row), WHOLE, np.uint32)
                yield task, _record(row, whole, reason, zeros, zeros, pa.array([""] * len(row)))

    def _mixture(self, offers: Offers) -> dict[str, mixture.Cut]:
        if not self.shares:
            return {}
        sizes: dict[str, int] = {}
        for task, claims in zip(offers.tasks, offers.parts(), strict=True):
            sizes[self.kinds[task]] = sizes.get(self.kinds[task], 0) + int(claims.low.sum())
        return {
            source: mixture.cut(lambda source=source: self._of(source, offers), target)  # type: ignore[misc]
            for source, target in mixture.targets(dict(self.shares), sizes).items()
        }

    def _of(self, source: str, offers: Offers) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]]:
        for task, claims in zip(offers.tasks, offers.parts(), strict=True):
            if self.kinds[task] == source:
                yield claims.high, claims.low.astype(np.int64)

    def _kept(self, offers: Offers, cuts: dict[str, mixture.Cut]) -> Iterator[tuple[Claims, Any, npt.NDArray[np.bool_]]]:
        """Yield each task's claims, keys that compare between sources, and which claims the mixture keeps."""
        before: dict[str, int] = {}
        for task, claims in zip(offers.tasks, offers.parts(), strict=True):
            source = self.kinds[task]
            cut = cuts.get(source, mixture.ALL)
            yield claims, mixture.scaled(claims.high, cut), cut.admits(claims.high, before.get(source, 0))
            if cut.key < 1 << 64:
                before[source] = before.get(source, 0) + int(np.count_nonzero(claims.high == np.uint64(cut.key)))


def _flat(batches: list[pa.RecordBatch], name: str) -> npt.NDArray[np.uint64]:
    """Put together the values of a column of lists."""
    return np.concatenate([np.zeros(0, np.uint64), *(batch.column(name).flatten().to_numpy() for batch in batches)])


def _paragraphs(batches: list[pa.RecordBatch]) -> tuple[Any, Any, Any, Any]:
    """Return of each long paragraph its document, its number in it and its bytes; and how many paragraphs each document has."""
    none = np.zeros(0, np.int64)
    lengths = np.concatenate([none, *(batch.column("parts").value_lengths().to_numpy() for batch in batches)])
    counts = np.concatenate([none, *(batch.column("paragraphs").to_numpy() for batch in batches)])
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return rows, _flat(batches, "parts").astype(np.int64), _flat(batches, "part_bytes"), counts


def _claims(task: int, hashes: npt.NDArray[np.uint64], rows: npt.NDArray[np.uint32], parts: Any = None) -> Claims:
    parts = np.full(len(rows), WHOLE, np.uint32) if parts is None else parts
    return Claims(hashes[:, 0], hashes[:, 1], np.full(len(rows), task, np.uint32), rows, parts)


def _split(at: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    return (at >> np.uint64(32)).astype(np.uint32), (at & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _later(root: str, claims: Claims, reason: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Lose what comes after the first with its hash."""
    first = first_of_each(claims)
    later = np.flatnonzero(first != np.arange(len(first)))
    at = claims.task.astype(np.uint64) << np.uint64(32) | claims.row
    order = later[np.lexsort((claims.part[later], at[later]))]
    return _lost(root, at[order], claims.part[order], at[first[order]], reason)


def _lost(
    root: str, at: npt.NDArray[np.uint64], part: npt.NDArray[np.uint32], first: npt.NDArray[np.uint64], reason: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield, task by task, what is lost, in order of place, and the ids of what stays instead."""
    (task, row), (first_task, first_row) = _split(at), _split(first)
    ids = facts.look_up(place(root), first_task, first_row, "id")
    for own in np.split(np.arange(len(at)), np.flatnonzero(np.diff(task)) + 1) if len(at) else []:
        reasons = np.full(len(own), reason, np.uint8)
        yield int(task[own[0]]), _record(row[own], part[own], reasons, first_task[own], first_row[own], ids.take(pa.array(own)))


def _record(*columns: Any) -> pa.RecordBatch:
    return pa.record_batch([column if isinstance(column, pa.Array) else pa.array(column) for column in columns], schema=LOST)

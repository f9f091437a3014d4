"""The rules by which documents are chosen, in order: repeated pages, same texts, near-copies, paragraphs, mixture, sample, words.

Of documents that are the same the first is kept: in order of sources (wikipedia, books, text), of file names, and of positions.
Of a page that comes from several dumps the newest copy is kept.

A rule has two parts.  `claims` runs once for each task and turns documents into rows of (hash, task, row, paragraph).  `decide`
runs once for each bucket, which has all claims of a hash, and returns those that lose.  What it needs to know of a document,
such as its id, comes with the claim, so that nothing is looked up.  For equal texts, with hashes 5 and 9:

    task 0 claims   5 row 0, 9 row 1        bucket sorts   5: (0, 0) (1, 0)       (1, 0) loses to (0, 0)
    task 1 claims   5 row 0                                9: (0, 1)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import keys
from ...config import ChoiceConfig
from ...io.files import to_path
from . import facts, mixture
from .duplicates import WHOLE, Claims, fingerprint, first_of_each
from .kinds import Kinds
from .limits import Items, limited
from .losing import REASONS, lose_later, record
from .near import Bands, Near
from .rounds import BucketClaims, Losses, Rule

__all__ = ["LISTED", "REASONS", "make", "needs"]

_REPEATED, _DUPLICATE, _, _PARAGRAPHS, _MIXTURE, _SAMPLE, _WORDS = range(len(REASONS))
LISTED = REASONS[:_MIXTURE]  # the others are counted only: they say nothing of the document


def make(config: ChoiceConfig, root: str, kinds: Kinds) -> list[Rule]:
    """Return the rules of a run; `kinds` are the sources of its tasks, without those that check files."""
    rules: list[Rule] = []
    if "wikipedia" in kinds.names:
        rules.append(_Repeated(root, kinds))
    if config.dedup != "none":
        rules.append(_Same(root))
    if config.dedup == "near":
        rules += [Bands(root, config.near_threshold), Near(root, config.near_threshold, kinds.total)]
    if config.dedup_paragraphs:
        rules.append(_Paragraphs(root))
    if config.shares or config.sample_documents:
        rules.append(_Selection(root, config.seed, tuple(config.shares.items()), config.sample_documents, kinds))
    if config.word_limits:
        rules.append(_Words(root, config.seed, tuple(config.word_limits.items()), kinds))
    return rules


def needs(config: ChoiceConfig) -> facts.Needs:
    """Return which facts the rules go by."""
    return facts.Needs(config.dedup == "near", config.dedup_paragraphs, bool(config.word_limits))


@dataclass(frozen=True)
class _Repeated:
    """Of the copies of a page, which have one id, the newest is kept; of equally new ones the first."""

    root: str
    kinds: Kinds
    name = "ids"
    columns = ("high", "low", "row", "part", "id")
    per_document = 1.0
    drops = True

    def claims(self, task: int, losses: Losses) -> Iterator[Claims]:
        """Claim the hash of each id; `part` is WHOLE - as_of, the less the newer the copy is."""
        if self.kinds.kind(task) != "wikipedia":
            return
        table = facts.read(to_path(self.root), task)
        hashes = np.array([fingerprint(id) for id in table.column("id").to_pylist()], np.uint64).reshape(-1, 2)
        age = WHOLE - table.column("as_of").to_numpy()
        rows = np.flatnonzero(losses.left(table.num_rows)).astype(np.uint32)
        yield Claims.of(task, hashes[rows], rows, age.astype(np.uint32)[rows], _ids(table, rows))

    def decide(self, received: BucketClaims) -> Iterator[tuple[int, pa.RecordBatch]]:
        claims = received.all()
        # `all` sorts by position; sort by age before it, so that "the first of each hash is kept" means the newest.
        claims = claims.take(np.lexsort((claims.row, claims.task, claims.part, claims.low, claims.high)))
        age = claims.part
        kept = first_of_each(claims)
        # The date goes into the list of drops only where it decided; between copies of one age the position did.
        as_of = np.where(age > age[kept], WHOLE - age[kept].astype(np.uint64), 0)
        return lose_later(claims._replace(part=np.full_like(age, WHOLE)), _REPEATED, as_of)


@dataclass(frozen=True)
class _Same:
    """Of documents with one hash of their text the first is kept."""

    root: str
    name = "texts"
    columns = ("high", "low", "row", "id")
    per_document = 1.0
    drops = True

    def claims(self, task: int, losses: Losses) -> Iterator[Claims]:
        table = facts.read(to_path(self.root), task)
        hashes = np.stack([table.column(name).to_numpy() for name in ("high", "low")], 1)
        rows = np.flatnonzero(losses.left(table.num_rows)).astype(np.uint32)
        yield Claims.of(task, hashes[rows], rows, payload=_ids(table, rows))

    def decide(self, received: BucketClaims) -> Iterator[tuple[int, pa.RecordBatch]]:
        return lose_later(received.all(), _DUPLICATE)


@dataclass(frozen=True)
class _Paragraphs:
    """Drop a long paragraph that has occurred before, and a document with the last of its paragraphs."""

    root: str
    name = "paragraphs"
    columns = ("high", "low", "row", "part", "id")
    per_document = 8.0
    drops = True

    def claims(self, task: int, losses: Losses) -> Iterator[Claims]:
        table = facts.read(to_path(self.root), task)
        row, part = _long_paragraphs(table)
        hashes = np.stack([_flat(table, name) for name in ("part_high", "part_low")], 1)
        left = losses.left(table.num_rows)[row]
        row, part = row[left].astype(np.uint32), part[left].astype(np.uint32)
        yield Claims.of(task, hashes[left], row, part, _ids(table, row))

    def decide(self, received: BucketClaims) -> Iterator[tuple[int, pa.RecordBatch]]:
        return lose_later(received.all(), _PARAGRAPHS)


@dataclass(frozen=True)
class _Selection:
    """Sample sources down to their shares of the text, and then the corpus to a number of documents, by a key hashed from the id.

    All claims come to one bucket, for a cut depends on all of them: those with the smallest keys are kept.
    """

    root: str
    seed: int
    shares: tuple[tuple[str, float], ...]
    sample: int
    kinds: Kinds
    name = "selection"
    columns = ("high", "low", "row")
    per_document = 0.0
    drops = True

    def claims(self, task: int, losses: Losses) -> Iterator[Claims]:
        """Claim a key (`high`) for each document and the bytes of its text (`low`)."""
        yield _drawn(self.root, self.seed, task, losses, "bytes")

    def decide(self, received: BucketClaims) -> Iterator[tuple[int, pa.RecordBatch]]:
        cuts = self._mixture(received)
        last = mixture.ALL
        # The sample is cut among what the mixture keeps.  Each source's keys lie below its own cut, so they are scaled to the
        # same range first: otherwise a sample would take more of a source with a low cut, and change the shares.
        if self.sample:
            last = mixture.cut(
                lambda: ((k[kept], kept[kept].astype(np.int64)) for _, k, kept in self._kept(received, cuts)), self.sample
            )
        before = 0
        for task, (claims, scaled, kept) in zip(received.tasks, self._kept(received, cuts), strict=True):
            chosen = kept.copy()
            chosen[kept] = last.admits(scaled[kept], before)
            before += last.equals(scaled[kept])
            if not chosen.all():
                yield task, _out(claims.row[~chosen], WHOLE, np.where(kept[~chosen], _SAMPLE, _MIXTURE))

    def _mixture(self, received: BucketClaims) -> dict[str, mixture.Cut]:
        if not self.shares:
            return {}
        sizes: dict[str, int] = {}
        for task, claims in zip(received.tasks, received.parts(), strict=True):
            sizes[self.kinds.kind(task)] = sizes.get(self.kinds.kind(task), 0) + int(claims.low.sum())
        return {
            source: mixture.cut(lambda source=source: self._of(source, received), target)  # type: ignore[misc]
            for source, target in mixture.targets(dict(self.shares), sizes).items()
        }

    def _of(self, source: str, received: BucketClaims) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]]:
        for task, claims in zip(received.tasks, received.parts(), strict=True):
            if self.kinds.kind(task) == source:
                yield claims.high, claims.low.astype(np.int64)

    def _kept(self, received: BucketClaims, cuts: dict[str, mixture.Cut]) -> Iterator[tuple[Claims, Any, npt.NDArray[np.bool_]]]:
        """Yield each task's claims, keys that compare between sources, and which claims the mixture keeps."""
        before: dict[str, int] = {}
        for task, claims in zip(received.tasks, received.parts(), strict=True):
            source = self.kinds.kind(task)
            cut = cuts.get(source, mixture.ALL)
            yield claims, mixture.scaled(claims.high, cut), cut.admits(claims.high, before.get(source, 0))
            before[source] = before.get(source, 0) + cut.equals(claims.high)


@dataclass(frozen=True)
class _Words:
    """Keep so many words of each source that has a limit, and then of all (""): documents by a key hashed from the id.

    The first document that would be too much is cut to the words that are missing, so the number is exact.
    """

    root: str
    seed: int
    limits: tuple[tuple[str, int], ...]
    kinds: Kinds
    name = "words"
    columns = ("high", "low", "row")
    per_document = 0.0
    drops = True

    def claims(self, task: int, losses: Losses) -> Iterator[Claims]:
        """Claim a key (`high`) for each document and its words (`low`)."""
        yield _drawn(self.root, self.seed, task, losses, "words")

    def decide(self, received: BucketClaims) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield documents that are lost whole, or whose `part` is the number of words that they are cut to."""

        def items() -> Iterator[tuple[int, Claims, npt.NDArray[np.int64]]]:
            for task, claims in zip(received.tasks, received.parts(), strict=True):
                yield task, claims, claims.low.astype(np.int64)

        left: Items = items
        for source, limit in self.limits:
            left = limited(left, limit, self.kinds.tasks(source))
        for task, claims, words in left():
            lost = words < claims.low.astype(np.int64)
            if lost.any():
                yield task, _out(claims.row[lost], np.where(words[lost] > 0, words[lost], WHOLE), _WORDS)


def _out(row: npt.NDArray[np.uint32], part: Any, reason: Any) -> pa.RecordBatch:
    """Make a record batch of documents that are lost for no other one; `part` and `reason` are a value each, or one for all."""
    parts, reasons = (np.full(len(row), values, kind) for values, kind in ((part, np.uint32), (reason, np.uint8)))
    zeros = np.zeros(len(row), np.uint32)
    return record(row, parts, reasons, zeros, zeros, pa.array([""] * len(row)))


def _drawn(root: str, seed: int, task: int, losses: Losses, what: str) -> Claims:
    """Claim a key (`high`) for each document that is left and how much it has, ``bytes`` or ``words`` (`low`)."""
    table = facts.read(to_path(root), task)
    size, left = table.column(what).to_numpy().copy(), losses.left(table.num_rows)
    # Paragraphs that the rule before has taken out count no more: subtract what they have, and drop a document without any.
    if (in_part := losses.column("part") != WHOLE).any():
        cut, part = losses.column("row")[in_part], losses.column("part")[in_part]
        rows, parts = _long_paragraphs(table)
        # (row, paragraph) as one number, in order; `subtract.at` as a document may lose several.
        index = np.searchsorted(rows << 32 | parts, cut.astype(np.int64) << 32 | part)
        np.subtract.at(size, cut, _flat(table, f"part_{what}")[index])
        left &= np.bincount(cut, minlength=len(size)) < table.column("paragraphs").to_numpy()
    row = np.flatnonzero(left).astype(np.uint32)
    hashed = np.array([keys.key(seed, "choose", id) for id in _ids(table, row).to_pylist()], np.uint64)
    return Claims.of(task, np.stack([hashed, size[row]], 1), row)


def _flat(table: pa.Table, name: str) -> npt.NDArray[np.uint64]:
    """Put together the values of a column of lists."""
    return np.asarray(table.column(name).combine_chunks().flatten().to_numpy())


def _long_paragraphs(table: pa.Table) -> tuple[Any, Any]:
    """Return of each long paragraph its document, and its number in it."""
    lengths = table.column("parts").combine_chunks().value_lengths().to_numpy()
    return np.repeat(np.arange(len(lengths)), lengths), _flat(table, "parts").astype(np.int64)


def _ids(table: pa.Table, rows: npt.NDArray[np.uint32]) -> pa.Array:
    """Return the ids of documents."""
    return table.column("id").combine_chunks().take(pa.array(rows))

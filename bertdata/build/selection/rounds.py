"""Choose documents across the corpus: each rule, in a round of its own, drops some; then shards that lose some are rewritten.

A round is a shuffle by files, as that of make-pairs.  Each task writes its claims, a hash and the address of a document or
paragraph each, into a file with one record batch per bucket.  A bucket gets the claims of all tasks whose hashes are in its
range, and decides which of them lose.  Each task then merges what it loses in all buckets into one file.  Only references,
small tuples of numbers, cross between steps.  A document that one rule has dropped makes no claims to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...dataset import shards
from ...dataset.run import STATE
from ...io.files import digest, to_path
from .duplicates import Claims, bucket

__all__ = ["LOST", "WHOLE", "BucketClaims", "Decide", "Losses", "MergeLosses", "Rule", "WriteClaims", "bucket_count"]

Ref = tuple[int, int, int, int]  # a task or bucket, where its record batch begins in its file (-1: none), bytes and digest
NONE = (-1, 0, 0)
WHOLE = (1 << 32) - 1  # as the number of a paragraph: the whole document
CLAIMS = 1 << 19  # of a bucket, about: 35 MB while they are sorted
DOCUMENT = 4096  # bytes of plain input per document, by which the number of buckets is estimated: few wikis have less

_CLAIMS = pa.schema([("high", pa.uint64()), ("low", pa.uint64()), ("row", pa.uint32()), ("part", pa.uint32())])
LOST = pa.schema(  # the document or paragraph that is lost, why (an index of REASONS), and the earlier one that is kept instead
    [
        ("row", pa.uint32()),
        ("part", pa.uint32()),
        ("reason", pa.uint8()),
        ("first_task", pa.uint32()),
        ("first_row", pa.uint32()),
        ("first", pa.string()),
    ]
)


class Rule(Protocol):
    """What a round asks of a rule: which claims a task makes, and which claims of a bucket lose."""

    @property
    def name(self) -> str:
        """Return what its files are named after."""

    @property
    def per_document(self) -> float:
        """Return how many claims a document makes; 0 where all go to one bucket."""

    def claims(self, task: int, losses: Losses) -> Claims:
        """Return the claims of a task's documents, without those that earlier rounds have dropped."""

    def decide(self, received: BucketClaims) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield what each task loses in a bucket, in order of tasks."""


@dataclass(frozen=True)
class Losses:
    """What a task has lost in these rounds."""

    root: str
    task: int
    rounds: tuple[str, ...]

    @cached_property
    def table(self) -> pa.Table:
        """Everything that is lost, round after round."""
        batches = [batch for path in self._paths for batch in shards.read_batches(path, "arrow-file")]
        return pa.Table.from_batches(batches, LOST)

    def digests(self) -> list[str]:
        """Hash the files that the table is read from."""
        return [digest(path) for path in self._paths]

    @property
    def _paths(self) -> list[Path]:
        return [to_path(self.root) / _name(round, "gone", self.task) for round in self.rounds]

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column of numbers."""
        return np.asarray(self.table.column(name).to_numpy())

    def left(self, rows: int) -> npt.NDArray[np.bool_]:
        """Tell of each of `rows` documents whether it is left: whole, or in part."""
        left = np.ones(rows, bool)
        left[self.column("row")[self.column("part") == WHOLE]] = False
        return left


def _name(round: str, what: str, number: int) -> str:
    return f"{STATE}/work/{round}-{what}-{number:05d}.arrow"


def _read(root: str, round: str, what: str, schema: pa.Schema, refs: Iterable[Ref]) -> Iterator[pa.RecordBatch]:
    """Read the record batches that references tell of, in their order; those without one give none."""
    directory = to_path(root)
    pieces = ((directory / _name(round, what, number), shards.Piece(*piece)) for number, *piece in refs if piece[0] >= 0)
    return shards.read_pieces(schema, pieces)


def bucket_count(rule: Rule, plain_bytes: int) -> int:
    """Return how many buckets a round has for an input of so many bytes, as if it were not compressed."""
    return max(1, min(9999, math.ceil(plain_bytes / DOCUMENT * rule.per_document / CLAIMS)))


@dataclass(frozen=True)
class BucketClaims:
    """The claims in one bucket, task by task."""

    root: str
    round: str
    refs: list[Ref]

    @property
    def tasks(self) -> list[int]:
        """The tasks that have claims here, in order."""
        return [task for task, start, _, _ in self.refs if start >= 0]

    def parts(self) -> Iterator[Claims]:
        """Read the claims of each of these tasks."""
        batches = _read(self.root, self.round, "claims", _CLAIMS, self.refs)
        for task, batch in zip(self.tasks, batches, strict=True):
            high, low, row, part = (column.to_numpy() for column in batch.columns)
            yield Claims(high, low, np.full(len(row), task, np.uint32), row, part)

    def all(self) -> Claims:
        """Read all claims, sorted by hash."""
        columns = [np.concatenate(columns) for columns in zip(*self.parts(), strict=True)]
        return Claims(*columns).in_order() if columns else Claims(*np.zeros((2, 0), np.uint64), *np.zeros((3, 0), np.uint32))


@dataclass(frozen=True)
class WriteClaims:
    """Write a task's claims; yield a reference to them for each bucket.

    Each task also yields a reference without claims to one bucket, so that it comes out of the round even if it loses nothing.
    """

    root: str
    rule: Rule
    earlier: tuple[str, ...]
    buckets: int
    shards: int

    def __call__(self, task: int) -> Iterator[tuple[int, Ref]]:
        yield task % self.buckets, (task, *NONE)
        if task >= self.shards:  # it has checked a file
            return
        claims = self.rule.claims(task, Losses(self.root, task, self.earlier))
        of = bucket(claims.high, self.buckets) if self.rule.per_document else np.zeros(len(claims.high), np.int64)
        order = np.argsort(of, kind="stable")
        own = np.split(order, np.flatnonzero(np.diff(of[order])) + 1) if len(order) else []
        batches = (_batch(claims.take(chosen)) for chosen in own)
        _, pieces = shards.write_pieces(to_path(self.root), _name(self.rule.name, "claims", task), batches)
        for chosen, piece in zip(own, pieces, strict=True):
            yield int(of[chosen[0]]), (task, *piece)


def _batch(claims: Claims) -> pa.RecordBatch:
    return pa.record_batch([pa.array(c) for c in (claims.high, claims.low, claims.row, claims.part)], schema=_CLAIMS)


@dataclass(frozen=True)
class Decide:
    """Write what is lost in a bucket; yield references for the tasks that lose some, and one for each without claims."""

    root: str
    rule: Rule

    def __call__(self, group: tuple[int, Iterable[Ref]]) -> Iterator[tuple[int, Ref]]:
        number, members = group
        refs = sorted(set(members))  # an engine may deliver a reference twice
        losing: list[int] = []

        def batches() -> Iterator[pa.RecordBatch]:
            for task, batch in self.rule.decide(BucketClaims(self.root, self.rule.name, refs)):
                losing.append(task)
                yield batch

        _, pieces = shards.write_pieces(to_path(self.root), _name(self.rule.name, "lost", number), batches())
        for task, start, _, _ in refs:
            if start < 0:
                yield task, (number, *NONE)
        for task, piece in zip(losing, pieces, strict=True):
            yield task, (number, *piece)


@dataclass(frozen=True)
class MergeLosses:
    """Merge what a task loses in all buckets of a round, each document or paragraph once.

    A document may lose in several buckets, one for each band of its signature, against different documents: that one of them
    is named as kept instead that comes first in the corpus.
    """

    root: str
    round: str

    def __call__(self, group: tuple[int, Iterable[Ref]]) -> int:
        task, members = group
        lost = list(_read(self.root, self.round, "lost", LOST, sorted(set(members))))
        batches: list[pa.RecordBatch] = []
        if lost:
            table = pa.Table.from_batches(lost)
            row, part, first_task, first_row = (table.column(n).to_numpy() for n in ("row", "part", "first_task", "first_row"))
            order = np.lexsort((first_row, first_task, part, row))
            row, part = row[order], part[order]
            new = np.ones(len(order), bool)
            new[1:] = (row[1:] != row[:-1]) | (part[1:] != part[:-1])
            batches = table.take(pa.array(order[new])).combine_chunks().to_batches()
        # Also where nothing is lost: to a step on another host a file that is not visible yet must not look like no losses.
        shards.write(to_path(self.root), _name(self.round, "gone", task), LOST, batches, "arrow-file")
        return task

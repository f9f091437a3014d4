"""Choose documents across the corpus: each rule, in a round of its own, drops some; then shards that lose some are rewritten.

A round is a shuffle by files, as that of make-pairs.  Each task writes its claims, a hash and the address of a document or
paragraph each, into a file with one record batch per bucket.  A bucket gets the claims of all tasks whose hashes are in its
range, and decides which of them lose.  Each task then merges what it loses in all buckets into one file.  Only references,
small tuples of numbers, cross between steps.  A document that one rule has dropped makes no claims to the next.

Where tasks times buckets are many there are two levels of them (build/levels.py), on the way to the buckets and back:

    tasks ── by group of buckets ──► merged files ── by bucket ──► buckets ── by block of tasks ──► split files ── by task
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
from ...io.files import digest, to_path
from ...io.progress import NO_CONTEXT, InContext, TaskContext
from ..levels import Levels
from . import round_files
from .duplicates import WHOLE, Claims, Indices, bucket
from .round_files import LOST, NONE, Ref

__all__ = [
    "LOST",
    "WHOLE",
    "BucketClaims",
    "Decide",
    "Losses",
    "MergeClaims",
    "MergeLosses",
    "Rule",
    "SplitLosses",
    "WriteClaims",
    "bucket_count",
]

CLAIMS = 1 << 19  # of a bucket, about: 35 MB while they are sorted, and their payloads
_MERGED = 64 << 20  # bytes of claims that are merged at a time
DOCUMENT = 4096  # bytes of plain input per document, by which the number of buckets is estimated: few wikis have less


class Rule(Protocol):
    """What a round asks of a rule: which claims a task makes, and which claims of a bucket lose."""

    @property
    def name(self) -> str:
        """Return what its files are named after."""

    @property
    def per_document(self) -> float:
        """Return how many claims a document makes; 0 where all go to one bucket."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return what is written of a claim: `high` and `row`, and others that differ between claims."""

    @property
    def drops(self) -> bool:
        """Tell whether documents lose by it: else it finds pairs of documents, for the next rule to compare."""

    def claims(self, task: int, losses: Losses) -> Iterator[Claims]:
        """Yield the claims of a task's documents, without those that earlier rounds have dropped: parts of bounded size."""

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
        return [to_path(self.root) / round_files.name(round, "gone", self.task) for round in self.rounds]

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column of numbers."""
        return np.asarray(self.table.column(name).to_numpy())

    def left(self, rows: int) -> npt.NDArray[np.bool_]:
        """Tell of each of `rows` documents whether it is left: whole, or in part."""
        left = np.ones(rows, bool)
        left[self.column("row")[self.column("part") == WHOLE]] = False
        return left


def bucket_count(rule: Rule, plain_bytes: int) -> int:
    """Return how many buckets a round has for an input of so many bytes, as if it were not compressed."""
    return max(1, min(99_999, math.ceil(plain_bytes / DOCUMENT * rule.per_document / CLAIMS)))


@dataclass(frozen=True)
class BucketClaims:
    """The claims in one bucket, task by task; with two levels of buckets, `merged`, block of tasks by block."""

    root: str
    round: str
    columns: tuple[str, ...]
    refs: list[Ref]
    merged: bool = False

    @property
    def tasks(self) -> list[int]:
        """The tasks that have claims here, in order; of one level of buckets."""
        return [task for task, start, _, _ in self.refs if start >= 0]

    def parts(self) -> Iterator[Claims]:
        """Read the claims of each of these tasks."""
        return round_files.read_claims(self.root, self.round, self.columns, self.refs, self.merged)

    def all(self) -> Claims:
        """Read all claims, sorted by hash."""
        return round_files.join_claims(self.parts()).in_order()


@dataclass(frozen=True)
class WriteClaims(InContext):
    """Write a task's claims; yield a reference to them for each bucket, or for each merged file that they go to.

    Each task also yields a reference without claims to one bucket, so that it comes out of the round even if it loses nothing.
    """

    root: str
    rule: Rule
    earlier: tuple[str, ...]
    levels: Levels
    shards: int

    def __call__(self, task: int, context: TaskContext = NO_CONTEXT) -> Iterator[tuple[int, Ref]]:
        yield self._key(task, task % self.levels.groups), (task, *NONE)
        if task >= self.shards:  # it has checked a file
            return
        with context.working(f"{self.rule.name} claims", task):
            claims = self.rule.claims(task, Losses(self.root, task, self.earlier))
            written = list(
                round_files.write_claims(self.root, self.rule.name, self.rule.columns, task, claims, self._group, False)
            )
        for group, ref in written:
            yield self._key(task, group), ref

    def _group(self, claims: Claims) -> Indices:
        if not self.rule.per_document:
            return np.zeros(len(claims.high), np.int64)
        return np.asarray(self.levels.group(bucket(claims.high, self.levels.buckets)))

    def _key(self, task: int, group: int) -> int:
        return self.levels.merged(task, group) if self.levels.are_two else group


@dataclass(frozen=True)
class MergeClaims:
    """Merge what a block of tasks claims in a group of buckets into one file, by bucket; yield references for each bucket.

    Of so many claims at a time as memory should hold: most often those of all tasks.
    """

    root: str
    rule: Rule
    levels: Levels

    def __call__(self, group: tuple[int, Iterable[Ref]]) -> Iterator[tuple[int, Ref]]:
        number, members = group
        refs = sorted(set(members))
        name, columns = self.rule.name, self.rule.columns
        claims = round_files.in_batches(round_files.read_claims(self.root, name, columns, refs), _MERGED)
        yield from round_files.write_claims(self.root, name, columns, number, claims, self._bucket, True)
        for ref in refs:
            if ref[1] < 0:
                yield ref[0] % self.levels.buckets, ref

    def _bucket(self, claims: Claims) -> Indices:
        return bucket(claims.high, self.levels.buckets)


@dataclass(frozen=True)
class Decide(InContext):
    """Write what is lost in a bucket; yield references for tasks that lose some, or blocks, and one for each without claims."""

    root: str
    rule: Rule
    levels: Levels

    def __call__(self, group: tuple[int, Iterable[Ref]], context: TaskContext = NO_CONTEXT) -> Iterator[tuple[int, Ref]]:
        number, members = group
        refs = sorted(set(members))  # an engine may deliver a reference twice
        two, bucket_group = self.levels.are_two, self.levels.group(number)
        received = BucketClaims(self.root, self.rule.name, self.rule.columns, refs, two)
        with context.working(f"{self.rule.name} choice", number):
            lost = self.rule.decide(received)
            if two:
                lost = round_files.group_losses(lost, lambda task: self.levels.merged(task, bucket_group))
            written = list(round_files.write(self.root, self.rule.name, "together" if two else "lost", number, lost))
        for task, start, _, _ in refs:
            if start < 0:
                yield (self.levels.merged(task, bucket_group), (task, *NONE)) if two else (task, (number, *NONE))
        yield from written


@dataclass(frozen=True)
class SplitLosses:
    """Split what a block of tasks loses in a group of buckets into one file, by task; yield a reference for each task."""

    root: str
    round: str

    def __call__(self, group: tuple[int, Iterable[Ref]]) -> Iterator[tuple[int, Ref]]:
        number, members = group
        refs = sorted(set(members))
        losses = round_files.split_losses(self.root, self.round, refs)
        yield from round_files.write(self.root, self.round, "split", number, losses)
        for task, start, _, _ in refs:
            if start < 0:
                yield task, (number, *NONE)


@dataclass(frozen=True)
class MergeLosses:
    """Merge what a task loses in all buckets of a round, each document or paragraph once.

    A document may lose in several buckets, one for each band of its signature, against different documents: that one of them
    is named as kept instead that comes first in the corpus.  Of pairs of documents all are left.
    """

    root: str
    round: str
    what: str = "lost"
    drops: bool = True

    def __call__(self, group: tuple[int, Iterable[Ref]]) -> int:
        task, members = group
        lost = list(round_files.read(self.root, self.round, self.what, sorted(set(members))))
        batches: list[pa.RecordBatch] = []
        if lost:
            table = pa.Table.from_batches(lost)
            columns = [table.column(name).to_numpy() for name in ("row", "part", "first_task", "first_row")]
            order = np.lexsort(columns[::-1])
            new = np.zeros(len(order), bool)
            new[:1] = True
            for column in columns[: 2 if self.drops else 4]:
                new[1:] |= np.diff(column[order]) != 0
            batches = table.take(pa.array(order[new])).combine_chunks().to_batches()
        # Also where nothing is lost: to a step on another host a file that is not visible yet must not look like no losses.
        shards.write(to_path(self.root), round_files.name(self.round, "gone", task), LOST, batches, "arrow-file")
        return task

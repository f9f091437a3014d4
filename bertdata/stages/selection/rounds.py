"""Select documents across the corpus: each rule drops some in a separate round, then the affected shards are rewritten.

A round is two shuffles.  Each task puts its claims, a hash and the row of a document or paragraph each, into partitions by hash.
A partition gets all claims whose hashes are in its range, and decides which of them lose.  It writes the losses of each task
into a piece for the task.  The task then stores its losses from all partitions in one file.  A document that one rule has dropped
makes no claims to the next.

    tasks ── claims, by hash ──► partitions ── losses, by task ──► tasks
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...storage.progress import NO_CONTEXT, InContext, TaskContext
from ..shuffle import Moved, Pieces, Shuffle
from . import duplicates, facts
from .claims import Columns, Table, concat, join, split
from .decisions import LOST, PAIRS, Losses, merged, write_kept
from .duplicates import Indices

__all__ = ["Decide", "KeepLosses", "PutClaims", "Received", "Rule", "partition_count"]

CLAIMS_PER_PARTITION = 1 << 19  # target claims of a partition: 35 MB while they are sorted, plus their payloads
_JOINED_BYTES = 1 << 20  # claims of tasks that are joined at a time: 100,000 tasks may have only a few claims each
BYTES_PER_DOCUMENT = 4096  # plain input bytes per document, used to estimate the number of partitions; few wikis have less


class Rule:
    """A rule of one round: the claims of a task, their partitions, and the claims of a partition that lose.

    Attributes:
        name: Prefix of its file names.
        columns: The dtype of a claim. One column is the `row` of the document.
        drops: Whether it drops documents. Otherwise it finds pairs of documents for the next rule to compare.
    """

    name: str
    columns: np.dtype[Any]
    drops = True

    def per_document(self) -> float:
        """Return the number of claims per document, or 0 if all claims go to one partition."""
        return 1.0

    def claims(self, table: pa.RecordBatch, task: int, losses: Losses) -> Columns:
        """Return the claims of a task's documents from their facts, except documents dropped in earlier rounds."""
        raise NotImplementedError

    def payload(self, table: pa.RecordBatch, rows: Indices) -> pa.Array | None:
        """Return the payloads of claims about these rows of the facts, or None without payloads."""
        return None

    def partition(self, claims: Columns, count: int) -> Indices:
        """Return the partition of each claim, out of `count`."""
        return duplicates.partition(claims["hash"], count)

    def decide(self, received: Received) -> Iterator[tuple[int, Table]]:
        """Yield the losses of each task in a partition once, in order of tasks."""
        raise NotImplementedError


def partition_count(rule: Rule, plain_bytes: int) -> int:
    """Return the number of partitions of a round for `plain_bytes` of uncompressed input."""
    return max(1, min(99_999, math.ceil(plain_bytes / BYTES_PER_DOCUMENT * rule.per_document() / CLAIMS_PER_PARTITION)))


@dataclass(frozen=True)
class Received:
    """The claims in one partition."""

    pieces: Pieces
    columns: np.dtype[Any]

    def by_task(self) -> Iterator[tuple[int, Table]]:
        """Read the claims of each task in this partition, in order of tasks."""
        return ((task, Table.from_bytes(data, self.columns)) for task, data in self.pieces)

    def all(self) -> Table:
        """Read all claims, in order of tasks and rows. The column `task` has the task of each."""
        return concat(join(self.by_task(), _JOINED_BYTES), [("task", "<u4"), *self.columns.descr])

    def by_hash(self) -> Table:
        """Read all claims, sorted by hash and then by position in the corpus."""
        found = self.all()
        hashes = found.columns["hash"]
        return found.take(np.lexsort([hashes[:, number] for number in reversed(range(hashes.shape[1]))]))


@dataclass(frozen=True)
class PutClaims(InContext):
    """Distribute a task's claims to partitions."""

    root: Path
    rule: Rule
    earlier: tuple[str, ...]
    shuffle: Shuffle
    shards: int

    def __call__(self, task: int, context: TaskContext = NO_CONTEXT) -> Iterator[tuple[int, Moved]]:
        if task >= self.shards:  # a task that checked a file
            yield from self.shuffle.put(task, ())
            return
        with context.working(f"{self.rule.name} claims", task):
            yield from self.shuffle.put(task, self._pieces(task))

    def _pieces(self, task: int) -> Iterator[tuple[int, bytes]]:
        rule, table = self.rule, facts.read(self.root, task)
        columns = rule.claims(table, task, Losses(self.root, task, self.earlier))
        # Equal hashes fall into the same partition from all tasks, so a partition can decide about them
        # without knowing any other partition. Memory is bounded by the size of a partition, not of the
        # corpus.
        for partition, found in split(Table(columns), rule.partition(columns, self.shuffle.partitions)):
            # Payloads are collected per partition, because all together may be many times the size of the task's documents.
            yield partition, found._replace(payload=rule.payload(table, found.columns["row"])).to_bytes()


@dataclass(frozen=True)
class Decide:
    """Decide the losses of a partition, and write them to the pieces of their tasks."""

    rule: Rule
    losses: Shuffle

    def __call__(self, partition: int, pieces: Pieces, context: TaskContext = NO_CONTEXT) -> Iterator[tuple[int, Moved]]:
        with context.working(f"{self.rule.name} choice", partition):
            lost = self.rule.decide(Received(pieces, self.rule.columns))
            yield from self.losses.put(partition, ((task, table.to_bytes()) for task, table in lost))


@dataclass(frozen=True)
class KeepLosses:
    """Store a task's losses from all partitions of a round in one file. Return the task."""

    root: Path
    rule: Rule

    def __call__(self, task: int, pieces: Pieces, context: TaskContext = NO_CONTEXT) -> int:
        dtype = LOST if self.rule.drops else PAIRS
        tables = (Table.from_bytes(data, dtype) for _, data in pieces)
        write_kept(self.root, self.rule.name, task, merged(tables, dtype))
        return task

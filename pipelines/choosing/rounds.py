"""Choose documents across the corpus: rules, each in a round of its own, say which go; then shards that lose some are rewritten.

A round is a shuffle by files, as that of make-pairs: each task offers claims, a hash and a place each, in one record batch a
bucket; the bucket's task, which gets all claims with its hashes, decides what is lost; each task notes what it loses.  Only
small tuples of numbers cross between steps.  A document that one rule has dropped is not offered to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bertdata import shards
from bertdata.choosing.duplicates import Claims, bucket
from bertdata.errors import VerificationError
from bertdata.fence import Fence
from bertdata.files import digest, place
from bertdata.output import STATE

__all__ = ["LOST", "WHOLE", "Gone", "Offers", "Round", "Rule", "bucket_count"]

Ref = tuple[int, int, int]  # a task or bucket, the record batch in its file (-1: none), and its rows
WHOLE = (1 << 32) - 1  # the part of a document that is all of it
CLAIMS = 1 << 19  # meant for one bucket: 35 MB while it is sorted
DOCUMENT = 4096  # bytes of plain input that a document is taken to have, where buckets are counted: few wikis have less

_CLAIMS = pa.schema([("high", pa.uint64()), ("low", pa.uint64()), ("row", pa.uint32()), ("part", pa.uint32())])
LOST = pa.schema(  # what goes, why (a number of REASONS), and what stays in its place
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
    """What a round goes by."""

    @property
    def name(self) -> str:
        """Return what its files are named after."""

    @property
    def per_document(self) -> float:
        """Return how many claims a document makes; 0 where all go to one bucket."""

    def claims(self, task: int, gone: Gone) -> Claims:
        """Return what a task's documents claim, those apart that are gone."""

    def decide(self, offers: Offers) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield what each task loses, in order of tasks."""


@dataclass(frozen=True)
class Gone:
    """What a task has lost in the rounds before."""

    root: str
    task: int
    rounds: tuple[str, ...]

    @cached_property
    def table(self) -> pa.Table:
        """Everything that is lost, round after round."""
        batches = [batch for path in self._paths for batch in shards.read_batches(path, "arrow-file")]
        return pa.Table.from_batches(batches, LOST)

    def digests(self) -> list[str]:
        """Hash the files that tell of it."""
        return [digest(path) for path in self._paths]

    @property
    def _paths(self) -> list[Path]:
        return [place(self.root) / _name(round, "gone", self.task) for round in self.rounds]

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


def bucket_count(rule: Rule, plain_bytes: int) -> int:
    """Return how many buckets a round has for an input of so many bytes, as if it were not compressed."""
    return max(1, min(9999, math.ceil(plain_bytes / DOCUMENT * rule.per_document / CLAIMS)))


@dataclass(frozen=True)
class Offers:
    """The claims that came to a bucket, task by task."""

    root: str
    round: str
    refs: list[Ref]

    @property
    def tasks(self) -> list[int]:
        """The tasks that have claims here, in order."""
        return [task for task, batch, _ in self.refs if batch >= 0]

    def parts(self) -> Iterator[Claims]:
        """Read the claims of each of these tasks."""
        for task, index, rows in self.refs:
            if index < 0:
                continue
            path = place(self.root) / _name(self.round, "claims", task)
            for batch in shards.read_batches(path, "arrow-file", index, index + 1):
                if batch.num_rows != rows:
                    raise VerificationError(f"{path} holds {batch.num_rows} of {rows} claims: run again with --resume")
                high, low, row, part = (column.to_numpy() for column in batch.columns)
                yield Claims(high, low, np.full(rows, task, np.uint32), row, part)

    def all(self) -> Claims:
        """Read all claims, sorted by hash."""
        columns = [np.concatenate(columns) for columns in zip(*self.parts(), strict=True)]
        return Claims(*columns).in_order() if columns else Claims(*np.zeros((2, 0), np.uint64), *np.zeros((3, 0), np.uint32))


class Round(beam.PTransform):
    """Tasks -> their claims, by bucket -> what each task loses -> tasks that have noted it."""

    def __init__(self, root: str, rule: Rule, earlier: tuple[str, ...], buckets: int, shards: int, fence: Fence) -> None:
        super().__init__()
        self._root, self._rule, self._fence = root, rule, fence
        self._offer = _Offer(root, rule, earlier, buckets, shards, fence)

    def expand(self, tasks: beam.PCollection) -> beam.PCollection:
        return (
            tasks
            | "Offer" >> beam.FlatMap(self._offer)
            | "By bucket" >> beam.GroupByKey()
            | "Decide" >> beam.FlatMap(_Decide(self._root, self._rule, self._fence))
            | "By task" >> beam.GroupByKey()
            | "Note" >> beam.Map(_Note(self._root, self._rule.name, self._fence))
        )


@dataclass(frozen=True)
class _Offer:
    """Write what a task's documents claim; name it to the buckets, and the task itself to one of them in any case."""

    root: str
    rule: Rule
    earlier: tuple[str, ...]
    buckets: int
    shards: int
    fence: Fence

    def __call__(self, task: int) -> Iterator[tuple[int, Ref]]:
        yield task % self.buckets, (task, -1, 0)
        if task >= self.shards:  # it has checked a file
            return
        claims = self.rule.claims(task, Gone(self.root, task, self.earlier))
        of = bucket(claims.high, self.buckets) if self.rule.per_document else np.zeros(len(claims.high), np.int64)
        order = np.argsort(of, kind="stable")
        own = np.split(order, np.flatnonzero(np.diff(of[order])) + 1) if len(order) else []
        batches = (_batch(claims.take(chosen)) for chosen in own)
        with self.fence.closed():
            shards.write(place(self.root), _name(self.rule.name, "claims", task), _CLAIMS, batches, "arrow-file")
        for index, chosen in enumerate(own):
            yield int(of[chosen[0]]), (task, index, len(chosen))


def _batch(claims: Claims) -> pa.RecordBatch:
    return pa.record_batch([pa.array(c) for c in (claims.high, claims.low, claims.row, claims.part)], schema=_CLAIMS)


@dataclass(frozen=True)
class _Decide:
    """Write what is lost in a bucket; name it to the tasks that lose it, and to those that named themselves."""

    root: str
    rule: Rule
    fence: Fence

    def __call__(self, group: tuple[int, Iterable[Ref]]) -> Iterator[tuple[int, Ref]]:
        number, members = group
        refs = sorted(set(members))  # an engine may have moved one twice
        losing: list[tuple[int, int]] = []

        def batches() -> Iterator[pa.RecordBatch]:
            for task, batch in self.rule.decide(Offers(self.root, self.rule.name, refs)):
                losing.append((task, batch.num_rows))
                yield batch

        with self.fence.closed():
            shards.write(place(self.root), _name(self.rule.name, "lost", number), LOST, batches(), "arrow-file")
        for task, batch, _ in refs:
            if batch < 0:
                yield task, (number, -1, 0)
        for index, (task, rows) in enumerate(losing):
            yield task, (number, index, rows)


@dataclass(frozen=True)
class _Note:
    """Put together what a task loses in a round: each document or part of one once, in favour of the first in its place."""

    root: str
    round: str
    fence: Fence

    def __call__(self, group: tuple[int, Iterable[Ref]]) -> int:
        task, members = group
        found: list[pa.RecordBatch] = []
        for number, index, rows in sorted(set(members)):
            if index >= 0:
                path = place(self.root) / _name(self.round, "lost", number)
                found += shards.read_batches(path, "arrow-file", index, index + 1)
                if found[-1].num_rows != rows:
                    raise VerificationError(f"{path} holds {found[-1].num_rows} of {rows} rows: run again with --resume")
        batches: list[pa.RecordBatch] = []
        if found:
            table = pa.Table.from_batches(found)
            row, part, first_task, first_row = (table.column(n).to_numpy() for n in ("row", "part", "first_task", "first_row"))
            order = np.lexsort((first_row, first_task, part, row))
            row, part = row[order], part[order]
            new = np.ones(len(order), bool)
            new[1:] = (row[1:] != row[:-1]) | (part[1:] != part[:-1])
            batches = table.take(pa.array(order[new])).combine_chunks().to_batches()
        # Also where nothing is lost: the next step may be on another host, and must not take a file it can't see yet for none.
        with self.fence.closed():
            shards.write(place(self.root), _name(self.round, "gone", task), LOST, batches, "arrow-file")
        return task

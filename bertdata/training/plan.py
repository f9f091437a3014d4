"""Plan which rows a step serves: pure arithmetic, so a step number is the whole state of the data.

Rows are divided into length buckets, and each global batch comes from one bucket, padded to its width.  The remaining rows of a
bucket move to the next wider one, so an epoch leaves less than one batch of rows unused.

    >>> plan = BatchPlan(np.array([5, 30, 7, 6, 29, 31, 8]), 2, widths=(8, 32), seed=1)
    >>> plan.batches, plan.left
    (3, 1)
    >>> sorted(plan[step].width for step in range(3))  # widths 8 and 32; one row is left
    [8, 8, 32]

Nothing is shuffled in memory: the row at a position of the order is computed from that position alone, by a keyed permutation
(permutation.py). Its inverse finds the steps that serve a row, without visiting the other steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..errors import EmptyResultError, UsageError
from .permutation import Ints, shuffled, unshuffled

__all__ = ["Batch", "BatchPlan", "widths"]

_AHEAD = 4096  # rows planned together: for a few rows, the overhead of NumPy calls exceeds the arithmetic
_CHUNK = 1 << 20  # rows assigned to buckets at a time


def widths(longest: int, count: int = 4) -> tuple[int, ...]:
    """Return equal steps up to the longest length, in multiples of 8, which suit tensor cores.

    >>> widths(128), widths(500), widths(16)
    ((32, 64, 96, 128), (128, 256, 376, 500), (8, 16))
    """
    return tuple(sorted({min(longest, math.ceil(longest * step / count / 8) * 8) for step in range(1, count + 1)}))


class Batch(NamedTuple):
    """A global batch: its step, epoch, width, row numbers [B], and the copy number of each row in the epoch [B].

    Copy numbers are 0 unless a weight serves rows more than once.
    """

    step: int
    epoch: int
    width: int
    rows: Ints
    copies: Ints

    def share(self, rank: int, ranks: int) -> Batch:
        """Return the rows of one rank."""
        mine = slice(rank * len(self.rows) // ranks, (rank + 1) * len(self.rows) // ranks)
        return self._replace(rows=self.rows[mine], copies=self.copies[mine])

    @property
    def tokens(self) -> int:
        """The number of tokens, at least 1, of its padded rows."""
        return max(1, len(self.rows) * self.width)


class _Part(NamedTuple):
    """Rows of one bucket and one directory: `size` entries of the table from `start`. An epoch serves `taken` of them."""

    start: int
    size: int
    taken: int
    copy: int


class BatchPlan:
    """The batches of every epoch, for rows of these lengths [N]. They are equal on every rank and in every worker.

    Args:
        lengths: Number of tokens of each row [N].
        batch_size: Rows of a global batch.
        widths: Widths that batches are padded to, increasing. The last one must be at least the longest row.
        seed: Seed of the order.
        parts: (rows, weight) of each directory, in order.
        whole: Whether the remaining rows form a last, short batch.

    Attributes:
        batches: The number of global batches of an epoch.
        left: The number of rows that an epoch does not use.
    """

    def __init__(
        self,
        lengths: npt.NDArray[Any],
        batch_size: int,
        *,
        widths: Sequence[int],
        seed: int,
        parts: Sequence[tuple[int, float]] = (),
        whole: bool = False,
    ) -> None:
        self.batch_size, self.widths, self.seed = batch_size, tuple(widths), seed
        if batch_size < 1 or list(self.widths) != sorted({*self.widths}) or not self.widths or self.widths[0] < 1:
            raise UsageError(f"batches of {batch_size} rows at widths {self.widths}: give 1 row or more, and widths that grow")
        if lengths.max(initial=0) > self.widths[-1]:
            raise UsageError(f"rows have up to {lengths.max()} tokens: the last of the widths {self.widths} must hold them")
        self._table, self._parts = _buckets(lengths, self.widths, parts or [(len(lengths), 1.0)])
        self._rows_of = [sum(part.taken for part in bucket) for bucket in self._parts]
        self._totals, carried = [], 0  # rows of each bucket, including rows moved to it
        for of_bucket in self._rows_of:
            self._totals.append(of_bucket + carried)
            carried = (of_bucket + carried) % batch_size
        self._ends = np.cumsum([total // batch_size for total in self._totals])
        self.left = 0 if whole else carried
        self.batches = int(self._ends[-1]) + bool(whole and carried)
        if not self.batches:
            raise EmptyResultError(f"{carried} rows do not fill one batch of {batch_size}: use a smaller batch size")
        self._kept = 0, self._carry(0)
        self._block = max(1, _AHEAD // batch_size)  # batches planned together
        self._planned: tuple[tuple[int, int], list[Batch]] = (-1, 0), []

    def __getitem__(self, step: int) -> Batch:
        """Return the batch of a step, counted over all epochs."""
        epoch, number = divmod(step, self.batches)
        if number == self._ends[-1]:
            return Batch(step, epoch, self.widths[-1], *self._carried(epoch)[-1])
        block, nth = divmod(number, self._block)
        if self._planned[0] != (epoch, block):
            self._planned = (epoch, block), self._plan(epoch, block * self._block)
        return self._planned[1][nth]

    def entries(self, rows: Ints) -> Ints:
        """Return where rows are in this plan's table, for `find`."""
        return np.flatnonzero(np.isin(self._table, rows))

    def find(self, entries: Ints, epoch: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the steps of an epoch that serve rows: steps, places in the batch, rows and copies, [K] each.

        This inverts `_rows` and `_plan` for these rows only.
        """
        found, size = [], self.batch_size
        late = np.zeros((3, 0), np.int64)  # rows that move to the next bucket: positions among those that move, rows, copies
        for bucket, parts in enumerate(self._parts):
            here, first = list[Ints](), 0
            for number, part in enumerate(parts):
                mine = entries[(part.start <= entries) & (entries < part.start + part.size)]
                nth = mine - part.start
                if part.taken < part.size:
                    nth = unshuffled(nth, part.size, keys.key(self.seed, "share", bucket, number))
                    nth = (nth - epoch * part.taken) % part.size
                served = nth < part.taken
                rows = self._table[mine[served]].astype(np.int64)
                here.append(np.stack([first + nth[served], rows, np.full(len(rows), part.copy)]))
                first += part.taken
            late[0] += first
            all_here = np.concatenate([*here, late], 1)
            slots = unshuffled(all_here[0], self._totals[bucket], keys.key(self.seed, "rows", epoch, bucket))
            end = self._totals[bucket] // size * size
            full = slots < end
            batch = slots[full] // size + (self._ends[bucket - 1] if bucket else 0)
            steps = unshuffled(batch, int(self._ends[-1]), keys.key(self.seed, "batches", epoch))
            found.append(np.stack([steps, slots[full] % size, *all_here[1:, full]]))
            late = np.stack([slots[~full] - end, *all_here[1:, ~full]])
        if self.batches > self._ends[-1]:  # the remaining rows form a last, short batch
            found.append(np.stack([np.full(late.shape[1], self._ends[-1]), *late]))
        steps, places, rows, copies = np.concatenate(found, 1)
        order = np.lexsort((places, steps))
        return epoch * self.batches + steps[order], places[order], rows[order], copies[order]

    def _plan(self, epoch: int, first: int) -> list[Batch]:
        """Return a block of batches of an epoch, starting with batch number `first`."""
        count = int(self._ends[-1])
        numbers = np.arange(first, min(first + self._block, count))
        order = shuffled(numbers, count, keys.key(self.seed, "batches", epoch))
        buckets = np.searchsorted(self._ends, order, "right")
        planned: dict[int, Batch] = {}
        for bucket in np.unique(buckets).tolist():
            nth = np.flatnonzero(buckets == bucket)
            begin = (order[nth] - (self._ends[bucket - 1] if bucket else 0)) * self.batch_size
            positions = (begin[:, None] + np.arange(self.batch_size)).ravel()
            found = self._rows(epoch, bucket, positions, self._carried(epoch)[bucket])
            rows, copies = (values.reshape(-1, self.batch_size) for values in found)
            for place, each, copy in zip(nth.tolist(), rows, copies, strict=True):
                planned[place] = Batch(epoch * self.batches + first + place, epoch, self.widths[bucket], each, copy)
        return [planned[place] for place in range(len(planned))]

    def _carried(self, epoch: int) -> list[tuple[Ints, Ints]]:
        if self._kept[0] != epoch:
            self._kept = epoch, self._carry(epoch)
        return self._kept[1]

    def _carry(self, epoch: int) -> list[tuple[Ints, Ints]]:
        """Return the rows, and their copy numbers, that move to each bucket, and last the unused ones."""
        carried = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for bucket, total in enumerate(self._totals):
            positions = np.arange(total - total % self.batch_size, total)
            carried.append(self._rows(epoch, bucket, positions, carried[-1]))
        return carried

    def _rows(self, epoch: int, bucket: int, positions: Ints, carried: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
        """Return the rows, and their copy numbers, at these positions of a bucket in this epoch."""
        positions = shuffled(positions, self._totals[bucket], keys.key(self.seed, "rows", epoch, bucket))
        rows, copies = np.empty_like(positions), np.empty_like(positions)
        first = 0
        for number, part in enumerate(self._parts[bucket]):
            inside = (first <= positions) & (positions < first + part.taken)
            nth = positions[inside] - first
            if (
                part.taken < part.size
            ):  # with a fractional share, each epoch continues where the last one ended, until all rows have been served
                nth = shuffled((epoch * part.taken + nth) % part.size, part.size, keys.key(self.seed, "share", bucket, number))
            rows[inside], copies[inside] = self._table[part.start + nth], part.copy
            first += part.taken
        late = positions >= first
        rows[late], copies[late] = (values[positions[late] - first] for values in carried)
        return rows, copies


def _buckets(
    lengths: npt.NDArray[Any], widths: tuple[int, ...], parts: Sequence[tuple[int, float]]
) -> tuple[npt.NDArray[Any], list[list[_Part]]]:
    """Return the rows in order of bucket and directory, and the parts of each bucket."""
    table = np.empty(len(lengths), np.uint32 if len(lengths) < 1 << 32 else np.int64)
    bucket_of = np.searchsorted(widths, np.arange(widths[-1] + 1)).astype(np.uint16)
    ends = np.cumsum([0] + [size for size, _ in parts])
    chunks = [(d, i, min(i + _CHUNK, int(ends[d + 1]))) for d in range(len(parts)) for i in range(ends[d], ends[d + 1], _CHUNK)]
    sizes = np.zeros((len(widths), len(parts)), np.int64)
    for d, first, last in chunks:
        sizes[:, d] += np.bincount(bucket_of[lengths[first:last]], minlength=len(widths))
    starts = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
    filled = starts.copy()
    for d, first, last in chunks:
        of_bucket = bucket_of[lengths[first:last]]
        for bucket in range(len(widths)):
            rows = np.flatnonzero(of_bucket == bucket)
            table[filled[bucket, d] : filled[bucket, d] + len(rows)] = rows + first
            filled[bucket, d] += len(rows)
    return table, [_parts(starts[k].tolist(), sizes, k, [weight for _, weight in parts]) for k in range(len(widths))]


def _parts(starts: list[int], sizes: Ints, bucket: int, weights: list[float]) -> list[_Part]:
    """Return the rows that an epoch serves of a bucket: for weight 2.5, all rows twice and half of them once more.

    Shares are rounded over all buckets together, so that a directory's total is right.
    """
    parts = []
    for d, (start, weight) in enumerate(zip(starts, weights, strict=True)):
        size, before = int(sizes[bucket, d]), int(sizes[:bucket, d].sum())
        share = weight - int(weight)
        taken = [size] * int(weight) + [round((before + size) * share) - round(before * share)]
        parts += [_Part(start, size, number, copy) for copy, number in enumerate(taken) if number]
    return parts

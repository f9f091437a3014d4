"""Compute the rows of a training step from the step number alone, so that the step number is the complete state of the data.

Rows are divided into length buckets, and each global batch comes from one bucket, padded to its width. The rows that do not fill
a batch move to the next wider bucket, so an epoch leaves less than one batch of rows unused.

    >>> plan = BatchPlan(np.array([5, 30, 7, 6, 29, 31, 8]), 2, widths=(8, 32), seed=1)
    >>> plan.batches, plan.left
    (3, 1)
    >>> sorted(plan[step].width for step in range(3))  # widths 8 and 32; one row is left
    [8, 8, 32]

No order is stored: a keyed permutation (permutation.py) maps each position of an epoch to a row. The inverse permutation finds
the steps that serve a row, without computing the other steps.
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

_ROWS_AHEAD = 4096  # rows planned together, because NumPy calls on a few rows are mostly overhead
_CHUNK_ROWS = 1 << 20  # rows assigned to buckets at a time


def widths(longest: int, count: int = 4) -> tuple[int, ...]:
    """Return `count` evenly spaced widths up to the longest length, in multiples of 8, which suit tensor cores.

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
        """Return the rows of this batch that a rank computes."""
        mine = slice(rank * len(self.rows) // ranks, (rank + 1) * len(self.rows) // ranks)
        return self._replace(rows=self.rows[mine], copies=self.copies[mine])

    @property
    def tokens(self) -> int:
        """Tokens of the padded batch, at least 1."""
        return max(1, len(self.rows) * self.width)


class _Part(NamedTuple):
    """Rows of one bucket and group that an epoch serves, as copy number `copy`."""

    start: int  # index of the first row in the table
    size: int  # number of rows in the bucket and group
    taken: int  # number of them that one epoch serves
    copy: int


class BatchPlan:
    """The batches of every epoch. They are the same on every rank and in every worker.

    Args:
        lengths: Number of tokens of each row [N].
        batch_size: Rows of a global batch.
        widths: Widths that batches are padded to, increasing. The last one must be at least the longest row.
        seed: Seed of the order.
        parts: Number of rows and weight of each directory, in order, or of each group.
        groups: Group of each row [N], if groups are not directories (mixture.py).
        whole: Whether to serve the remaining rows in a last, shorter batch.

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
        groups: npt.NDArray[Any] | None = None,
        whole: bool = False,
    ) -> None:
        self.batch_size, self.widths, self.seed = batch_size, tuple(widths), seed
        if batch_size < 1 or list(self.widths) != sorted({*self.widths}) or not self.widths or self.widths[0] < 1:
            raise UsageError(f"batches of {batch_size} rows at widths {self.widths}. Use 1 row or more, and increasing widths")
        if lengths.max(initial=0) > self.widths[-1]:
            raise UsageError(f"rows have up to {lengths.max()} tokens, more than the last of the widths {self.widths}")
        # `_table` contains all row numbers, sorted by bucket and then by group. `_parts[k]` lists the slices of the table that
        # belong to bucket k. Only the table grows with the number of rows.
        self._table, self._parts = _buckets(lengths, self.widths, parts or [(len(lengths), 1.0)], groups)
        self._rows_of = [sum(part.taken for part in bucket) for bucket in self._parts]
        # Batches of 4 rows, and buckets of 10, 7 and 6 rows at widths 32, 64 and 128:
        #
        #   bucket    own rows    moved in    total    batches    moved on
        #   32              10           0       10          2           2
        #   64               7           2        9          2           1
        #   128              6           1        7          1           3    (`left`, unused in this epoch)
        #
        # A row that moves on is padded to the next width, which costs a few tokens. The alternative, a short batch per bucket,
        # would give steps of different batch sizes.
        self._totals, carried = [], 0  # rows of each bucket, including rows moved to it
        for of_bucket in self._rows_of:
            self._totals.append(of_bucket + carried)
            carried = (of_bucket + carried) % batch_size
        # Batch numbers continue from bucket to bucket: 0 and 1 have width 32, 2 and 3 have 64, 4 has 128. `_ends` is [2, 4, 5].
        self._ends = np.cumsum([total // batch_size for total in self._totals])
        self.left = 0 if whole else carried
        self.batches = int(self._ends[-1]) + bool(whole and carried)
        if not self.batches:
            raise EmptyResultError(f"{carried} rows do not fill one batch of {batch_size}: use a smaller batch size")
        self._kept = 0, self._carry(0)
        self._block = max(1, _ROWS_AHEAD // batch_size)  # batches planned together
        self._planned: tuple[tuple[int, int], list[Batch]] = (-1, 0), []

    def __getitem__(self, step: int) -> Batch:
        """Return the batch of a step, counted over all epochs."""
        # No state is kept between steps, so step 1,000,000 is as cheap as step 0. The block below is only a cache.
        epoch, number = divmod(step, self.batches)
        # Evaluation only: the last, short batch of the remaining rows.
        if number == self._ends[-1]:
            return Batch(step, epoch, self.widths[-1], *self._carried(epoch)[-1])
        block, nth = divmod(number, self._block)
        if self._planned[0] != (epoch, block):
            self._planned = (epoch, block), self._plan(epoch, block * self._block)
        return self._planned[1][nth]

    def entries(self, rows: Ints) -> Ints:
        """Return the table indices of rows, for `find`."""
        return np.flatnonzero(np.isin(self._table, rows))

    def find(self, entries: Ints, epoch: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return where an epoch serves the rows at these table indices, sorted by step and place.

        Returns:
            Steps, places in the batch, row numbers and copy numbers, each [K].
        """
        # `__getitem__` computes the rows of a step. This method applies the inverse permutations in reverse order:
        # table entry -> served in this epoch? -> slot of the bucket -> batch -> step. Rows that move on are followed through
        # the wider buckets.
        found, size = [], self.batch_size
        late = np.zeros((3, 0), np.int64)  # the rows that move on [3, K]: position among them, row number, copy number
        for bucket, parts in enumerate(self._parts):
            here, first = list[Ints](), 0
            for number, part in enumerate(parts):
                mine = entries[(part.start <= entries) & (entries < part.start + part.size)]
                nth = mine - part.start
                if part.taken < part.size:
                    # Invert the rotation in `_rows`, to find the row's place in the share of this epoch. Places from
                    # `part.taken` on are not served in this epoch.
                    nth = unshuffled(nth, part.size, keys.key(self.seed, "share", bucket, number))
                    nth = (nth - epoch * part.taken) % part.size
                served = nth < part.taken
                rows = self._table[mine[served]].astype(np.int64)
                here.append(np.stack([first + nth[served], rows, np.full(len(rows), part.copy)]))
                first += part.taken
            late[0] += first
            all_here = np.concatenate([*here, late], 1)
            # Slots 0 to B - 1 form the bucket's first batch, and so on. Rows in slots beyond the last full batch move on.
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
        # 1. Find the batch of each step. A permutation of the epoch's batches mixes widths at random through the epoch.
        # 2. Find the bucket of each batch, and the slots of the bucket that form the batch.
        # 3. Find the rows in these slots, with one call per bucket for all steps of the block.
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
        """Return the result of `_carry`, cached for the last epoch."""
        if self._kept[0] != epoch:
            self._kept = epoch, self._carry(epoch)
        return self._kept[1]

    def _carry(self, epoch: int) -> list[tuple[Ints, Ints]]:
        """Return the rows, and their copy numbers, that move to each bucket. The last entry has the unused rows of the epoch."""
        carried = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for bucket, total in enumerate(self._totals):
            # These slots come after the last full batch. Each epoch permutes the slots differently, so over many epochs, every
            # row of a bucket moves on equally often. Rows of wide buckets are unused more often than rows of narrow buckets.
            positions = np.arange(total - total % self.batch_size, total)
            carried.append(self._rows(epoch, bucket, positions, carried[-1]))
        return carried

    def _rows(self, epoch: int, bucket: int, positions: Ints, carried: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
        """Return the rows, and their copy numbers, at these positions of a bucket in this epoch."""
        # Each epoch permutes the slots of the bucket. A permuted slot identifies a row: the first slots are the rows of the
        # first part, the next ones those of the second part, and so on. The last slots are the rows from the narrower bucket.
        positions = shuffled(positions, self._totals[bucket], keys.key(self.seed, "rows", epoch, bucket))
        rows, copies = np.empty_like(positions), np.empty_like(positions)
        first = 0
        for number, part in enumerate(self._parts[bucket]):
            inside = (first <= positions) & (positions < first + part.taken)
            nth = positions[inside] - first
            # If an epoch serves only some of the rows, the next epoch continues after them.
            if part.taken < part.size:
                nth = shuffled((epoch * part.taken + nth) % part.size, part.size, keys.key(self.seed, "share", bucket, number))
            rows[inside], copies[inside] = self._table[part.start + nth], part.copy
            first += part.taken
        late = positions >= first
        rows[late], copies[late] = (values[positions[late] - first] for values in carried)
        return rows, copies


def _buckets(
    lengths: npt.NDArray[Any],
    widths: tuple[int, ...],
    parts: Sequence[tuple[int, float]],
    groups: npt.NDArray[Any] | None,
) -> tuple[npt.NDArray[Any], list[list[_Part]]]:
    """Return the row numbers sorted by bucket and group, and the parts of each bucket."""
    table = np.empty(len(lengths), np.uint32 if len(lengths) < 1 << 32 else np.int64)
    ends, cells = np.cumsum([size for size, _ in parts]), len(widths) * len(parts)
    # A cell is a bucket and a group. `cell_of[n]` is the first cell of the bucket for rows of n tokens, in 16 bits if possible,
    # which NumPy sorts faster.
    cell_of = (np.searchsorted(widths, np.arange(widths[-1] + 1)) * len(parts)).astype(np.uint16 if cells < 1 << 16 else np.int64)

    def cells_of(first: int) -> npt.NDArray[Any]:
        """Return the cell of each row in the chunk that starts at row `first`."""
        last = min(first + _CHUNK_ROWS, len(lengths))
        if groups is None:  # directories are ranges of rows
            sizes = np.diff(np.clip([0, *ends], first, last))
            of_rows = np.repeat(np.arange(len(parts), dtype=cell_of.dtype), sizes)
        else:
            of_rows = groups[first:last].astype(cell_of.dtype)
        return np.asarray(cell_of[lengths[first:last]] + of_rows)

    # A counting sort in two passes: count the rows of each cell, then write each row number to the next free place of its cell.
    # It needs no memory beyond the table, in which a row takes 4 bytes.
    sizes = np.zeros(cells, np.int64)
    for first in range(0, len(lengths), _CHUNK_ROWS):
        sizes += np.bincount(cells_of(first), minlength=cells)
    filled = np.cumsum(sizes) - sizes
    starts = filled.reshape(len(widths), len(parts)).tolist()
    for first in range(0, len(lengths), _CHUNK_ROWS):
        of_rows = cells_of(first)
        counts = np.bincount(of_rows, minlength=cells)
        rows, stops = np.argsort(of_rows, kind="stable") + first, np.cumsum(counts)
        for cell in np.flatnonzero(counts).tolist():
            table[filled[cell] : filled[cell] + counts[cell]] = rows[stops[cell] - counts[cell] : stops[cell]]
        filled += counts
    of_bucket, weights = sizes.reshape(len(widths), len(parts)), [weight for _, weight in parts]
    return table, [_parts(starts[k], of_bucket, k, weights) for k in range(len(widths))]


def _parts(starts: list[int], sizes: Ints, bucket: int, weights: list[float]) -> list[_Part]:
    """Return the parts of a bucket.

    With weight 2.5, an epoch serves all rows of a group twice, and half of them a third time. Shares are rounded over all buckets
    together, so that the total of each directory or group is right.
    """
    parts = []
    for d, (start, weight) in enumerate(zip(starts, weights, strict=True)):
        size, before = int(sizes[bucket, d]), int(sizes[:bucket, d].sum())
        # Round the running sums. With share 0.5 and buckets of 3, 3 and 3 rows, an epoch should serve 4.5 rows. Rounding each
        # bucket separately serves 2 + 2 + 2 = 6. The running sums 1.5, 3 and 4.5 round to 2, 3 and 4, which is 2 + 1 + 1 = 4.
        share = weight - int(weight)
        taken = [size] * int(weight) + [round((before + size) * share) - round(before * share)]
        parts += [_Part(start, size, number, copy) for copy, number in enumerate(taken) if number]
    return parts

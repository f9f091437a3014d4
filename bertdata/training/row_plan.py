"""Compute which rows a step serves, as a pure function of the step number. So the step number is the complete state of the data.

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

_ROWS_AHEAD = 4096  # rows planned together: for a few rows, the overhead of NumPy calls exceeds the arithmetic
_CHUNK_ROWS = 1 << 20  # rows assigned to buckets at a time


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
        """Tokens of the padded batch, at least 1."""
        return max(1, len(self.rows) * self.width)


class _Part(NamedTuple):
    """Rows of one bucket and group: `size` entries of the table from `start`. An epoch serves `taken` of them.

    `copy` is the copy number of the rows that it serves.
    """

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
        parts: (rows, weight) of each directory, in order, or of each group.
        groups: The group of each row [N], if groups are not directories (mixture.py).
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
        groups: npt.NDArray[Any] | None = None,
        whole: bool = False,
    ) -> None:
        self.batch_size, self.widths, self.seed = batch_size, tuple(widths), seed
        if batch_size < 1 or list(self.widths) != sorted({*self.widths}) or not self.widths or self.widths[0] < 1:
            raise UsageError(f"batches of {batch_size} rows at widths {self.widths}. Use 1 row or more, and increasing widths")
        if lengths.max(initial=0) > self.widths[-1]:
            raise UsageError(f"rows have up to {lengths.max()} tokens: the last of the widths {self.widths} must hold them")
        # `_table` has all row numbers, sorted by bucket and, within a bucket, by group.
        # `_parts[k]` lists the slices of the table that belong to bucket k. No other state grows
        # with the number of rows.
        self._table, self._parts = _buckets(lengths, self.widths, parts or [(len(lengths), 1.0)], groups)
        self._rows_of = [sum(part.taken for part in bucket) for bucket in self._parts]
        # Batches of 4 rows, and buckets of 10, 7 and 6 rows at widths 32, 64 and 128:
        #
        #   bucket    own rows    moved in    total    batches    moved on
        #   32              10           0       10          2           2
        #   64               7           2        9          2           1
        #   128              6           1        7          1           3    (`left`, unused in this epoch)
        #
        # A row that moves on is padded to the next width, which costs a few tokens. The
        # alternative, a short batch per bucket, would change the batch size, and so the meaning of
        # a step.
        self._totals, carried = [], 0  # rows of each bucket, including rows moved to it
        for of_bucket in self._rows_of:
            self._totals.append(of_bucket + carried)
            carried = (of_bucket + carried) % batch_size
        # Batches are numbered through all buckets: here 0 and 1 have width 32, 2 and 3 have 64, 4
        # has 128. `_ends` is [2, 4, 5].
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
        # The whole state is `step`. Nothing is carried over from the step before, so step 1,000,000
        # is as cheap as step 0. The block below is only a cache.
        epoch, number = divmod(step, self.batches)
        # Evaluation only: the last, short batch of the rows left over by all buckets.
        if number == self._ends[-1]:
            return Batch(step, epoch, self.widths[-1], *self._carried(epoch)[-1])
        block, nth = divmod(number, self._block)
        if self._planned[0] != (epoch, block):
            self._planned = (epoch, block), self._plan(epoch, block * self._block)
        return self._planned[1][nth]

    def entries(self, rows: Ints) -> Ints:
        """Return the table indices of these rows, the input of `find`."""
        return np.flatnonzero(np.isin(self._table, rows))

    def find(self, entries: Ints, epoch: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the steps of an epoch that serve rows: steps, places in the batch, rows and copies, [K] each.

        This inverts `_rows` and `_plan` for these rows only.
        """
        # `__getitem__` goes from a step to its rows. This goes the other way, applying the inverse
        # of each permutation in reverse order: table entry -> served in this epoch? -> slot of the
        # bucket -> batch -> step. Rows that move on are followed through the wider buckets.
        found, size = [], self.batch_size
        late = np.zeros((3, 0), np.int64)  # [3, K] of the rows moving on: position among them, row, copy
        for bucket, parts in enumerate(self._parts):
            here, first = list[Ints](), 0
            for number, part in enumerate(parts):
                mine = entries[(part.start <= entries) & (entries < part.start + part.size)]
                nth = mine - part.start
                if part.taken < part.size:
                    # The inverse of the rotation in `_rows`: at which place of this epoch's share
                    # is the row? Places from `part.taken` on are not served in this epoch.
                    nth = unshuffled(nth, part.size, keys.key(self.seed, "share", bucket, number))
                    nth = (nth - epoch * part.taken) % part.size
                served = nth < part.taken
                rows = self._table[mine[served]].astype(np.int64)
                here.append(np.stack([first + nth[served], rows, np.full(len(rows), part.copy)]))
                first += part.taken
            late[0] += first
            all_here = np.concatenate([*here, late], 1)
            # Slot -> batch: slots 0 to B - 1 are the bucket's first batch, and so on. Slots beyond
            # the last full batch move on to the next bucket.
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
        # 1. Which batches do these steps serve? A permutation of all batches of the epoch mixes the
        #    widths, so that short and long batches alternate at random through the epoch.
        # 2. Which bucket is each batch from, and which slots of that bucket does it take?
        # 3. Which rows are in these slots? One call per bucket for all steps of the block.
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
            # The slots after the last full batch. The rows in them depend on the epoch, because the
            # permutation of slots does. Over many epochs, each row of a bucket is left out equally
            # often. Rows of wide buckets are left out more often than rows of narrow ones.
            positions = np.arange(total - total % self.batch_size, total)
            carried.append(self._rows(epoch, bucket, positions, carried[-1]))
        return carried

    def _rows(self, epoch: int, bucket: int, positions: Ints, carried: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
        """Return the rows, and their copy numbers, at these positions of a bucket in this epoch."""
        # A new permutation of the bucket's slots in each epoch. The permuted slot says where the
        # row is: slots below `taken` of the first part are rows of that part, then those of the
        # second part, and so on, and the last ones are the rows that moved in from the narrower
        # bucket.
        positions = shuffled(positions, self._totals[bucket], keys.key(self.seed, "rows", epoch, bucket))
        rows, copies = np.empty_like(positions), np.empty_like(positions)
        first = 0
        for number, part in enumerate(self._parts[bucket]):
            inside = (first <= positions) & (positions < first + part.taken)
            nth = positions[inside] - first
            # With a fractional share, each epoch continues where the last one ended, until all rows
            # have been served.
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
    """Return the rows in order of bucket and group, and the parts of each bucket."""
    table = np.empty(len(lengths), np.uint32 if len(lengths) < 1 << 32 else np.int64)
    ends, cells = np.cumsum([size for size, _ in parts]), len(widths) * len(parts)
    # `cell_of[n]` is the first cell of the bucket of a row of n tokens: one table look-up per row, in 16 bits if possible,
    # which NumPy sorts faster.
    cell_of = (np.searchsorted(widths, np.arange(widths[-1] + 1)) * len(parts)).astype(np.uint16 if cells < 1 << 16 else np.int64)

    def cells_of(first: int) -> npt.NDArray[Any]:
        """Return the cells of a chunk of rows."""
        last = min(first + _CHUNK_ROWS, len(lengths))
        if groups is None:  # directories are ranges of rows
            sizes = np.diff(np.clip([0, *ends], first, last))
            of_rows = np.repeat(np.arange(len(parts), dtype=cell_of.dtype), sizes)
        else:
            of_rows = groups[first:last].astype(cell_of.dtype)
        return np.asarray(cell_of[lengths[first:last]] + of_rows)

    # A counting sort in two passes: count the rows of each cell (a bucket and a group), then put each row where its cell
    # begins. It needs no memory beyond the table, in which a row takes 4 bytes.
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
    """Return which rows of a bucket an epoch serves, and how often.

    With weight 2.5, an epoch serves all rows twice, and half of them a third time.

    Shares are rounded over all buckets together, so that the total of a directory or group is right.
    """
    parts = []
    for d, (start, weight) in enumerate(zip(starts, weights, strict=True)):
        size, before = int(sizes[bucket, d]), int(sizes[:bucket, d].sum())
        # A running rounding: with share 0.5 and buckets of 3, 3 and 3 rows, an epoch should serve
        # 4.5 rows. Rounding each bucket separately makes 2 + 2 + 2 = 6. The running sums 1.5, 3 and
        # 4.5 round to 2, 3 and 4, and their differences are 2 + 1 + 1 = 4.
        share = weight - int(weight)
        taken = [size] * int(weight) + [round((before + size) * share) - round(before * share)]
        parts += [_Part(start, size, number, copy) for copy, number in enumerate(taken) if number]
    return parts

"""Plan the order of the rows of an epoch: an array, of which each step is a slice.

Rows are shuffled, sorted by length bucket, and cut into batches. Then the batches are shuffled. Rows that do not fill a batch
move to the next wider bucket, so an epoch leaves less than one batch of rows unused. With batches of 2 rows at widths 8 and 32:

    lengths of the rows         5  30   7   6  29  31   8
    shuffled rows               4   6   0   3   5   1   2
    sorted by bucket            6   0 | 3   2 | 4   5 | 1      the last row is unused in this epoch
    shuffled batches            3   2 | 4   5 | 6   0          at widths 8, 32, 8

    >>> plan = EpochPlan(np.array([5, 30, 7, 6, 29, 31, 8]), 2, widths=(8, 32), seed=1)
    >>> plan.batches, plan.left
    (3, 1)
    >>> sorted(plan[step].width for step in range(3))
    [8, 8, 32]

The order depends only on the seed and the epoch, so the step number is the complete state of the data. The first step of an epoch
computes the array: 8 CPU seconds and 124 MB for 30 million rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..dataset.rows import Shards
from ..errors import EmptyResultError, UsageError

Ints = npt.NDArray[np.int64]
_FEISTEL_ROUNDS = 8  # rounds of the Feistel network, four per half
_CHUNK_ROWS = 1 << 14  # rows shuffled and sorted at a time: their arrays of 128 KB stay in the cache of a core


def even_widths(longest: int, count: int = 4) -> tuple[int, ...]:
    """Return `count` evenly spaced widths up to the longest length, in multiples of 8, which suit tensor cores.

    >>> even_widths(128), even_widths(500), even_widths(16)
    ((32, 64, 96, 128), (128, 256, 376, 500), (8, 16))
    """
    return tuple(sorted({min(longest, math.ceil(longest * step / count / 8) * 8) for step in range(1, count + 1)}))


class Batch(NamedTuple):
    """A global batch: its step, epoch, width, row numbers [B], and copy numbers [B], 0 unless a weight serves rows repeatedly."""

    step: int
    epoch: int
    width: int
    rows: Ints
    copies: Ints

    def share(self, rank: int, ranks: int) -> Batch:
        """Return the rows of this batch that a rank computes."""
        mine = slice(rank * len(self.rows) // ranks, (rank + 1) * len(self.rows) // ranks)
        return self._replace(rows=self.rows[mine], copies=self.copies[mine])


class _Part(NamedTuple):
    """Rows of a directory that an epoch serves, as copy number `copy`: `taken` of the `size` rows from row `first` on."""

    first: int
    size: int
    taken: int
    copy: int


class EpochPlan:
    """The batches of every epoch. They are the same on every rank and in every worker.

    Args:
        lengths: Number of tokens of each row [N].
        batch_size: Rows of a global batch.
        widths: Widths that batches are padded to, increasing. The last one must be at least the longest row.
        seed: Seed of the order.
        parts: Number of rows and weight of each directory, in order. With weight 2.5, an epoch serves each row twice, and half of
            the rows a third time, in turns.
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
        whole: bool = False,
    ) -> None:
        self.batch_size, self.widths, self.seed, self.whole = batch_size, tuple(widths), seed, whole
        if batch_size < 1 or list(self.widths) != sorted({*self.widths}) or not self.widths or self.widths[0] < 1:
            raise UsageError(f"batches of {batch_size} rows at widths {self.widths}. Use 1 row or more, and increasing widths")
        if lengths.max(initial=0) > self.widths[-1]:
            raise UsageError(f"rows have up to {lengths.max()} tokens, more than the last of the widths {self.widths}")
        self._lengths = lengths
        self._bucket_of = np.searchsorted(self.widths, np.arange(self.widths[-1] + 1)).astype(np.uint16)  # by length
        self._parts = _parts(parts or [(len(lengths), 1.0)])
        self._ends = np.cumsum([part.taken for part in self._parts])  # of the parts, in the entries of an epoch
        self._entries = int(self._ends[-1]) if self._parts else 0
        self.left = 0 if whole else self._entries % batch_size
        self.batches = -(-self._entries // batch_size) if whole else self._entries // batch_size
        if not self.batches:
            raise EmptyResultError(f"{self._entries} rows do not fill one batch of {batch_size}: use a smaller batch size")
        none = np.zeros(0, np.int64)
        self._planned: tuple[int, npt.NDArray[Any], npt.NDArray[Any], Ints] = -1, none, none, none

    def __getitem__(self, step: int) -> Batch:
        """Return the batch of a step, counted over all epochs."""
        epoch, number = divmod(step, self.batches)
        entries, buckets, order = self._epoch(epoch)
        batch = int(order[number])
        rows, copies = self._rows(entries[batch * self.batch_size : (batch + 1) * self.batch_size], epoch)
        return Batch(step, epoch, self.widths[int(buckets[batch])], rows, copies)

    def _epoch(self, epoch: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Ints]:
        """Return the entries of an epoch, sorted by bucket; the bucket of each batch; and the batch of each step."""
        # An entry is a number below the sum of the weighted rows. It stands for a row and its copy number, so that this one array
        # is all that an epoch stores.
        if self._planned[0] != epoch:
            sizes = np.zeros(len(self.widths), np.int64)
            for start in range(0, self._entries, _CHUNK_ROWS):
                chunk = np.arange(start, min(start + _CHUNK_ROWS, self._entries))
                sizes += np.bincount(self._buckets(chunk, epoch), minlength=len(sizes))
            # A stable counting sort of the shuffled entries: the next entry of bucket k goes to `filled[k]`. An array of a batch
            # may begin in one bucket and end in the next, whose width it gets. So the rows that fill no batch move on.
            ends = np.cumsum(sizes)
            filled = ends - sizes
            entries = np.empty(self._entries, np.uint32 if self._entries < 1 << 32 else np.int64)
            for shuffled_chunk in self._shuffled(epoch):
                buckets = self._buckets(shuffled_chunk, epoch)
                for bucket in np.flatnonzero(np.bincount(buckets)).tolist():
                    inside = shuffled_chunk[buckets == bucket]
                    entries[filled[bucket] : filled[bucket] + len(inside)] = inside
                    filled[bucket] += len(inside)
            last = np.minimum((np.arange(self.batches) + 1) * self.batch_size, self._entries) - 1  # entry of each batch
            full = self._entries // self.batch_size
            order = shuffled(np.arange(full), full, keys.key(self.seed, "batches", epoch))
            # The last, short batch of an evaluation stays the last.
            order = np.append(order, np.arange(full, self.batches))
            self._planned = epoch, entries, np.searchsorted(ends, last, "right"), order
        return self._planned[1:]

    def _shuffled(self, epoch: int) -> Iterator[Ints]:
        """Yield the entries of an epoch in random order, in chunks."""
        key = keys.key(self.seed, "rows", epoch)
        for start in range(0, self._entries, _CHUNK_ROWS):
            yield shuffled(np.arange(start, min(start + _CHUNK_ROWS, self._entries)), self._entries, key)

    def _buckets(self, entries: Ints, epoch: int) -> npt.NDArray[Any]:
        """Return the length bucket of each entry."""
        return np.asarray(self._bucket_of[self._lengths[self._rows(entries, epoch)[0]]])

    def _rows(self, entries: npt.NDArray[Any], epoch: int) -> tuple[Ints, Ints]:
        """Return the rows and the copy numbers of entries of an epoch."""
        if len(self._parts) == 1 and self._parts[0].taken == len(self._lengths):
            return entries.astype(np.int64), np.zeros(len(entries), np.int64)
        rows, copies = np.empty((2, len(entries)), np.int64)
        of_entries = np.searchsorted(self._ends, entries, "right")
        for number in np.unique(of_entries).tolist():
            part, inside = self._parts[number], of_entries == number
            nth = entries[inside].astype(np.int64) - (self._ends[number] - part.taken)
            if part.taken < part.size:  # a share of the rows: the next epoch continues after it
                nth = shuffled((epoch * part.taken + nth) % part.size, part.size, keys.key(self.seed, "share", number))
            rows[inside], copies[inside] = part.first + nth, part.copy
        return rows, copies


def _parts(directories: Sequence[tuple[int, float]]) -> list[_Part]:
    """Return the parts of an epoch that serve at least one row.

    >>> _parts([(100, 0.25), (30, 2.5)])  # doctest: +NORMALIZE_WHITESPACE
    [_Part(first=0, size=100, taken=25, copy=0), _Part(first=100, size=30, taken=30, copy=0),
     _Part(first=100, size=30, taken=30, copy=1), _Part(first=100, size=30, taken=15, copy=2)]
    """
    parts, first = [], 0
    for size, weight in directories:
        taken = [size] * int(weight) + [round(size * (weight - int(weight)))]
        parts += [_Part(first, size, count, copy) for copy, count in enumerate(taken) if count]
        first += size
    return parts


def plan_of(shards: Shards, batch_size: int, *, seed: int, widths: Sequence[int] = (), whole: bool = False) -> EpochPlan:
    """Return the plan of the rows of shards. The default widths are `even_widths`, or the longest row for packed rows."""
    default = [shards.max_seq_length] if shards.packed else even_widths(shards.max_seq_length)
    parts = list(zip(shards.rows, shards.weights, strict=True))
    return EpochPlan(shards.lengths, batch_size, widths=widths or default, seed=seed, parts=parts, whole=whole)


def shuffled(positions: Ints, size: int, key: int) -> Ints:
    """Apply a random permutation of 0 to `size` - 1, chosen by `key`, to each of the positions: of any size, in any chunks.

    Black and Rogaway 2002, "Ciphers with arbitrary finite domains": a Feistel network over a x b >= N values, applied again while
    the result is N or more.

    >>> sorted(shuffled(np.arange(7), 7, 1).tolist())
    [0, 1, 2, 3, 4, 5, 6]
    """
    # Write each number as (left, right) = divmod(number, b), with left < a and right < b. A round adds a hash of one half to the
    # other half, modulo its size. A round can be undone by subtracting the same hash, so any number of rounds is a permutation of
    # the a * b numbers, whatever the hash is.
    #
    # To permute 7 numbers: a = 3, b = 3, so the network permutes 9. If 5 maps to 8, which is too large, apply the network to 8
    # again, until the result is below 7. Because the network is a permutation, this walk must come back into the range, and two
    # inputs never end at the same result. As a * b is only a little larger than `size`, few numbers need a second round trip.
    a = math.isqrt(max(size - 1, 0)) + 1
    b = -(-size // a)
    rounds = keys.stream(key, _FEISTEL_ROUNDS)
    values = np.array(positions, np.int64)
    outside = np.arange(len(values))  # values that are not in range yet
    while len(outside):
        left = values[outside] // b
        right = values[outside] - left * b
        for number in range(0, _FEISTEL_ROUNDS, 2):  # x mod a for a sum x < 2a: subtract a if needed, which is faster than %
            left += keys.below(keys.at(rounds[number], right), a)
            left -= a * (left >= a)
            right += keys.below(keys.at(rounds[number + 1], left), b)
            right -= b * (right >= b)
        # Only the values that are still too large go through the network again.
        values[outside] = left * b + right
        outside = outside[values[outside] >= size]
    return values

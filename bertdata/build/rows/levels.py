"""Two levels of buckets, where one would give too many small pieces: each about the root of their number.

    tasks 0 … 624,999   ── a piece for each of 316 groups of buckets ──►  a spill file each
    791 tasks of a group                                              ──►  a merged file: a piece for each bucket of the group
    791 merged files    ── a piece each ──►  a bucket

With T tasks and B buckets there are T · √B + √T · B pieces, instead of T · B.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from ...dataset import shards
from ...io.files import to_path
from .buckets import SPILL, Layout, Ref, gather, spill_name

__all__ = ["Levels", "Merge"]

_ONE_LEVEL = 1 << 22  # tasks times buckets: that many pieces cost as much as a third of the work on a disk


class Levels(NamedTuple):
    """How `buckets` are put into `groups`, and tasks into blocks of `together`; with one level each bucket is a group."""

    buckets: int
    groups: int
    together: int

    @classmethod
    def of(cls, tasks: int, buckets: int) -> Levels:
        """Return two levels where there would be too many pieces, or else one.

        >>> Levels.of(1600, 1600), Levels.of(625_000, 99_999)
        (Levels(buckets=1600, groups=1600, together=0), Levels(buckets=99999, groups=317, together=791))
        """
        groups, together = math.isqrt(buckets) + 1, math.isqrt(tasks) + 1
        if tasks * buckets <= _ONE_LEVEL or 2 * groups > buckets:
            return cls(buckets, buckets, 0)
        return cls(buckets, groups, together)

    @property
    def are_two(self) -> bool:
        """Whether pieces of tasks are merged before they come to buckets."""
        return self.together > 0

    def group(self, bucket: int) -> int:
        """Return the group of a bucket."""
        return bucket * self.groups // self.buckets

    def of_task(self, item: tuple[int, Ref]) -> tuple[int, Ref]:
        """Put a task's reference for a group under the number of the merged file that its documents go to."""
        group, ref = item
        return ref[0] // self.together * self.groups + group, ref


class Merge:
    """Merge what some tasks have for a group of buckets into one file, by bucket; yield a reference for each bucket."""

    def __init__(self, root: str, layout: Layout, levels: Levels) -> None:
        self._root, self._layout, self._levels = root, layout, levels

    def __call__(self, item: tuple[int, Iterable[Ref]]) -> Iterator[tuple[int, Ref]]:
        number, refs = item
        by_bucket: dict[int, list[dict[str, object]]] = {}
        if number < self._levels.groups:  # of the first tasks: so that each bucket exists
            wanted = (b for b in range(self._levels.buckets) if self._levels.group(b) == number)
            by_bucket = {bucket: [] for bucket in wanted}
        for document in sorted(gather(self._root, refs), key=lambda document: (document.task, document.row)):
            by_bucket.setdefault(self._layout.bucket(document.id), []).append(document._asdict())
        full = [bucket for bucket in sorted(by_bucket) if by_bucket[bucket]]
        batches = (pa.RecordBatch.from_pylist(by_bucket[bucket], SPILL) for bucket in full)
        _, pieces = shards.write_pieces(to_path(self._root), spill_name(number, merged=True), batches)
        for bucket in by_bucket:
            if not by_bucket[bucket]:
                yield bucket, (number, -1, 0, 0)
        for bucket, piece in zip(full, pieces, strict=True):
            yield bucket, (number, *piece)

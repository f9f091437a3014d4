"""Plan two levels of buckets, where one would give too many small record batches: each about the root of their number.

    tasks 0 … 624,999   ── a batch for each of 159 groups of buckets ──►  a spill file each
    791 tasks, a block  ── their batches for a group ──►  a merged file: a batch for each bucket of the group
    791 merged files    ── a batch each ──►  a bucket

With T tasks and B buckets there are T · √B / 2 + √T · B batches, instead of T · B.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

__all__ = ["Levels"]

_ONE_LEVEL = 1 << 22  # tasks times buckets: that many batches cost as much as a third of the work on a disk


class Levels(NamedTuple):
    """How `buckets` are put into `groups`, and tasks into blocks of `together`; with one level each bucket is a group."""

    buckets: int
    groups: int
    together: int

    @classmethod
    def of(cls, tasks: int, buckets: int) -> Levels:
        """Return two levels where there would be too many batches, or else one.

        Of groups there are half the root: a task has less for one than a block of tasks has for a bucket.

        >>> Levels.of(1600, 1600), Levels.of(625_000, 99_999)
        (Levels(buckets=1600, groups=1600, together=0), Levels(buckets=99999, groups=159, together=791))
        """
        groups, together = math.isqrt(buckets) // 2 + 1, math.isqrt(tasks) + 1
        if tasks * buckets <= _ONE_LEVEL or 4 * groups > buckets:
            return cls(buckets, buckets, 0)
        return cls(buckets, groups, together)

    @property
    def are_two(self) -> bool:
        """Whether batches of tasks are merged before they come to buckets."""
        return self.together > 0

    def group(self, bucket: Any) -> Any:
        """Return the group of a bucket, or of each of an array of them."""
        return bucket * self.groups // self.buckets

    def merged(self, task: int, group: int) -> int:
        """Return the number of the merged file between a group of buckets and the block of tasks that a task is in."""
        return task // self.together * self.groups + group

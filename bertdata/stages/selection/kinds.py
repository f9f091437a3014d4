"""Store the source of each task as runs. Tasks of a source are consecutive, so the size does not depend on the number of
tasks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate, groupby
from typing import NamedTuple

__all__ = ["Kinds"]


class Kinds(NamedTuple):
    """The sources of tasks, in order, and the end of each source's run of tasks.

    >>> kinds = Kinds.of(["wikipedia"] * 9 + ["books"] * 2)
    >>> kinds, kinds.kind(8), kinds.kind(9), list(kinds.tasks("books"))
    (Kinds(names=('wikipedia', 'books'), ends=(9, 11)), 'wikipedia', 'books', [9, 10])
    """

    names: tuple[str, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, kinds: Iterable[str]) -> Kinds:
        """Collect the sources of tasks into runs."""
        runs = [(name, sum(1 for _ in run)) for name, run in groupby(kinds)]
        return cls(tuple(name for name, _ in runs), tuple(accumulate(count for _, count in runs)))

    @property
    def total(self) -> int:
        """Return the number of tasks."""
        return (0, *self.ends)[-1]

    def kind(self, task: int) -> str:
        """Return the source of a task."""
        return self.names[bisect_right(self.ends, task)]

    def tasks(self, source: str = "") -> list[int]:
        """List the tasks of a source, or all tasks."""
        starts = (0, *self.ends)
        runs = zip(self.names, starts, self.ends, strict=False)
        return [task for name, start, end in runs if source in ("", name) for task in range(start, end)]

"""Stop a quick trial when it has its documents: an equal part from the beginning of each task.

So it neither reads whole files nor draws from all of their documents, as a sample does.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["limit", "quota"]

T = TypeVar("T")


def limit(tasks: list[T], most: int) -> list[T]:
    """Return the tasks that read something: all, or as many as there are to be documents, evenly spaced.

    >>> limit(list("abcdef"), 0), limit(list("abcdef"), 3)
    (['a', 'b', 'c', 'd', 'e', 'f'], ['b', 'd', 'f'])
    """
    return [task for number, task in enumerate(tasks) if quota(number, len(tasks), most)] if most else tasks


def quota(number: int, tasks: int, most: int) -> int:
    """Return how many documents a task may have.

    >>> [quota(number, 4, 10) for number in range(4)]
    [2, 3, 2, 3]
    """
    return most * (number + 1) // tasks - most * number // tasks

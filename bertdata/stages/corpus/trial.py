"""Stop a quick trial when it has enough documents: an equal number from the beginning of each task.

Unlike a sample, a trial does not read complete files and does not draw from all documents.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["limit", "quota"]

T = TypeVar("T")


def limit(tasks: list[T], most: int) -> list[T]:
    """Return the tasks that a trial reads: all of them, or at most one per document, evenly spaced.

    >>> limit(list("abcdef"), 0), limit(list("abcdef"), 3)
    (['a', 'b', 'c', 'd', 'e', 'f'], ['b', 'd', 'f'])
    """
    return [task for number, task in enumerate(tasks) if quota(number, len(tasks), most)] if most else tasks


def quota(number: int, tasks: int, most: int) -> int:
    """Return the maximum number of documents of a task.

    >>> [quota(number, 4, 10) for number in range(4)]
    [2, 3, 2, 3]
    """
    return most * (number + 1) // tasks - most * number // tasks

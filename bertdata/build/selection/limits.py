"""Leave exactly so many words of documents, those with the smallest keys first; the last one is cut to what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from . import mixture
from .duplicates import Claims

__all__ = ["Items", "limited"]

# Yields each task, its claims, and how many words of each are left.
Items = Callable[[], Iterator[tuple[int, Claims, npt.NDArray[np.int64]]]]


def limited(items: Items, limit: int, tasks: list[int]) -> Items:
    """Leave `limit` words of the documents of `tasks`: those with the smallest keys, and the first words of the next one."""
    limited_tasks = frozenset(tasks)
    end = mixture.cut(lambda: ((claims.high, words) for task, claims, words in items() if task in limited_tasks), limit)
    if end == mixture.ALL:
        return items

    def admitted() -> Iterator[tuple[int, Claims, npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
        before = 0
        for task, claims, words in items():
            chosen = end.admits(claims.high, before) if task in limited_tasks else np.ones(len(words), bool)
            before += end.equals(claims.high) if task in limited_tasks else 0
            yield task, claims, words, chosen

    used, key, cut_at = 0, 1 << 64, (-1, -1)
    for task, claims, words, chosen in admitted():
        used += int(words[chosen].sum()) if task in limited_tasks else 0
        out = np.flatnonzero(~chosen & (words > 0))
        if len(out) and int(claims.high[out].min()) < key:
            first = out[int(np.argmin(claims.high[out]))]
            key, cut_at = int(claims.high[first]), (task, int(claims.row[first]))

    def cut() -> Iterator[tuple[int, Claims, npt.NDArray[np.int64]]]:
        for task, claims, words, chosen in admitted():
            kept = np.where(chosen, words, 0)
            if task == cut_at[0]:
                kept[claims.row == cut_at[1]] = limit - used
            yield task, claims, kept

    return cut

"""Keep an exact number of words: the documents with the smallest keys, the last one cut to fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from . import mixture
from .claims import Columns

__all__ = ["Items", "limited"]

# Yields each task, its claims with columns `key` and `row`, and the number of words to keep of each.
Items = Callable[[], Iterator[tuple[int, Columns, npt.NDArray[np.int64]]]]


def limited(items: Items, limit: int, tasks: list[int]) -> Items:
    """Keep `limit` words of the documents of `tasks`: those with the smallest keys, and the first words of the next one."""
    limited_tasks = frozenset(tasks)
    end = mixture.cut(lambda: ((claims["key"], words) for task, claims, words in items() if task in limited_tasks), limit)
    if end == mixture.ALL:
        return items

    def admitted() -> Iterator[tuple[int, Columns, npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
        before = 0
        for task, claims, words in items():
            chosen = end.admits(claims["key"], before) if task in limited_tasks else np.ones(len(words), bool)
            before += end.equals(claims["key"]) if task in limited_tasks else 0
            yield task, claims, words, chosen

    # The documents below the cut have at most `limit` words together. The one with the next larger
    # key is cut to the remaining words, so that the number is exact. Find it in one more pass.
    used, key, cut_at = 0, 1 << 64, (-1, -1)
    for task, claims, words, chosen in admitted():
        used += int(words[chosen].sum()) if task in limited_tasks else 0
        out = np.flatnonzero(~chosen & (words > 0))
        if len(out) and int(claims["key"][out].min()) < key:
            first = out[int(np.argmin(claims["key"][out]))]
            key, cut_at = int(claims["key"][first]), (task, int(claims["row"][first]))

    def cut() -> Iterator[tuple[int, Columns, npt.NDArray[np.int64]]]:
        for task, claims, words, chosen in admitted():
            kept = np.where(chosen, words, 0)
            if task == cut_at[0]:
                kept[claims["row"] == cut_at[1]] = limit - used
            yield task, claims, kept

    return cut

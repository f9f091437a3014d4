"""Keep an exact number of words: the documents with the smallest keys, the last one cut to fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from . import mixture
from .claims import Columns

__all__ = ["Items", "Members", "limited"]

# Yields each task, its claims with columns `key` and `row`, and the number of words to keep of each.
Items = Callable[[], Iterator[tuple[int, Columns, npt.NDArray[np.int64]]]]
Members = Callable[[int, Columns], npt.NDArray[np.bool_]]  # the claims of a task that a limit is for


def limited(items: Items, limit: int, members: Members, cuts_last: bool) -> Items:
    """Keep `limit` words of the documents that `members` selects: those with the smallest keys.

    If `cuts_last` is set, also keep the first words of the next one, so that the number is exact.
    """

    def ours() -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]]:
        for task, claims, words in items():
            which = members(task, claims)
            yield claims["key"][which], words[which]

    end = mixture.cut(ours, limit)
    if end == mixture.ALL:
        return items

    def admitted() -> Iterator[tuple[int, Columns, npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
        before = 0
        for task, claims, words in items():
            which, chosen = members(task, claims), np.ones(len(words), bool)
            chosen[which] = end.admits(claims["key"][which], before)
            before += end.equals(claims["key"][which])
            yield task, claims, words, chosen

    # The documents below the cut have at most `limit` words together. The one with the next larger
    # key is cut to the remaining words, so that the number is exact. Find it in one more pass.
    used, key, cut_at = 0, 1 << 64, (-1, -1)
    for task, claims, words, chosen in admitted() if cuts_last else ():
        used += int(words[chosen & members(task, claims)].sum())
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

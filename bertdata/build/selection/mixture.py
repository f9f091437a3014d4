"""Choose documents by a key that is hashed from their names: as many as are asked for, or as much text of each source.

What has the smaller key is chosen first, so a larger choice holds a smaller one, and neither depends on the order of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import UsageError

__all__ = ["ALL", "Cut", "cut", "scaled", "targets"]

Keys = npt.NDArray[np.uint64]
Sizes = npt.NDArray[np.int64]
_BINS = 16  # bits of the keys by which sizes are counted first


class Cut(NamedTuple):
    """The end of what is chosen: keys below `key`, and of those that equal it the first `equal`."""

    key: int
    equal: int

    def admits(self, keys: Keys, before: int = 0) -> npt.NDArray[np.bool_]:
        """Tell which keys are chosen; `before` equal ones came before these.

        >>> Cut(7, 1).admits(np.array([3, 7, 7, 9], np.uint64)).tolist()
        [True, True, False, False]
        """
        if self.key >= 1 << 64:
            return np.ones(len(keys), bool)
        same = keys == np.uint64(self.key)
        return np.asarray((keys < np.uint64(self.key)) | (same & (np.cumsum(same) + before <= self.equal)))

    def equals(self, keys: Keys) -> int:
        """Count the keys that equal the cut's, of which a number is chosen, over all tasks: `before` of those that follow.

        >>> Cut(7, 1).equals(np.array([3, 7, 7, 9], np.uint64)), ALL.equals(np.array([3], np.uint64))
        (2, 0)
        """
        return int(np.count_nonzero(keys == np.uint64(self.key))) if self.key < 1 << 64 else 0


ALL = Cut(1 << 64, 0)


def cut(parts: Callable[[], Iterator[tuple[Keys, Sizes]]], limit: int) -> Cut:
    """Return the cut below which items, those with the smallest keys first, have sizes of at most `limit` together.

    `parts` yields the items in parts, in the same order each time; two passes are made, and what has the first bits of the cut
    is all that is held in memory.

    >>> items = [(np.array([5, 1], np.uint64), np.array([10, 20])), (np.array([3], np.uint64), np.array([30]))]
    >>> cut(lambda: iter(items), 50), cut(lambda: iter(items), 60).admits(items[0][0]).tolist()
    (Cut(key=5, equal=0), [True, True])
    """
    shift = np.uint64(64 - _BINS)
    counts = np.zeros(1 << _BINS, np.int64)
    for keys, sizes in parts():
        np.add.at(counts, (keys >> shift).astype(np.int64), sizes)
    sums = np.cumsum(counts)
    if sums[-1] <= limit:
        return ALL
    bin_of_cut = int(np.searchsorted(sums, limit, side="right"))
    inside = [(keys[in_bin], sizes[in_bin]) for keys, sizes in parts() if (in_bin := keys >> shift == bin_of_cut).any()]
    keys, sizes = (np.concatenate(columns) for columns in zip(*inside, strict=True))
    order = np.argsort(keys, kind="stable")
    keys, sizes = keys[order], sizes[order]
    first_out = int(np.searchsorted(np.cumsum(sizes) + (sums[bin_of_cut] - counts[bin_of_cut]), limit, side="right"))
    key = int(keys[first_out])
    return Cut(key, int(np.count_nonzero(keys[:first_out] == keys[first_out])))


def scaled(keys: Keys, within: Cut) -> Keys:
    """Spread keys below a cut over all 64 bits, in order, so that keys of several cuts compare."""
    share = keys.astype(np.float64) / float(within.key)
    return np.asarray(np.minimum(share * 2.0**53, 2.0**53 - 1).astype(np.uint64) << np.uint64(11), np.uint64)


def targets(shares: Mapping[str, float], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return how much of each source makes the mixture, with as much text as there can be: one source is used whole.

    >>> targets({"wikipedia": 3, "books": 1}, {"wikipedia": 900, "books": 100})
    {'wikipedia': 300, 'books': 100}
    """
    if empty := [source for source in shares if not sizes.get(source)]:
        raise UsageError(
            f"`mix` asks for {empty[0]}, and no document of it is left: take it out of `mix`, or look at the input", field="mix"
        )
    total = min(sizes[source] / share for source, share in shares.items())
    return {source: min(sizes[source], round(total * share)) for source, share in shares.items()}

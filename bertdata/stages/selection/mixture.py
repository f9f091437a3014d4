"""Choose documents by a key that is hashed from their names: a number of documents, or an amount of text per source
or language.

Smaller keys are chosen first. A larger choice therefore includes a smaller one, and the order of the input does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import UsageError

__all__ = ["ALL", "NONE", "Cut", "cut", "scaled", "targets"]

Keys = npt.NDArray[np.uint64]
Sizes = npt.NDArray[np.int64]
_BIN_BITS = 16  # leading key bits used to count sizes in the first pass


class Cut(NamedTuple):
    """The upper end of a choice: keys below `key`, and the first `equal` keys that equal it."""

    key: int
    equal: int

    def admits(self, keys: Keys, before: int = 0) -> npt.NDArray[np.bool_]:
        """Return a mask of the chosen keys. `before` is the number of keys equal to the cut that preceded these.

        >>> Cut(7, 1).admits(np.array([3, 7, 7, 9], np.uint64)).tolist()
        [True, True, False, False]
        """
        if self.key >= 1 << 64:
            return np.ones(len(keys), bool)
        same = keys == np.uint64(self.key)
        return np.asarray((keys < np.uint64(self.key)) | (same & (np.cumsum(same) + before <= self.equal)))

    def equals(self, keys: Keys) -> int:
        """Count the keys equal to the cut's key. The sum over earlier tasks is `before` of the next task.

        >>> Cut(7, 1).equals(np.array([3, 7, 7, 9], np.uint64)), ALL.equals(np.array([3], np.uint64))
        (2, 0)
        """
        return int(np.count_nonzero(keys == np.uint64(self.key))) if self.key < 1 << 64 else 0


ALL, NONE = Cut(1 << 64, 0), Cut(0, 0)


def cut(parts: Callable[[], Iterator[tuple[Keys, Sizes]]], limit: int) -> Cut:
    """Return the largest cut at which the chosen items have a total size of at most `limit`.

    `parts` yields the items in parts and is called twice. Only the items that share the first bits of the cut
    are in memory at once.

    >>> items = [(np.array([5, 1], np.uint64), np.array([10, 20])), (np.array([3], np.uint64), np.array([30]))]
    >>> cut(lambda: iter(items), 50), cut(lambda: iter(items), 60).admits(items[0][0]).tolist()
    (Cut(key=5, equal=0), [True, True])
    """
    # Finding the cut needs no sort of all keys. Pass 1 adds up sizes by the first 16 bits of the
    # key, 65,536 bins. The running sum shows in which bin the limit is reached. Pass 2 sorts the
    # keys of that bin only:
    #
    #   limit 50       bin 0    bin 1    bin 2
    #   sizes             20       25       40
    #   running sum       20       45       85      the cut is in bin 2, and 5 are left for it
    shift = np.uint64(64 - _BIN_BITS)
    counts = np.zeros(1 << _BIN_BITS, np.int64)
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
    """Scale keys below a cut to all 64 bits, keeping their order, so that keys of several cuts are comparable."""
    # A source with a cut at a tenth of the range has keys in [0, 0.1). Divided by the cut, they are
    # uniform in [0, 1), like those of any other source.
    share = keys.astype(np.float64) / float(max(1, within.key))
    return np.asarray(np.minimum(share * 2.0**53, 2.0**53 - 1).astype(np.uint64) << np.uint64(11), np.uint64)


def targets(shares: Mapping[str, float], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return how much of each group to use for the largest possible mixture. One group is used completely.

    >>> targets({"wikipedia": 3, "books": 1}, {"wikipedia": 900, "books": 100})
    {'wikipedia': 300, 'books': 100}
    """
    if empty := [source for source in shares if not sizes.get(source)]:
        raise UsageError(
            f"`mix` asks for {empty[0]}, and no document of it is left: take it out of `mix`, or look at the input", field="mix"
        )
    # Each source alone would allow a mixture of size / share. The smallest of these is the largest
    # mixture for which no source runs out: 900 / 3 = 300 and 100 / 1 = 100, so 100 per share.
    total = min(sizes[source] / share for source, share in shares.items())
    return {source: min(sizes[source], round(total * share)) for source, share in shares.items()}

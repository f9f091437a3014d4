"""Find the positions of segments in a corpus of ids.

The hash of a segment is the sum of id * M ** position modulo 2 ** 64, so the hash of any segment follows from prefix sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Hashes", "Index"]

_M = 0x9E3779B97F4A7C15  # odd, so that it has an inverse
_GRAM = 8  # ids at a segment's start used for lookup
_MAX_POSITIONS = 1000  # maximum positions of a gram; a segment with a more frequent start is not found
Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


class Hashes:
    """Prefix hashes of ids [T]."""

    def __init__(self, ids: npt.NDArray[Any]) -> None:
        powers, inverses = (np.full(len(ids) + 1, base, np.uint64) for base in (_M, pow(_M, -1, 1 << 64)))
        powers[0] = inverses[0] = 1
        self._powers, self._inverses = np.multiply.accumulate(powers), np.multiply.accumulate(inverses)
        products = (ids.astype(np.uint64) + np.uint64(1)) * self._powers[:-1]
        self._sums = np.append(np.zeros(1, np.uint64), np.cumsum(products, dtype=np.uint64))

    def of(self, start: Ints, length: Ints | int) -> Bits:
        """Hash the segments ``ids[start:start + length]``."""
        return np.asarray((self._sums[start + length] - self._sums[start]) * self._inverses[start])


class Index:
    """The positions of every gram of a text [T]."""

    def __init__(self, text: npt.NDArray[Any]) -> None:
        self.size, self.hashes = len(text), Hashes(text)
        self._sorted: dict[int, tuple[Bits, Ints]] = {}

    def _grams(self, length: int) -> tuple[Bits, Ints]:
        if length not in self._sorted:
            grams = self.hashes.of(np.arange(self.size - length + 1), length)
            order = np.argsort(grams, kind="stable")
            self._sorted[length] = grams[order], order
        return self._sorted[length]

    def find(self, rows: Hashes, start: Ints, length: Ints) -> tuple[Ints, Ints]:
        """Find segments of rows. Return (segment, position) for all positions, in order of segments."""
        found: list[tuple[Ints, Ints]] = []
        for size in np.unique(np.minimum(length, _GRAM)).tolist():
            which = np.flatnonzero(np.minimum(length, _GRAM) == size)
            grams, order = self._grams(size)
            wanted = rows.of(start[which], size)
            low, high = np.searchsorted(grams, wanted), np.searchsorted(grams, wanted, "right")
            count = np.where(high - low > _MAX_POSITIONS, 0, high - low)
            segment = np.repeat(which, count)
            within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
            position = order[np.repeat(low, count) + within]
            fits = position + length[segment] <= self.size
            segment, position = segment[fits], position[fits]
            same = self.hashes.of(position, length[segment]) == rows.of(start[segment], length[segment])
            found.append((segment[same], position[same]))
        segment, position = (np.concatenate(part) for part in zip(*found, strict=True))
        by = np.lexsort((position, segment))
        return segment[by], position[by]

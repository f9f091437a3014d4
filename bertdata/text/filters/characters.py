"""Text as an array of code points, and what Unicode says of each."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LIMIT", "WINDOW", "categories", "codes"]

LIMIT = 0x323B0  # code points from here on, which are no letters, count as this one
WINDOW = 1 << 18  # characters that are looked at together, so that a long text takes no more memory than this


def codes(text: str) -> npt.NDArray[Any]:
    """Return the code points of a text, none over `LIMIT`.

    >>> codes("tea").tolist(), codes("茶").tolist()
    ([116, 101, 97], [33590])
    """
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).clip(max=LIMIT)


@cache
def categories() -> npt.NDArray[np.str_]:
    """Return the first letter of each code point's general category: L letters, M marks, N numbers, P punctuation, …"""
    names = "".join(map(unicodedata.category, map(chr, range(LIMIT + 1))))  # of two letters each
    return np.array([names[::2]]).view("U1")

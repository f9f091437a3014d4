"""Text as an array of code points, and what Unicode says of each."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DIGIT", "LETTER", "LETTERS_END", "OTHER", "SIGN", "WINDOW_CHARS", "codes", "kinds"]

LETTERS_END = 0x323B0  # code points from here on are not letters and count as this one
WINDOW_CHARS = 1 << 18  # characters that are looked at together, so that a long text takes no more memory than this
OTHER, LETTER, DIGIT, SIGN = 1, 2, 3, 4  # of any script
_BY_CATEGORY = {"L": LETTER, "M": LETTER, "N": DIGIT, "P": SIGN, "S": SIGN}  # first letter of Unicode's general category
_kinds = np.zeros(LETTERS_END + 1, np.uint8)  # 0 where no text had the code point yet


def codes(text: str) -> npt.NDArray[Any]:
    """Return the code points of a text, none over `LETTERS_END`.

    >>> codes("tea").tolist(), codes("茶").tolist()
    ([116, 101, 97], [33590])
    """
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).clip(max=LETTERS_END)


def kinds(points: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return what each code point is: LETTER (marks on letters too), DIGIT (numbers), SIGN (punctuation, symbols) or OTHER.

    Unicode's table is asked when a text first has a code point: to ask for all of them takes longer than a small corpus.

    >>> kinds(codes("1 tea.")).tolist() == [DIGIT, OTHER, LETTER, LETTER, LETTER, SIGN]
    True
    """
    found: npt.NDArray[np.uint8] = _kinds.take(points)
    if not found.min(initial=OTHER):
        new = [*set(points[found == 0].tolist())]
        _kinds[new] = [_BY_CATEGORY.get(unicodedata.category(chr(point))[0], OTHER) for point in new]
        found = _kinds.take(points)
    return found

"""Tell the script of each piece of a vocabulary, by a rule of its own: the first word of a letter's Unicode name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["HAN", "KANA", "piece_scripts"]

HAN, KANA = 1, 2  # the numbers of two scripts; 0 is none
_NAMES = {"": 0, "CJK": HAN, "HIRAGANA": KANA, "KATAKANA": KANA, "KATAKANA-HIRAGANA": KANA}


def piece_scripts(texts: Sequence[str]) -> npt.NDArray[Any]:
    """Return of each piece the number of its script, 0 for none, and traditional minus simplified characters [V, 2]."""
    numbers = dict(_NAMES)
    found = np.zeros((len(texts), 2), np.int64)
    for index, text in enumerate(texts):
        if not (len(text) > 2 and text[0] + text[-1] in ("[]", "<>")):  # such as [UNK]
            name = next((script for script in map(_script, text) if script), "")
            found[index] = numbers.setdefault(name, len(numbers)), sum(map(_variant, text))
    return found


@cache
def _script(character: str) -> str:
    if not character.isalpha():
        return ""
    return unicodedata.name(character, "").partition(" ")[0]


@cache
def _variant(character: str) -> int:
    """Return 1 for a character of Big5 that GB 2312 lacks, and -1 for the reverse."""
    if character < "\u4e00" or character > "\u9fff":
        return 0
    known = []
    for codec in ("gb2312", "big5"):
        try:
            known.append(character.encode(codec) is not None)
        except UnicodeEncodeError:
            known.append(False)
    return known[1] - known[0]

"""Detect the script of each token of a vocabulary by an independent rule: the first word of a letter's Unicode name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["HAN", "KANA", "piece_scripts"]

HAN, KANA = 1, 2  # the numbers of two scripts; 0: none
_NAMES = {"": 0, "CJK": HAN, "HIRAGANA": KANA, "KATAKANA": KANA, "KATAKANA-HIRAGANA": KANA}


def piece_scripts(texts: Sequence[str]) -> npt.NDArray[Any]:
    """Return, per token, its script number (0: no script) and its traditional minus simplified characters [V, 2]."""
    numbers = dict(_NAMES)
    found = np.zeros((len(texts), 2), np.int64)
    for index, text in enumerate(texts):
        if not (len(text) > 2 and text[0] + text[-1] in ("[]", "<>")):  # special tokens such as [UNK]
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
    """Return 1 for a character that is in Big5 but not in GB 2312, and -1 for the reverse."""
    if character < "\u4e00" or character > "\u9fff":
        return 0
    # GB 2312 has the simplified characters, Big5 the traditional ones. A character in only one of
    # them shows the script, and most characters are in both. This rule is independent of the tables
    # that built the rows.
    known = []
    for codec in ("gb2312", "big5"):
        try:
            known.append(character.encode(codec) is not None)
        except UnicodeEncodeError:
            known.append(False)
    return known[1] - known[0]

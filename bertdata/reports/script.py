"""Distinguish simplified from traditional Chinese, by the characters that only one of the two has.

GB 2312 (1980) is a set of simplified characters and Big5 (1984) one of traditional characters; Python has both as codecs.  A
character of GB 2312 that Big5 lacks is a simplified one, such as 国 and 学; one of Big5 that GB 2312 lacks is a traditional one,
such as 國 and 學.  Of the characters of running text some three of ten are of one of these kinds.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Scripts", "scripts_of"]

_FIRST, _END = 0x4E00, 0xA000  # of the CJK unified ideographs, among which those of both sets are
Array = npt.NDArray[Any]


class Scripts(NamedTuple):
    """Number of Chinese characters in sentences of each script. `both` counts sentences whose characters belong to both."""

    simplified: int
    traditional: int
    both: int


def scripts_of(parts: Iterable[pa.StringArray]) -> Scripts:
    """Count the Chinese characters of sentences, given as arrays, by the script of which each sentence has more characters.

    >>> scripts_of([pa.array(["中国的大学。", "中國的大學。", "中文 BERT", "tea"])])
    Scripts(simplified=5, traditional=5, both=2)
    """
    total = np.zeros(3, np.int64)
    for sentences in parts:
        if not len(sentences):
            continue
        text = "".join(f"{sentence}\n" for sentence in sentences.to_pylist())
        codes = np.frombuffer(text.encode("utf-32-le", "replace"), "<u4")
        starts = np.append(0, np.flatnonzero(codes == ord("\n"))[:-1])
        chinese = (codes >= _FIRST) & (codes < _END)
        kinds = np.where(chinese, _kinds()[np.where(chinese, codes - _FIRST, 0)], 0)
        script = np.sign(np.add.reduceat(kinds, starts, dtype=np.int64))
        number = np.add.reduceat(chinese, starts, dtype=np.int64)
        total += [number[script == of].sum() for of in (1, -1, 0)]
    return Scripts(*total.tolist())


@functools.cache
def _kinds() -> Array:
    """Return of each character from _FIRST on: 1 for a simplified one, -1 for a traditional one, 0 for others."""
    characters = list(map(chr, range(_FIRST, _END)))
    simplified, traditional = (np.array([bool(c.encode(codec, "ignore")) for c in characters]) for codec in ("gb2312", "big5"))
    return np.asarray(simplified.astype(np.int8) - traditional)

"""Count the text that a task has written, by language: documents, words (as `str.split` counts them) and characters."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Amounts", "count_words"]

_IS_SPACE = np.array([chr(code).isspace() for code in range(0x4000)])  # no whitespace above this code point


def count_words(sentences: Iterable[str]) -> int:
    """Count words separated by whitespace, as `str.split` does. A word never spans two sentences.

    >>> count_words(["The kettle sang .", "\\u8336\\u3002"])
    5
    """
    return sum(len(sentence.split()) for sentence in sentences)


class Amounts:
    """Document, word and character totals over record batches."""

    def __init__(self) -> None:
        self._languages: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Count a batch and return it unchanged."""
        sentences = batch.column("sentences")
        text, first = sentences.values, sentences.offsets.to_numpy()
        bounds = np.frombuffer(text.buffers()[1], np.int32)[text.offset :][first[0] : first[-1] + 1]
        data = np.frombuffer(text.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
        bounds, first = bounds - bounds[0], first - first[0]
        words, characters = _word_starts(data, bounds), data & 0xC0 != 0x80
        for language, (start, end) in zip(batch.column("language").to_pylist(), pairwise(bounds[first].tolist()), strict=True):
            counts = {"words": words[start:end], "characters": characters[start:end]}
            self._languages[language].update(
                documents=1, **{name: int(np.count_nonzero(flags)) for name, flags in counts.items()}
            )
        return batch

    def merge(self, amounts: Mapping[str, Mapping[str, int]]) -> None:
        """Add the sums of another task, as `to_json` returns them."""
        for language, counts in amounts.items():
            self._languages[language].update(counts)

    def to_json(self) -> dict[str, dict[str, int]]:
        """Return the sums by language."""
        return {language: dict(counts) for language, counts in sorted(self._languages.items())}


def _word_starts(data: npt.NDArray[np.uint8], bounds: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return a mask over UTF-8 bytes that is True where a word begins: at a sentence start (`bounds`) or after whitespace."""
    blank = (data == 0x20) | (data - np.uint8(0x09) < 5) | (data - np.uint8(0x1C) < 4)  # ASCII whitespace
    for width, first in ((2, data == 0xC2), (3, data - np.uint8(0xE1) < 3)):  # U+0080 to U+00BF, U+1000 to U+3FFF
        at = np.flatnonzero(first)
        code = data[at].astype(np.int32) & (0x3F >> width - 1)
        for byte in range(1, width):
            code = code << 6 | data[at + byte] & 0x3F
        for byte in range(width):
            blank[at[_IS_SPACE[code]] + byte] = True
    starts = np.append(True, blank)
    starts[bounds] = True
    starts[:-1] &= ~blank
    return starts[:-1]

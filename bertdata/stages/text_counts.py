"""Count the text that a task has written, by language: documents, words (as `str.split` counts them) and characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LONG_SENTENCE_CHARS = 1000
_COUNTED = ("documents", "words", "characters", "unsplit_documents", "text_bytes")
_IS_SPACE = np.array([chr(code).isspace() for code in range(0x4000)])  # no whitespace above this code point


def count_words(sentences: Iterable[str]) -> int:
    """Count words separated by whitespace, as `str.split` does. A word never spans two sentences.

    >>> count_words(["The kettle sang .", "\\u8336\\u3002"])
    5
    """
    return sum(len(sentence.split()) for sentence in sentences)


def count_text(batch: pa.RecordBatch, counts: Counter[str]) -> pa.RecordBatch:
    """Count the text of a batch, by language as ``words/en``, and return the batch unchanged.

    A document that is one long sentence was probably not divided into sentences.
    """
    text, first = batch.column("sentences").values, batch.column("sentences").offsets.to_numpy()
    bounds = np.frombuffer(text.buffers()[1], np.int32)[text.offset :][first[0] : first[-1] + 1]
    data = np.frombuffer(text.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
    bounds, first = bounds - bounds[0], first - first[0]
    words, characters = _word_starts(data, bounds), data & 0xC0 != 0x80
    languages, lengths = batch.column("language").to_pylist(), np.diff(first).tolist()
    for language, sentences, (start, end) in zip(languages, lengths, pairwise(bounds[first].tolist()), strict=True):
        counts[f"documents/{language}"] += 1
        counts[f"words/{language}"] += int(np.count_nonzero(words[start:end]))
        counts[f"characters/{language}"] += (size := int(np.count_nonzero(characters[start:end])))
        counts["unsplit_documents"] += size > _LONG_SENTENCE_CHARS and sentences == 1
    counts["text_bytes"] += len(data)
    return batch


def without_text(counts: Mapping[str, int]) -> Counter[str]:
    """Return the counts of a task except those of `count_text`."""
    return Counter({name: count for name, count in counts.items() if name.partition("/")[0] not in _COUNTED})


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

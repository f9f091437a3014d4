"""Tokenize documents and tell which tokens continue a word: pieces by their ``##``, Chinese characters by a segmenter.

BERT sets every Chinese character apart, so its vocabulary can't tell that 北京 is a word.  Only documents in Chinese are
segmented; in other languages, Japanese among them, ``##`` is all that tells.

    他  读  ##s  北  京  。          tokens of 他读s北京。
    0   0   1    0   1   0           does it continue a word?
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .encoder import Encoder
from .segment import Segmenter, is_chinese
from .vocab import Vocabulary

__all__ = ["WordEncoder"]


class WordEncoder:
    """Encode documents as `Encoder` does, with a flag for each token."""

    def __init__(self, encoder: Encoder, vocabulary: Vocabulary) -> None:
        self._encoder, self._segmenter = encoder, Segmenter()
        self._continues = vocabulary.continues()

    def encode(
        self, languages: Sequence[str], documents: Sequence[Sequence[str]], exact: bool = False
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return all ids [T], where each sentence ends [S], and which tokens continue a word [T].

        A sentence is encoded in the parts that the segmenter makes of it, which gives the same ids. `exact` as in `Encoder`.
        """
        parts: list[tuple[str, bool]] = []
        counts: list[int] = []
        for language, sentences in zip(languages, documents, strict=True):
            chinese = is_chinese(language)
            for sentence in sentences:
                parts += self._segmenter.parts(sentence) if chinese else [(sentence, False)]
                counts.append(len(parts))
        tokens, ends = self._encoder.encode([part for part, _ in parts], exact)
        words = np.array([word for _, word in parts], bool)
        edges = np.append(0, ends)
        inside = np.repeat(words, np.diff(edges))
        inside[edges[edges < len(tokens)]] = False  # where a part begins
        return tokens, edges[np.array(counts, np.int64)], self._continues[tokens] | inside

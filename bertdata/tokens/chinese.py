"""Tokenize documents and flag tokens that continue a word, by ``##`` or, in Chinese, by a word segmenter.

BERT tokenizes every Chinese character separately, so its vocabulary does not show that 北京 is a word. Only Chinese documents are
segmented. Other languages, including Japanese, use only ``##``.

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

        Sentences are encoded in segmented parts, which does not change the ids. `exact` works as in `Encoder`.
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

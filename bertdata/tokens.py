"""Turn sentences into WordPiece ids, exactly as `tokenizers` does.

>>> from bertdata.vocab import SPECIAL, Vocabulary
>>> vocabulary = Vocabulary([*SPECIAL, "tea", "##s"], lowercase=True, strip_accents=True)
>>> encoder = Encoder(vocabulary.tokenizer(), len(vocabulary.pieces))
>>> ids, ends = encoder.encode(["Teas tea", "TEA"])
>>> ids.tolist(), ends.tolist()
([5, 6, 5, 5], [3, 4])
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

__all__ = ["Encoder"]

_BATCH = 1000  # sentences encoded at a time: `tokenizers` takes about 100 bytes a token until it is done


class Encoder:
    """Encode sentences with a tokenizer of `size` pieces."""

    def __init__(self, tokenizer: Tokenizer, size: int) -> None:
        self.dtype = np.dtype(np.uint16 if size <= 1 << 16 else np.uint32)
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text

    def encode(self, sentences: Sequence[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return all ids [T] end to end, and where each sentence ends [S]."""
        tokens = [np.zeros(0, self.dtype)]
        lengths: list[int] = []
        for start in range(0, len(sentences), _BATCH):
            encoded = self._tokenizer.encode_batch_fast(list(sentences[start : start + _BATCH]), add_special_tokens=False)
            ids = [e.ids for e in encoded]
            lengths += map(len, ids)
            tokens.append(np.fromiter(itertools.chain.from_iterable(ids), self.dtype))
        return np.concatenate(tokens), np.cumsum(lengths, dtype=np.int64)

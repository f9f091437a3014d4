"""Encode sentences with a WordPiece vocabulary, to the same ids as `tokenizers` but with the fastest library.

>>> from bertdata.tokens.vocab import SPECIAL, Vocabulary
>>> encoder = Vocabulary([*SPECIAL, "tea", "##s", "!"], lowercase=True, strip_accents=True).document_encoder()
>>> ids, ends = encoder.encode(["Teas tea", "TEA!"])
>>> ids.tolist(), ends.tolist()
([5, 6, 5, 5, 7], [3, 5])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from ..pieces import bare
from .engines import Encoded, Engine, exact_engine, same_engines

__all__ = ["DifferentIdsError", "Encoder", "sampled"]

SAMPLE_STRIDE = 100  # every 100th sentence is encoded by `tokenizers` too: 1 % of all


class DifferentIdsError(Exception):
    """A fast library returned different ids from `tokenizers` for `text`. Encode again with ``exact=True``."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Encoder:
    """Encode sentences independently.

    Args:
        tokenizer: Reference for the ids.
        pieces: Its tokens by id.
        mark: The mark of its words.
    """

    def __init__(self, tokenizer: Tokenizer, pieces: Sequence[str], mark: str = "##") -> None:
        self.dtype = np.dtype(np.uint16 if len(pieces) <= 1 << 16 else np.uint32)
        self.exact = exact_engine(tokenizer)
        found = same_engines(tokenizer, [bare(piece, mark) for piece in pieces])
        self.fast = found[0] if found else None
        self._check = found[1] if len(found) > 1 else self.exact  # a memo of `tokenizers`, which knows the vocabulary's words

    def encode(self, sentences: Sequence[str] | pa.Array, exact: bool = False) -> Encoded:
        """Return the ids of all sentences end to end [T], and the end of each sentence in them [S].

        Raises:
            DifferentIdsError: The fast library differs from `tokenizers` in the sample. Not with `exact`, which does without it.
        """
        texts = sentences if isinstance(sentences, pa.Array) else pa.array(sentences, pa.large_string())
        data: list[bytes] = texts.cast(pa.large_binary()).to_pylist()
        sample = [data[number] for number in sampled(sum(map(len, data[:SAMPLE_STRIDE])), len(data))]
        ids, ends = self.engine(sample, exact)(data)
        return ids.astype(self.dtype), ends

    def encode_documents(self, sentences: pa.ListArray, paragraphs: pa.ListArray, exact: bool = False) -> Encoded:
        """Return the ids of all sentences of documents, and their ends; no id depends on the text around a sentence."""
        return self.encode(sentences.flatten(), exact)

    def engine(self, sample: list[bytes], exact: bool) -> Engine:
        """Return the engine for a text; raise DifferentIdsError if the fast one differs in this sample of its sentences."""
        if exact or self.fast is None:
            return self.exact
        try:
            found = self.fast(sample)
        except Exception as error:  # treat a failure of the library like different ids
            raise DifferentIdsError(sample[0].decode() if sample else "") from error
        if not all(map(np.array_equal, found, self._check(sample))):
            different = (text for text in sample if not np.array_equal(self.fast([text])[0], self.exact([text])[0]))
            raise DifferentIdsError(next(different, sample[0]).decode())
        return self.fast


def sampled(start: int, sentences: int) -> range:
    """Return the numbers of the sentences in the sample; `start` depends on the text alone, so equal text has equal samples."""
    return range(start % min(SAMPLE_STRIDE, max(1, sentences)), sentences, SAMPLE_STRIDE)

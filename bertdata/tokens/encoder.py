"""Encode sentences with a WordPiece vocabulary, to the same ids as `tokenizers` but with the fastest library.

>>> from bertdata.tokens.vocab import SPECIAL, Vocabulary
>>> encoder = Vocabulary([*SPECIAL, "tea", "##s", "!"], lowercase=True, strip_accents=True).document_encoder()
>>> ids, ends = encoder.encode(["Teas tea", "TEA!"])
>>> ids.tolist(), ends.tolist()
([5, 6, 5, 5, 7], [3, 5])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tokenizers import Tokenizer

from ..pieces import bare
from .engines import Encoded, Exact, Ints, Nanotoken, failures_as_exceptions, same_engines
from .memo import Memo

__all__ = ["DifferentIdsError", "Encoder", "Ids", "sampled"]

Ids = tuple[npt.NDArray[Any], Ints]
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

    kinds: ClassVar[tuple[type[Any], ...]] = (Nanotoken, Memo)

    def __init__(self, tokenizer: Tokenizer, pieces: Sequence[str], mark: str = "##") -> None:
        self.dtype = np.dtype(np.uint16 if len(pieces) <= 1 << 16 else np.uint32)
        self.exact = Exact(tokenizer)
        found = same_engines(tokenizer, [bare(piece, mark) for piece in pieces], *self.kinds)
        self.fast = found[0] if found else None
        self._check = found[1] if len(found) > 1 else self.exact  # a memo of `tokenizers`, which encodes fewer words again

    def encode(self, sentences: Sequence[str] | pa.Array, exact: bool = False) -> Ids:
        """Return the ids of all sentences end to end [T], and the end of each sentence in them [S].

        Raises:
            DifferentIdsError: The fast library differs from `tokenizers` in the sample. Not with `exact`, which does without it.
        """
        texts = sentences if isinstance(sentences, pa.Array) else pa.array(sentences, pa.large_string())
        data: list[bytes] = texts.cast(pa.large_binary()).to_pylist()
        sample = [data[number] for number in sampled(sum(map(len, data[:SAMPLE_STRIDE])), len(data))]
        encoded = self.checked(data, sample, exact)
        return encoded.ids.astype(self.dtype), encoded.ends

    def encode_documents(self, sentences: pa.ListArray, paragraphs: pa.ListArray, exact: bool = False) -> Ids:
        """Return the ids of all sentences of documents, and their ends; no id depends on the text around a sentence."""
        return self.encode(sentences.flatten(), exact)

    def checked(self, texts: Sequence[bytes], sample: Sequence[bytes], exact: bool) -> Encoded:
        """Encode texts; raise DifferentIdsError if the fast library fails, or differs in a sample of their sentences."""
        if exact or self.fast is None:
            return self.exact(texts)
        try:
            with failures_as_exceptions():
                found, encoded = self.fast(sample), self.fast(texts)
        except Exception as error:
            raise DifferentIdsError(sample[0].decode() if sample else "") from error
        if not all(map(np.array_equal, found[:2], self._check(sample)[:2])):
            different = (text for text in sample if not np.array_equal(self.fast([text])[0], self.exact([text])[0]))
            raise DifferentIdsError(next(different, sample[0]).decode())
        return encoded


def sampled(start: int, sentences: int) -> range:
    """Return the numbers of the sentences in the sample; `start` depends on the text alone, so equal text has equal samples."""
    return range(start % min(SAMPLE_STRIDE, max(1, sentences)), sentences, SAMPLE_STRIDE)

"""Encode sentences with a WordPiece vocabulary: the ids that `tokenizers` gives, by the fastest library that gives them.

>>> from bertdata.tokens.vocab import SPECIAL, Vocabulary
>>> encoder = Vocabulary([*SPECIAL, "tea", "##s", "!"], lowercase=True, strip_accents=True).document_encoder()
>>> ids, ends = encoder.encode(["Teas tea", "TEA!"])
>>> ids.tolist(), ends.tolist()
([5, 6, 5, 5, 7], [3, 5])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tokenizers import Tokenizer

from .engines import Engine, Ints, exact_engine, fast_engine

__all__ = ["DifferentIdsError", "Encoder", "joined", "slices_of"]

SLICE_CHARACTERS = 8 << 20  # given to an engine at a time
SAMPLE_STRIDE = 96  # every 96th sentence is encoded by `tokenizers` too, at least 1 % of all


class DifferentIdsError(Exception):
    """A fast library gave other ids than `tokenizers` for `text`: encode again with ``exact=True``."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Encoder:
    """Encode sentences, each by itself.

    Args:
        tokenizer: Gives the ids.
        pieces: Its tokens by id.
    """

    def __init__(self, tokenizer: Tokenizer, pieces: Sequence[str]) -> None:
        self.dtype = np.dtype(np.uint16 if len(pieces) <= 1 << 16 else np.uint32)
        self.exact = exact_engine(tokenizer)
        self.fast = fast_engine(tokenizer.to_str(), pieces)

    def encode(self, sentences: Sequence[str] | pa.Array, exact: bool = False) -> tuple[npt.NDArray[Any], Ints]:
        """Return the ids of all sentences end to end [T], and the end of each sentence in them [S].

        Raises:
            DifferentIdsError: The fast library differs from `tokenizers` in the sample. Not with `exact`, which does without it.
        """
        text = sentences.to_pylist() if isinstance(sentences, pa.Array) else list(sentences)
        return joined([self._run(text[start:end], exact) for start, end in slices_of(text)], self.dtype)

    def encode_documents(
        self, sentences: pa.ListArray, paragraphs: pa.ListArray, exact: bool = False
    ) -> tuple[npt.NDArray[Any], Ints]:
        """Return the ids of all sentences of documents, and their ends; no id depends on the text around a sentence."""
        return self.encode(sentences.flatten(), exact)

    def _run(self, texts: list[str], exact: bool) -> tuple[npt.NDArray[Any], Ints]:
        # The first sentence of the sample depends on the text alone, so the same text always has the same sample.
        first = sum(map(len, texts[:SAMPLE_STRIDE])) % min(SAMPLE_STRIDE, len(texts) or 1)
        return engine_for_text(self.fast, self.exact, texts[first::SAMPLE_STRIDE], exact)(texts)


def engine_for_text(fast: Engine | None, exact: Engine, sample: list[str], use_exact: bool) -> Engine:
    """Return the engine for a text; raise DifferentIdsError if the fast one differs in this sample of its sentences."""
    if use_exact or fast is None:
        return exact
    try:
        found, ends = fast(sample)
    except Exception as error:  # a library that fails gives no ids, which is a difference too
        raise DifferentIdsError(sample[0] if sample else "") from error
    expected, expected_ends = exact(sample)
    if not (np.array_equal(found, expected) and np.array_equal(ends, expected_ends)):
        raise DifferentIdsError(next(text for text in sample if not np.array_equal(fast([text])[0], exact([text])[0])))
    return fast


def slices_of(text: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive sentences of about `SLICE_CHARACTERS` in all."""
    sizes = np.cumsum([0, *map(len, text)])
    cuts = np.flatnonzero(np.diff(sizes[:-1] // SLICE_CHARACTERS)) + 1
    return ((start, end) for start, end in pairwise([0, *cuts.tolist(), len(text)]) if start < end)


def joined(parts: list[tuple[npt.NDArray[Any], Ints]], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """Put the ids of several calls end to end, and move the ends of their sentences."""
    before = np.cumsum([0, *(len(ids) for ids, _ in parts)])
    moved = [ends + start for (_, ends), start in zip(parts, before.tolist(), strict=False)]
    ids = np.concatenate([np.zeros(0, dtype), *(ids.astype(dtype, copy=False) for ids, _ in parts)])
    return ids, np.concatenate([np.zeros(0, np.int64), *moved])

"""What pairs are made from and made into: a partition of tokenized documents, and rows of ids end to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import keys
from ..tally import Tally

Ints = npt.NDArray[np.int64]


@dataclass
class Partition:
    """Tokenized documents, end to end; documents of one id never exchange text."""

    tokens: npt.NDArray[Any]  # ids [T]
    continues: npt.NDArray[np.bool_]  # whether each token continues a word [T]
    sentences: Ints  # where each sentence begins in `tokens`, and T [S + 1]
    documents: Ints  # where each document begins in `sentences`, and S [D + 1]
    ids: Sequence[str]  # of documents [D]
    groups: Ints | None = None  # of each document [D], which exchanges text only within its group; None: one group
    # Traditional minus simplified Chinese characters in each token of the vocabulary [V]; None: no document is Chinese
    variants: npt.NDArray[np.int8] | None = None

    @cached_property
    def sizes(self) -> Ints:
        """The documents' tokens [D]."""
        return np.diff(self.sentences[self.documents])

    @cached_property
    def edges(self) -> Ints:
        """Where the sentences that have a token begin, and T."""
        return np.append(self.sentences[:-1][np.diff(self.sentences) > 0], len(self.tokens))

    @cached_property
    def first(self) -> Ints:
        """Where each document begins in `edges`, and their end [D + 1]."""
        return np.append(0, np.cumsum(np.diff(self.sentences) > 0))[self.documents]

    @cached_property
    def identity(self) -> Ints:
        """A number for each document [D], the same for those of one id."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(i, len(numbers)) for i in self.ids], np.int64)

    @cached_property
    def traditional(self) -> npt.NDArray[np.int32]:
        """The number of traditional minus simplified characters in the tokens before each position [T + 1]."""
        signs = np.zeros(1, np.int8) if self.variants is None else self.variants[self.tokens]
        return np.concatenate([np.zeros(1, np.int32), np.cumsum(signs, dtype=np.int32)])

    @cached_property
    def words(self) -> Ints:
        """Where each word begins, and T."""
        return np.append(np.flatnonzero(~self.continues), len(self.tokens))

    def word_start(self, positions: Ints) -> Ints:
        """Return where the words begin that hold `positions`; the end of the tokens stays as it is."""
        return self.words[np.searchsorted(self.words, positions, "right") - 1]

    def next_word(self, positions: Ints) -> Ints:
        """Return the first word beginnings at or after `positions`, or the end of the tokens."""
        return self.words[np.searchsorted(self.words, positions)]

    def keys(self, seed: int, max_tokens: int, copy: int) -> keys.Bits:
        """Return a random key for each document [D] of a copy; documents of one id get different ones, so no rows are equal."""
        counts = Counter[str]()
        numbered = []
        for doc_id in self.ids:
            numbered.append((doc_id, counts[doc_id]))
            counts[doc_id] += 1
        drawn = keys.many(seed, "pairs", max_tokens, last=numbered)
        return keys.substream(drawn, copy) if len(drawn) else drawn


class Pairs(NamedTuple):
    """Rows of any objective, in the order of the shard. Labels and documents of packed rows are of their parts."""

    input_ids: npt.NDArray[Any]  # [T]
    token_type_ids: npt.NDArray[np.uint8]  # [T]
    continues: npt.NDArray[np.bool_] | None  # [T], or None unless the rows store words that ``##`` does not mark
    ends: Ints  # [N + 1]
    labels: npt.NDArray[np.int8] | None  # [N], or None without pairs, like `b_documents`
    a_documents: Ints  # [N], indices of the partition's documents
    b_documents: Ints | None  # [N]
    tallies: list[Tally]  # of documents, counted once, and of the chunks and tokens of all copies
    parts: Ints | None = None  # of packed rows [K + 1]: the starts of their parts in the ids, and T


def placed(source: npt.NDArray[Any], start: Ints, length: Ints, to: Ints, size: int) -> npt.NDArray[Any]:
    """Return an array of `size` that has ``source[start:start + length]`` at `to` for every row, and 0 elsewhere."""
    target = np.zeros(size, source.dtype)
    to_bytes, from_bytes = memoryview(target.data), memoryview(source.data)  # slices of arrays take twice the time
    for at, first, count in zip(to.tolist(), start.tolist(), length.tolist(), strict=True):
        to_bytes[at : at + count] = from_bytes[first : first + count]
    return target

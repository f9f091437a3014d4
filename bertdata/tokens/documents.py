"""Encode documents to the ids of `tokenizers` for the full text, with the end of each sentence in them.

The text of a document is what `export --to jsonl` writes: sentences with a space between them, paragraphs with an empty line. A
token belongs to the sentence that its last character is in, so " Two" begins the second sentence, and the line feeds that end a
paragraph belong to the sentence before them:

    One. Two.\\n\\nThree.        One .  |  ĠTwo . Ċ Ċ  |  Three .

    tokens     One   .    ĠTwo   .    Ċ    Ċ    Three  .
    ends       3     4    8      9    10   11   16     17        sentence 1 ends at byte 4, sentence 2 at 11
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..records import PARAGRAPH, UNSPACED
from .encoder import Encoder, Ids, sampled
from .engines import Gigatoken, Ints
from .memo import Memo

__all__ = ["DocumentEncoder"]

NOTHING, SPACE, BREAK = range(3)  # separator before a sentence


class DocumentEncoder(Encoder):
    """Encode documents with a tokenizer of any kind. The arguments are those of `Encoder`."""

    kinds: ClassVar[tuple[type[Any], ...]] = (Gigatoken, Memo)

    def encode_documents(self, sentences: pa.ListArray, paragraphs: pa.ListArray, exact: bool = False) -> Ids:
        """Return the ids of all documents end to end [T], and the end of each sentence in them [S].

        Args:
            sentences: Sentences of each document.
            paragraphs: Numbers of the sentences with which its paragraphs begin.
            exact: Encode with `tokenizers` alone.

        Raises:
            DifferentIdsError: The fast library differs from `tokenizers` in the sample. Not with `exact`.
        """
        data, edges, first = _text(sentences, paragraphs)
        documents = [data[start:end] for start, end in pairwise(edges[first].tolist())]
        chosen = np.array(sampled(len(data), len(edges) - 1), np.int64)
        sample = [data[start:end] for start, end in zip(edges[chosen], edges[chosen + 1], strict=True)]
        encoded = self.checked(documents, sample, exact)
        return encoded.ids.astype(self.dtype), np.searchsorted(encoded.stops, edges[1:].astype(encoded.stops.dtype), "right")


@cache  # not a constant: pyarrow imports pandas, if installed, for the first array that a process makes
def _unspaced() -> pa.Array:
    """Return the ends of sentences that no space follows, as bytes. Each has three."""
    return pa.array([ending.encode() for ending in UNSPACED], pa.large_binary())


def _text(sentences: pa.ListArray, paragraphs: pa.ListArray) -> tuple[bytes, Ints, Ints]:
    """Join documents to text, with the separator before each sentence.

    Returns:
        UTF-8 of all documents, end to end; where sentences begin in it, behind a paragraph break but with the space before them,
        and its end [S + 1]; and the first sentence of each document, and the number of all [D + 1].
    """
    flat = sentences.flatten().cast(pa.large_string())
    first = np.append(0, np.cumsum(sentences.value_lengths().fill_null(0).to_numpy())).astype(np.int64)
    starts, of = paragraphs.flatten().to_numpy().astype(np.int64), paragraphs.value_lengths().fill_null(0).to_numpy()
    before = np.full(len(flat), SPACE, np.uint8)
    endings = pc.binary_slice(flat.cast(pa.large_binary()), -3)
    before[1:][pc.is_in(endings, _unspaced()).to_numpy(zero_copy_only=False)[:-1]] = NOTHING
    before[starts + np.repeat(first[:-1], of)] = BREAK
    before[first[:-1][np.diff(first) > 0]] = NOTHING
    separators = pa.array(["", " ", PARAGRAPH], pa.large_string()).take(pa.array(before))
    data = pc.binary_join_element_wise(separators, flat, pa.scalar("", pa.large_string()))
    edges = np.append(0, np.cumsum(pc.binary_length(data).to_numpy()))
    utf8 = data.buffers()[2].slice(0, int(edges[-1])).to_pybytes() if edges[-1] else b""
    edges[:-1] += len(PARAGRAPH) * (before == BREAK)
    return utf8, edges, first

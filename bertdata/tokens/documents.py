"""Encode documents to the ids of `tokenizers` for the full text, with the end of each sentence in them.

The text of a document is what `export --to jsonl` writes: sentences with a space between them, paragraphs with an empty line. A
token belongs to the sentence that its last character is in, so " Two" begins the second sentence, and the line feeds that end a
paragraph belong to the sentence before them:

    One. Two.\\n\\nThree.        One .  |  ĠTwo . Ċ Ċ  |  Three .

The ends follow from the ids alone. The bytes that tokens stand for are those of the text, so a token ends where its bytes end:

    tokens     One   .    ĠTwo   .    Ċ    Ċ    Three  .
    ends       3     4    8      9    10   11   16     17        sentence 1 ends at byte 4, sentence 2 at 11

Where they are not (the tokenizer normalizes text, or has unknown characters) the normalized text of each sentence is compared
instead, and if even that differs, `tokenizers` is asked for the offsets of the tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from ..pieces import BEGINS, Special, piece_bytes
from ..records import PARAGRAPH, UNSPACED
from .encoder import Encoder, sampled
from .engines import Encoded, Engine, Gigatoken, Ints, Memo, joined

__all__ = ["DocumentEncoder"]

NOTHING, SPACE, BREAK = range(3)  # separator before a sentence
WORD_BYTES = 16  # per space: text with longer words, such as Chinese, gains nothing from a memo of words
UNKNOWN_RUN = "\0"  # stands for a run of unknown characters


class _Text(NamedTuple):
    """Documents as text.

    Attributes:
        data: UTF-8 of all documents, end to end.
        edges: Where sentences begin in `data`, behind a paragraph break but with the space before them, and its end [S + 1].
        first: The first sentence of each document, and the number of all [D + 1].
    """

    data: bytes
    edges: Ints
    first: Ints

    def sentences(self, document: int) -> list[bytes]:
        """Return the sentences of a document, with the space before them and the paragraph break behind them."""
        edges = self.edges[self.first[document] : self.first[document + 1] + 1]
        return [self.data[start:end] for start, end in pairwise(edges.tolist())]


class DocumentEncoder(Encoder):
    """Encode documents with a tokenizer of any kind.

    Args:
        tokenizer: Reference for the ids.
        pieces: Its tokens by id.
        special: Its special tokens, and the mark of its words.
    """

    def __init__(self, tokenizer: Tokenizer, pieces: Sequence[str], special: Special) -> None:
        super().__init__(tokenizer, pieces, special.mark)
        self._tokenizer, self._written = tokenizer, None
        if special.mark in BEGINS:
            self._written = _Written(json.loads(tokenizer.to_str()), pieces, special, self.exact)
        else:
            self.fast = None  # without bytes for tokens, ends take the offsets of `tokenizers`, and its ids come with them

    def encode_documents(self, sentences: pa.ListArray, paragraphs: pa.ListArray, exact: bool = False) -> Encoded:
        """Return the ids of all documents end to end [T], and the end of each sentence in them [S].

        Args:
            sentences: Sentences of each document.
            paragraphs: Numbers of the sentences with which its paragraphs begin.
            exact: Encode with `tokenizers` alone.

        Raises:
            DifferentIdsError: The fast library differs from `tokenizers` in the sample. Not with `exact`.
        """
        text = _text(sentences, paragraphs)
        documents = [text.data[start:end] for start, end in pairwise(text.edges[text.first].tolist())]
        numbers = [number for number, document in enumerate(documents) if self._is_fast(document)]
        chosen = np.array(sampled(len(text.data), len(text.edges) - 1) if numbers else [], np.int64)
        sample = [text.data[start:end] for start, end in zip(text.edges[chosen], text.edges[chosen + 1], strict=True)]
        engine = self.engine(sample, exact)
        ids, edges = engine([documents[number] for number in numbers])
        is_lossless = isinstance(engine, Gigatoken) and not engine.changed  # its tokens are those bytes if they are as many
        ends = self._written.ends(ids, text.data, text.edges[1:], is_lossless) if self._written else None
        if ends is not None:
            full = np.flatnonzero(np.diff(text.first))
            ends[text.first[1:][full] - 1] = edges[full]  # a document's last sentence has all its tokens
            return ids.astype(self.dtype), ends
        found = [(ids[:0], edges[:0])] * len(documents)
        for number, own in zip(numbers, np.split(ids, edges[:-1]), strict=False):
            found[number] = self._with_ends(own, text.sentences(number))
        for number in set(range(len(documents))).difference(numbers):
            found[number] = self._with_offsets(text.sentences(number))
        ids, ends = joined(found)
        return ids.astype(self.dtype), ends

    def _is_fast(self, document: bytes) -> bool:
        """Return True if ends need no offsets of `tokenizers`, and, where words are encoded one by one, if there are words."""
        if isinstance(self.fast, Memo):
            return document.count(b" ") * WORD_BYTES > len(document)
        return self._written is not None

    def _with_ends(self, ids: npt.NDArray[Any], sentences: list[bytes]) -> Encoded:
        """Return the ids of one document, and where its sentences end in them."""
        written = self._written
        for normalize in (bytes, _breaks_as_spaces, self._normalize) if sentences else ():
            parts = written.known(ids, [normalize(part) for part in sentences]) if written else []
            if written and parts:
                bounds = len(written.lead) + np.cumsum([len(part) for part in parts])
                ends = written.ends(ids, b"".join([written.lead, *parts]), bounds)
                if ends is not None:
                    ends[-1] = len(ids)
                    return ids, ends
        return self._with_offsets(sentences)

    def _normalize(self, text: bytes) -> bytes:
        normalizer = self._tokenizer.normalizer
        return str(normalizer.normalize_str(text.decode())).replace("▁", " ").encode() if normalizer else text

    def _with_offsets(self, sentences: list[bytes]) -> Encoded:
        """Ask `tokenizers` for ids and offsets: a token belongs to the sentence of a document that its last character is in."""
        answer = self._tokenizer.encode(b"".join(sentences).decode(), add_special_tokens=False)
        offsets = np.fromiter((end for _, end in answer.offsets), np.int64, len(answer.offsets))
        last = np.maximum.accumulate(np.maximum(offsets - 1, 0)) if len(offsets) else offsets
        ends = np.searchsorted(last, np.cumsum([len(part.decode()) for part in sentences], dtype=np.int64))
        ends[-1:] = len(offsets)
        return np.array(answer.ids, np.uint32), ends.astype(np.int64)


class _Written:
    """The bytes that tokens stand for in a text.

    Attributes:
        lead: What the tokenizer puts in front of a text: a space, or nothing.
    """

    def __init__(self, parsed: dict[str, Any], pieces: Sequence[str], special: Special, exact: Engine) -> None:
        model = parsed["model"]
        unknown = model.get("unk_id", -1) if model["type"] == "Unigram" else model.get("unk_token")
        nothing = {i for i, piece in enumerate(pieces) if i in special.never or unknown in (i, piece)}
        table = [UNKNOWN_RUN.encode() if i in nothing else piece_bytes(piece, special.mark) for i, piece in enumerate(pieces)]
        self._is_unknown = np.array([each == UNKNOWN_RUN.encode() for each in table])
        self._sizes = pa.array([len(each) for each in table], pa.int32())
        self._pieces = pa.array(table, pa.large_binary())
        self.lead = b"".join(table[i] for i in exact([b"a"])[0].tolist()).removesuffix(b"a")
        characters = "".join(re.escape(piece) for piece in pieces if len(piece) == 1)
        has_bytes = special.mark == "Ġ" or model.get("byte_fallback")
        self._unknown = None if has_bytes else re.compile(f"[^ {characters}]+")

    def ends(self, ids: npt.NDArray[Any], data: bytes, bounds: Ints, is_lossless: bool = False) -> Ints | None:
        """Return how many tokens end at or before each bound in a text, or None if their bytes, end to end, are not this text.

        `is_lossless`: they are if they are as many, so only their number is compared.
        """
        number = np.int32 if len(data) < 1 << 27 else np.int64  # twice as fast; a token stands for few bytes
        ends = np.cumsum(pc.take(self._sizes, pa.array(ids), boundscheck=False).to_numpy(), dtype=number)
        size = int(ends[-1]) if len(ends) else 0
        if size != len(data):
            return None
        if size and not is_lossless:
            written = self._pieces.take(pa.array(ids)).buffers()[2].slice(0, size)
            if not written.equals(pa.py_buffer(data)):
                return None
        return np.searchsorted(ends, bounds.astype(number), "right")

    def known(self, ids: npt.NDArray[Any], parts: list[bytes]) -> list[bytes]:
        """Return the bytes that tokens should stand for in each part of a normalized text.

        Return nothing if a run of unknown characters could reach from one part into the next: one token could stand for both.
        """
        edge = UNKNOWN_RUN.encode()
        if self._unknown and self._is_unknown[ids].any():
            parts = [self._unknown.sub(UNKNOWN_RUN, part.decode()).encode() for part in parts]
            if any(left.endswith(edge) and right.startswith(edge) for left, right in pairwise(parts)):
                return []
        return parts


def _breaks_as_spaces(text: bytes) -> bytes:
    return text.replace(PARAGRAPH.encode(), b" ")


@cache  # not a constant: pyarrow imports pandas, if installed, for the first array that a process makes
def _unspaced() -> pa.Array:
    """Return the ends of sentences that no space follows, as bytes. Each has three."""
    return pa.array([ending.encode() for ending in UNSPACED], pa.large_binary())


def _text(sentences: pa.ListArray, paragraphs: pa.ListArray) -> _Text:
    """Join documents to text, with the separator before each sentence."""
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
    return _Text(utf8, edges, first)

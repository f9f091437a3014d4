"""Encode documents: the ids that `tokenizers` gives for a document's whole text, and the end of each sentence in them.

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

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from ..pieces import BEGINS, Special, piece_bytes
from ..records import PARAGRAPH, UNSPACED
from .encoder import SAMPLE_STRIDE, engine_for_text, joined
from .engines import Ints, Memo, batches_of, exact_engine, fast_engine

__all__ = ["DocumentEncoder"]

SLICE_BYTES = 8 << 20  # of text at a time
NOTHING, SPACE, BREAK = range(3)  # what stands before a sentence
WORD_CHARACTERS = 16  # per space: text with longer words, such as Chinese, gains nothing from a memo of words
UNKNOWN = "\0"  # stands for a run of unknown characters


class _Text(NamedTuple):
    """Documents as text.

    Attributes:
        data: UTF-8 of all documents, end to end.
        documents: Where documents begin in `data`, and its end [D + 1].
        sentences: Where documents begin in sentences, and their number [D + 1].
        starts: Where sentences begin in `data`, behind a paragraph break but with the space before them [S].
    """

    data: bytes
    documents: Ints
    sentences: Ints
    starts: Ints

    def document(self, number: int) -> str:
        return self.data[self.documents[number] : self.documents[number + 1]].decode()

    def sample(self) -> list[str]:
        """Return the texts of every `SAMPLE_STRIDE`th sentence, with the space before it and the break behind it."""
        edges = np.append(self.starts, len(self.data))
        first = len(self.data) % min(SAMPLE_STRIDE, len(self.starts) or 1)
        return [self.data[edges[at] : edges[at + 1]].decode() for at in range(first, len(self.starts), SAMPLE_STRIDE)]

    def parts(self, number: int) -> list[str]:
        """Return the text of a document cut where its second and each further sentence begins."""
        if self.sentences[number] == self.sentences[number + 1]:
            return []
        inner = self.starts[self.sentences[number] + 1 : self.sentences[number + 1]]
        edges = [int(self.documents[number]), *inner.tolist(), int(self.documents[number + 1])]
        return [self.data[start:end].decode() for start, end in itertools.pairwise(edges)]


class DocumentEncoder:
    """Encode documents with a tokenizer of any kind.

    Args:
        tokenizer: Gives the ids.
        pieces: Its tokens by id.
        special: Its special tokens, and the mark of its words.
    """

    def __init__(self, tokenizer: Tokenizer, pieces: Sequence[str], special: Special) -> None:
        self.dtype = np.dtype(np.uint16 if len(pieces) <= 1 << 16 else np.uint32)
        form = tokenizer.to_str()
        self.exact, self._tokenizer = exact_engine(tokenizer), tokenizer
        self._written = _Written(json.loads(form), pieces, special) if special.mark in BEGINS else None
        # Without bytes for tokens, ends take the offsets of `tokenizers`, and its ids come with them.
        self.fast = fast_engine(form, pieces) if self._written else None
        self._lead = b""
        if self._written:  # a space that the tokenizer puts in front of a text
            self._lead = self._written.bytes_of(self.exact(["a"])[0]).removesuffix(b"a")

    def encode_documents(
        self, sentences: pa.ListArray, paragraphs: pa.ListArray, exact: bool = False
    ) -> tuple[npt.NDArray[Any], Ints]:
        """Return the ids of all documents end to end [T], and the end of each sentence in them [S].

        Args:
            sentences: Sentences of each document.
            paragraphs: Numbers of the sentences with which its paragraphs begin.
            exact: Encode with `tokenizers` alone.

        Raises:
            DifferentIdsError: The fast library differs from `tokenizers` in the sample. Not with `exact`.
        """
        return joined([self._encode(text, exact) for text in _texts(sentences, paragraphs)], self.dtype)

    def _encode(self, text: _Text, exact: bool) -> tuple[npt.NDArray[Any], Ints]:
        documents = [text.document(number) for number in range(len(text.documents) - 1)]
        numbers = [number for number, document in enumerate(documents) if self._is_fast(document)]
        engine = engine_for_text(self.fast, self.exact, text.sample() if numbers else [], exact)
        ids, ends = engine([documents[number] for number in numbers])
        if self._written and self._written.bytes_of(ids) == text.data:
            return ids, self._ends_of_all(ids, np.append(0, ends), text)
        slices = itertools.pairwise([0, *ends.tolist()])
        encoded = {n: (ids[a:b], self._ends(ids[a:b], text, n)) for n, (a, b) in zip(numbers, slices, strict=True)}
        others = [number for number in range(len(documents)) if number not in encoded]
        encoded |= zip(others, self._with_offsets([documents[n] for n in others], [text.parts(n) for n in others]), strict=True)
        return joined([encoded[number] for number in range(len(documents))], self.dtype)

    def _is_fast(self, document: str) -> bool:
        """Return True if ends need no offsets of `tokenizers`, and, where words are encoded one by one, if there are words."""
        if isinstance(self.fast, Memo):
            return document.count(" ") * WORD_CHARACTERS > len(document)
        return self._written is not None

    def _ends_of_all(self, ids: npt.NDArray[Any], edges: Ints, text: _Text) -> Ints:
        """Return where all sentences end, if the bytes of all documents' tokens are their text."""
        assert self._written is not None
        ends = self._written.ends(ids, np.append(text.starts[1:], len(text.data))[: len(text.starts)])
        full = np.flatnonzero(np.diff(text.sentences))
        ends[text.sentences[1:][full] - 1] = edges[1:][full]  # a document's last sentence has all its tokens
        return ends

    def _ends(self, ids: npt.NDArray[Any], text: _Text, number: int) -> Ints:
        """Return where the sentences of one document end in its ids."""
        parts = text.parts(number)
        if self._written and parts:
            written = self._written.bytes_of(ids)
            for normalize in (str, _breaks_as_spaces, self._normalize):
                expected = [self._written.known(normalize(part)) for part in parts]
                if written == self._lead + b"".join(expected):
                    bounds = np.cumsum([len(part) for part in expected]) + len(self._lead)
                    return np.append(self._written.ends(ids, bounds[:-1]), len(ids))
        return self._with_offsets(["".join(parts)], [parts])[0][1]

    def _normalize(self, text: str) -> str:
        normalizer = self._tokenizer.normalizer
        return str(normalizer.normalize_str(text)).replace("▁", " ") if normalizer else text

    def _with_offsets(self, documents: list[str], parts: list[list[str]]) -> list[tuple[npt.NDArray[Any], Ints]]:
        """Ask `tokenizers` for ids and offsets: a token belongs to the part of a document that its last character is in."""
        encoded = []
        for start, end in batches_of(documents):
            answers = self._tokenizer.encode_batch(documents[start:end], add_special_tokens=False)
            for answer, own in zip(answers, parts[start:end], strict=True):
                offsets = np.fromiter((end for _, end in answer.offsets), np.int64, len(answer.offsets))
                last = np.maximum.accumulate(np.maximum(offsets - 1, 0)) if len(offsets) else offsets
                bounds = np.cumsum([len(part) for part in own], dtype=np.int64)
                ends = np.append(np.searchsorted(last, bounds[:-1]), len(offsets))[: len(own)].astype(np.int64)
                encoded.append((np.array(answer.ids, np.uint32), ends))
        return encoded


class _Written:
    """The bytes that tokens stand for in a text."""

    def __init__(self, parsed: dict[str, Any], pieces: Sequence[str], special: Special) -> None:
        model = parsed["model"]
        unknown = model.get("unk_id", -1) if model["type"] == "Unigram" else model.get("unk_token")
        nothing = {i for i, piece in enumerate(pieces) if i in special.never or unknown in (i, piece)}
        table = [UNKNOWN.encode() if i in nothing else piece_bytes(piece, special.mark) for i, piece in enumerate(pieces)]
        self._pieces = pa.array(table, pa.large_binary())
        self._sizes = np.array([len(each) for each in table], np.int64)
        characters = "".join(re.escape(piece) for piece in pieces if len(piece) == 1)
        has_bytes = special.mark == "Ġ" or model.get("byte_fallback")
        self._unknown = None if has_bytes else re.compile(f"[^ {characters}]+")

    def bytes_of(self, ids: npt.NDArray[Any]) -> bytes:
        """Return the bytes of tokens, end to end."""
        data = self._pieces.take(pa.array(ids)).buffers()[2] if len(ids) else None
        return bytes(data.to_pybytes()[: int(self._sizes[ids].sum())]) if data is not None else b""

    def ends(self, ids: npt.NDArray[Any], bounds: Ints) -> Ints:
        """Return how many tokens end at or before each byte of their text."""
        return np.asarray(np.searchsorted(np.cumsum(self._sizes[ids]), bounds, "right"), np.int64)

    def known(self, text: str) -> bytes:
        """Return the bytes that the tokens of a normalized text should stand for."""
        return (self._unknown.sub(UNKNOWN, text) if self._unknown else text).encode()


def _breaks_as_spaces(text: str) -> str:
    return text.replace(PARAGRAPH, " ")


def _texts(sentences: pa.ListArray, paragraphs: pa.ListArray) -> Iterator[_Text]:
    """Yield documents as text, in batches of bounded size."""
    flat = sentences.flatten().cast(pa.large_string())
    counts = np.append(0, np.cumsum(sentences.value_lengths().fill_null(0).to_numpy())).astype(np.int64)
    sizes = np.append(0, np.cumsum(pc.binary_length(flat).to_numpy())).astype(np.int64)[counts]
    cuts = np.flatnonzero(np.diff(sizes[:-1] // SLICE_BYTES)) + 1
    starts, of = paragraphs.flatten().to_numpy().astype(np.int64), paragraphs.value_lengths().fill_null(0).to_numpy()
    before = np.full(len(flat), SPACE, np.uint8)
    for ending in UNSPACED:
        before[1:][pc.ends_with(flat, ending).to_numpy(zero_copy_only=False)[:-1]] = NOTHING
    before[starts + np.repeat(counts[:-1], of)] = BREAK
    before[counts[:-1][np.diff(counts) > 0]] = NOTHING
    for first, last in itertools.pairwise([0, *cuts.tolist(), len(sentences)]):
        if first < last:
            span = slice(counts[first], counts[last])
            yield _text(flat[span.start : span.stop], before[span], counts[first : last + 1] - counts[first])


def _text(sentences: pa.LargeStringArray, before: npt.NDArray[np.uint8], counts: Ints) -> _Text:
    """Put what stands before each sentence there."""
    separators = pa.array(["", " ", PARAGRAPH], pa.large_string()).take(pa.array(before))
    data = pc.binary_join_element_wise(separators, sentences, pa.scalar("", pa.large_string()))
    bounds = np.frombuffer(data.buffers()[1], np.int64)[data.offset : data.offset + len(data) + 1]
    buffer = data.buffers()[2]
    utf8 = bytes(buffer.to_pybytes()[bounds[0] : bounds[-1]]) if buffer is not None else b""
    bounds = bounds - bounds[0]
    return _Text(utf8, bounds[counts], counts, bounds[:-1] + len(PARAGRAPH) * (before == BREAK))

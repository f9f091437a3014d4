"""Turn documents into the ids that `tokenizers` gives for their text, and tell where each sentence ends.

The text of a document is what `export --to jsonl` writes of it: sentences with a space between them, paragraphs with an empty
line.  A token belongs to the sentence that its last character is in: " Two" begins the second one, and the line feeds that end a
paragraph belong to the sentence before them.

    One. Two.\\n\\nThree.        One .  |  ĠTwo . Ċ Ċ  |  Three .

Where `local` says that this gives the same ids, the text is cut before every space that follows a word; the parts are numbered,
and each that is new is looked up, once, in a bounded memo, which asks `tokenizers` (`parts`).  A part whose normal form begins or
ends in another way than with a space and a visible character gives its document, as a whole, to `tokenizers`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from ..records import PARAGRAPH, UNSPACED
from .encoder import Ints, joined
from .parts import BREAK, FIRST, MARKS, SPACE, Memo, Written, calls, ends_of

__all__ = ["DocumentEncoder"]

_BATCH = 8 << 20  # bytes of text at a time
_IS_LETTER = np.array([chr(byte).isascii() and chr(byte).isalpha() for byte in range(256)])
_IS_MARK = np.array([byte in MARKS for byte in range(256)])
_NOTHING, _SPACED, _PARAGRAPH = range(3)  # what stands before a sentence


class _Text(NamedTuple):
    """Documents as text: UTF-8 end to end, where each document begins in it, and its end [D + 1]; where each sentence begins, in
    bytes [S], and what stands before it [S]; and where documents begin in sentences [D + 1].
    """

    data: pa.LargeStringArray
    bytes: npt.NDArray[np.uint8]
    documents: Ints
    starts: Ints
    before: npt.NDArray[np.uint8]
    sentences: Ints


class DocumentEncoder:
    """Encode documents with a tokenizer of `size` ids; `local`: whether a part of a text may be asked for by itself.

    `marks`: whether one that begins with a mark behind a letter may as well.  `written`: what pieces stand for, where that is
    known; without it new parts are asked for one by one.
    """

    def __init__(
        self, tokenizer: Tokenizer, size: int, *, local: bool, marks: bool = False, written: Written | None = None
    ) -> None:
        self.dtype = np.dtype(np.uint16 if size <= 1 << 16 else np.uint32)
        self._tokenizer, self._marks = tokenizer, marks
        tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        self._memo = Memo(tokenizer, self.dtype, marks=marks, written=written)
        self._local = local and self._memo.works

    def encode_documents(self, sentences: pa.ListArray, paragraphs: pa.ListArray) -> tuple[npt.NDArray[Any], Ints]:
        """Return all ids [T] end to end, and where each sentence ends [S]; paragraphs begin at the numbers of their sentences."""
        return joined([self._encode(text) for text in _texts(sentences, paragraphs)], self.dtype)

    def _encode(self, text: _Text) -> tuple[npt.NDArray[Any], Ints]:
        count = len(text.documents) - 1
        if not self._local:
            return joined([*self._ask_documents(text, range(count))], self.dtype)
        ids, ends, hard = self._by_parts(text)
        if not len(hard):
            return ids, ends
        asked = dict(zip(hard.tolist(), self._ask_documents(text, hard.tolist()), strict=True))
        edges = np.append(0, ends)[text.sentences]
        encoded = []
        for document in range(count):
            first, last = text.sentences[document : document + 2]
            parts = ids[edges[document] : edges[document + 1]], ends[first:last] - edges[document]
            encoded.append(asked.get(document, parts))
        return joined(encoded, self.dtype)

    # --- by parts ---

    def _by_parts(self, text: _Text) -> tuple[npt.NDArray[Any], Ints, Ints]:
        """Return ids and ends, and the documents for which they are not right."""
        data = text.bytes
        begin = text.documents[:-1][np.diff(text.documents) > 0]
        cut = np.zeros(len(data), bool)
        cut[1:] = (data[1:] == SPACE) & (data[:-1] > SPACE)
        if self._marks:
            cut[1:] |= _IS_LETTER[data[:-1]] & _IS_MARK[data[1:]]
        cut[begin] = True
        starts = np.flatnonzero(cut)
        edges = pa.py_buffer(np.append(starts, len(data)).astype(np.int64))
        parts = pa.Array.from_buffers(pa.large_binary(), len(starts), [None, edges, pa.py_buffer(data)]).dictionary_encode()
        names, number = parts.dictionary.to_pylist(), parts.indices.to_numpy().copy()
        marked = np.searchsorted(starts, begin[_IS_MARK[data[begin]] & self._marks])
        firsts = [FIRST + names[of] for of in number[marked].tolist()]
        number[marked] = np.arange(len(names), len(names) + len(firsts))
        names += firsts
        packed = self._memo(names)
        sizes = np.fromiter(map(len, packed), np.int64, len(packed)) // self.dtype.itemsize
        values = pa.array(np.frombuffer(b"".join(packed), self.dtype))
        lists = pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(sizes)).astype(np.int32)), values).take(pa.array(number))
        offsets = lists.offsets.to_numpy().astype(np.int64)

        first_part = np.searchsorted(starts, text.starts, "right") - 1  # the part that each sentence begins in
        inside = np.flatnonzero(starts[np.maximum(first_part, 0)] < text.starts) if len(starts) else np.zeros(0, np.int64)
        begins = offsets[np.searchsorted(starts, text.starts)]
        at = text.starts[inside] - starts[first_part[inside]]
        known = (self._memo.breaks.get(names[of], {}) for of in number[first_part[inside]].tolist())
        before = np.array([counts.get(byte, -1) for counts, byte in zip(known, at.tolist(), strict=True)], np.int64)
        begins[inside] = offsets[first_part[inside]] + before
        wrong = text.starts[inside][before < 0]
        bad = np.concatenate([starts[sizes[number] == 0], wrong, begin[data[begin] <= SPACE]])
        hard = np.unique(np.searchsorted(text.documents, bad, "right") - 1)
        ends = np.append(begins[1:], offsets[-1] if len(offsets) else 0)[: len(text.starts)]
        return lists.flatten().to_numpy(), ends, hard

    # --- whole documents ---

    def _ask_documents(self, text: _Text, numbers: Sequence[int]) -> Iterator[tuple[npt.NDArray[Any], Ints]]:
        """Yield ids and ends of documents, as the library has them of their whole text."""
        texts = ["".join(text.data[text.sentences[n] : text.sentences[n + 1]].to_pylist()) for n in numbers]
        sizes = pc.utf8_length(text.data).to_numpy()
        for start, end in calls(texts):
            answers = self._tokenizer.encode_batch(texts[start:end], add_special_tokens=False)
            for number, answer in zip(numbers[start:end], answers, strict=True):
                span = slice(text.sentences[number], text.sentences[number + 1])
                ids = np.array(answer.ids, self.dtype)
                starts = np.cumsum(sizes[span]) - sizes[span] + len(PARAGRAPH) * (text.before[span] == _PARAGRAPH)
                yield ids, np.append(ends_of(answer, starts[1:]), len(ids))[: len(starts)]


def _texts(sentences: pa.ListArray, paragraphs: pa.ListArray) -> Iterator[_Text]:
    """Yield documents as text, in batches of bounded size."""
    flat = sentences.flatten().cast(pa.large_string())
    counts = np.append(0, np.cumsum(sentences.value_lengths().fill_null(0).to_numpy())).astype(np.int64)
    sizes = np.append(0, np.cumsum(pc.binary_length(flat).to_numpy())).astype(np.int64)[counts]
    cuts = np.flatnonzero(np.diff(sizes[:-1] // _BATCH)) + 1
    starts, of = paragraphs.flatten().to_numpy().astype(np.int64), paragraphs.value_lengths().fill_null(0).to_numpy()
    before = np.full(len(flat), _SPACED, np.uint8)
    for ending in UNSPACED:
        before[1:][pc.ends_with(flat, ending).to_numpy(zero_copy_only=False)[:-1]] = _NOTHING
    before[starts + np.repeat(counts[:-1], of)] = _PARAGRAPH
    before[counts[:-1][np.diff(counts) > 0]] = _NOTHING
    for first, last in itertools.pairwise([0, *cuts.tolist(), len(sentences)]):
        span = slice(counts[first], counts[last])
        yield _text(flat[span.start : span.stop], before[span], counts[first : last + 1] - counts[first])


def _text(sentences: pa.LargeStringArray, before: npt.NDArray[np.uint8], counts: Ints) -> _Text:
    """Put what stands before each sentence there."""
    separators = pa.array(["", " ", PARAGRAPH], pa.large_string()).take(pa.array(before))
    data = pc.binary_join_element_wise(separators, sentences, pa.scalar("", pa.large_string()))
    bounds = np.frombuffer(data.buffers()[1], np.int64)[data.offset : data.offset + len(data) + 1]
    utf8 = np.frombuffer(data.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
    bounds = bounds - bounds[0]
    starts = bounds[:-1] + len(BREAK) * (before == _PARAGRAPH)
    return _Text(data, utf8, bounds[counts], starts, before, counts)

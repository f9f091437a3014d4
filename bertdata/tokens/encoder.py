"""Turn sentences into WordPiece ids, exactly as `tokenizers` does, or count their words; it is asked about new words only.

The bytes of a text are cut, all at once, at white space and around characters that are words of their own (punctuation,
Chinese characters).  No rule of BERT's looks across these cuts, so a part has the same ids wherever it stands.

    He said: "Tea,    parts    He |said|: |"|Tea|,

The parts of a text are numbered, and each that is new to it is looked up, once, in a memo that holds the ids of parts, which only
`tokenizers` knows.  The memo is bounded, and no result depends on what is in it.

>>> from bertdata.tokens.vocab import SPECIAL, Vocabulary
>>> tokenizer = Vocabulary([*SPECIAL, "tea", "##s", "!"], lowercase=True, strip_accents=True).tokenizer()
>>> ids, ends = Encoder(tokenizer, 8).encode(["Teas tea", "TEA!"])
>>> ids.tolist(), ends.tolist()
([5, 6, 5, 5, 7], [3, 5])
>>> sorted(count_words(["Teas tea", "TEA!"], tokenizer).items())
[('!', 1), ('tea', 2), ('teas', 1)]
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tokenizers import Tokenizer

__all__ = ["Encoder", "Ints", "count_parts", "count_words", "joined", "parts_to_words"]

_BATCH = 8 << 20  # bytes cut at a time
_MEMO = 24 << 20  # bytes of the memo, above which it begins anew
_PARTS = 1000  # parts normalized at a time: `tokenizers` takes about 60 bytes a character until it is done

# Characters that are words of their own by BERT's rules.  Not all of them: what is missing here is cut by `tokenizers`.
_ALONE = np.zeros(1 << 16, bool)
for _first, _last in (
    *((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xA1), (0xAB, 0xAB), (0xBB, 0xBB), (0xBF, 0xBF)),
    *((0x2010, 0x2027), (0x2030, 0x203A), (0x3001, 0x3003), (0x3008, 0x3011), (0x3014, 0x301B), (0x30FB, 0x30FB)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF01, 0xFF03), (0xFF05, 0xFF0A), (0xFF0C, 0xFF0F)),
    *((0xFF1A, 0xFF1B), (0xFF1F, 0xFF20)),
):
    _ALONE[_first : _last + 1] = True
_BETWEEN = "."  # one of them, which the normalizer makes of no other character
_BLANK = b" \t\n\r"  # white space of BERT's that a byte tells; what else is white space is cut by `tokenizers`

# What a byte of UTF-8 is: the four white spaces, a character that stands alone, the first byte of one that may, or any other.
_SPACE, _OTHER, _SINGLE, _TWO, _THREE = range(5)
_KINDS = np.full(256, _OTHER, np.uint8)
_KINDS[:128][_ALONE[:128]] = _SINGLE
_KINDS[list(_BLANK)] = _SPACE
_KINDS[0xC2] = _TWO  # U+0080 to U+00BF
_KINDS[0xE2:0xF0] = _THREE  # U+2000 to U+FFFF
Ints = npt.NDArray[np.int64]


def joined(parts: list[tuple[npt.NDArray[Any], Ints]], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """Put ids of texts end to end, and move where their sentences end."""
    before = np.cumsum([0, *(len(ids) for ids, _ in parts)])
    moved = [ends + start for (_, ends), start in zip(parts, before.tolist(), strict=False)]
    return np.concatenate([np.zeros(0, dtype), *(ids for ids, _ in parts)]), np.concatenate([np.zeros(0, np.int64), *moved])


class Encoder:
    """Encode sentences with a tokenizer of `size` pieces, as `Vocabulary.tokenizer` makes it."""

    def __init__(self, tokenizer: Tokenizer, size: int) -> None:
        self.dtype = np.dtype(np.uint16 if size <= 1 << 16 else np.uint32)
        self._tokenizer = tokenizer
        self._forget()

    def _forget(self) -> None:
        self._memo: dict[bytes, bytes] = {}
        self._taken = 0

    def encode(self, sentences: Sequence[str] | pa.StringArray) -> tuple[npt.NDArray[Any], Ints]:
        """Return all ids [T] end to end, and where each sentence ends [S]; "[SEP]" in a text is text."""
        return joined([self._encode(text) for text in _batches(sentences)], self.dtype)

    def encode_documents(self, sentences: pa.ListArray, paragraphs: pa.ListArray) -> tuple[npt.NDArray[Any], Ints]:
        """Return all ids [T] end to end, and where each sentence ends [S]; what stands between sentences changes no id."""
        return self.encode(sentences.flatten())

    def _encode(self, text: pa.LargeStringArray) -> tuple[npt.NDArray[Any], Ints]:
        parts, numbers, counts = _number(text)
        packed: list[Any] = list(map(self._memo.get, parts))
        unseen = [at for at, ids in enumerate(packed) if ids is None]
        self._learn({parts[at] for at in unseen})
        for at in unseen:
            packed[at] = self._memo[parts[at]]
        if self._taken + sys.getsizeof(self._memo) > _MEMO:
            self._forget()
        edges = np.cumsum([0, *map(len, packed)], dtype=np.int32) // self.dtype.itemsize
        ids = pa.ListArray.from_arrays(pa.array(edges), pa.array(np.frombuffer(b"".join(packed), self.dtype))).take(numbers)
        return ids.flatten().to_numpy(), ids.offsets.to_numpy()[counts].astype(np.int64)

    def _learn(self, parts: set[bytes]) -> None:
        """Remember the ids of parts, with and without the white space behind them."""
        bare = {part.rstrip(_BLANK) for part in parts}
        self._remember(self._ask(part.decode() for part in bare.difference(self._memo)))
        self._remember({part: self._memo[part.rstrip(_BLANK)] for part in parts.difference(bare)})

    def _ask(self, parts: Iterable[str]) -> dict[bytes, bytes]:
        tokenize, kind = self._tokenizer.model.tokenize, self.dtype.char
        ids_of_parts = (
            (part, [piece.id for word in words for piece in tokenize(word)]) for part, words in _words(parts, self._tokenizer)
        )
        return {part.encode(): array(kind, ids).tobytes() for part, ids in ids_of_parts}

    def _remember(self, ids: dict[bytes, bytes]) -> None:
        self._memo.update(ids)
        self._taken += sum(map(sys.getsizeof, ids)) + sum(map(sys.getsizeof, ids.values()))


def _batches(sentences: Sequence[str] | pa.StringArray) -> Iterator[pa.LargeStringArray]:
    """Yield sentences in batches of bounded size."""
    text = (sentences if isinstance(sentences, pa.Array) else pa.array(sentences, pa.large_string())).cast(pa.large_string())
    bounds = _bounds(text)
    cuts = np.flatnonzero(np.diff((bounds - bounds[0]) // _BATCH)) + 1
    for start, end in pairwise([0, *cuts.tolist(), len(text)]):
        yield text.slice(start, end - start)


def _bounds(text: pa.LargeStringArray) -> npt.NDArray[np.int64]:
    """Return where the sentences begin in the buffer of a text, and where the last one ends."""
    return np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(text) + 1]


def _number(text: pa.LargeStringArray) -> tuple[list[bytes], pa.Int32Array, npt.NDArray[np.int64]]:
    """Cut sentences [S] into parts; return the distinct ones, with white space behind them, the number of each part [P], and how
    many parts there are up to the end of each sentence [S].
    """
    bounds = _bounds(text)
    data = np.frombuffer(text.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
    bounds = bounds - bounds[0]
    starts = _starts(data, bounds)
    edges = pa.py_buffer(np.append(starts, len(data)))
    parts = pa.Array.from_buffers(pa.large_binary(), len(starts), [None, edges, pa.py_buffer(data)]).dictionary_encode()
    return parts.dictionary.to_pylist(), parts.indices, np.searchsorted(starts, bounds[1:])


def _starts(data: npt.NDArray[np.uint8], bounds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return where parts start in UTF-8 that is cut at `bounds` as well."""
    kinds = _KINDS.take(data)
    cut = np.zeros(len(data) + 3, bool)
    cut[bounds] = True
    cut[: len(data)] |= kinds == _SINGLE
    cut[1 : len(data) + 1] |= (kinds == _SPACE) | (kinds == _SINGLE)
    for kind, width in ((_TWO, 2), (_THREE, 3)):
        at = np.flatnonzero(kinds == kind)
        code = data[at].astype(np.int32) & (0x3F >> width - 1)
        for byte in range(1, width):
            code = code << 6 | data[at + byte] & 0x3F
        at = at[_ALONE[code]]
        cut[at] = cut[at + width] = True
    return np.flatnonzero(cut[: len(data)] & (kinds != _SPACE))


def _words(parts: Iterable[str], tokenizer: Tokenizer) -> Iterator[tuple[str, list[str]]]:
    """Yield each part with its words, as the normalizer and the pre-tokenizer make them: one, as a rule.

    Plain ASCII only changes its case.  Other parts are given to the library together, with a character between them that
    comes back as a word of its own.
    """
    lowercase = tokenizer.normalizer.lowercase
    others = []
    for part in parts:
        if part.isascii() and part.isprintable():
            yield part, [part.lower() if lowercase else part]
        else:
            others.append(part)
    for start in range(0, len(others), _PARTS):
        group = others[start : start + _PARTS]
        normal = tokenizer.normalizer.normalize_str(_BETWEEN.join(group))
        words_of_parts: list[list[str]] = [[]]
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal):
            if word == _BETWEEN:
                words_of_parts.append([])
            else:
                words_of_parts[-1].append(word)
        yield from zip(group, words_of_parts, strict=True)


def count_parts(sentences: Sequence[str] | pa.StringArray) -> Counter[str]:
    """Count the parts of sentences; counts of several may be added up before they become words."""
    counts: Counter[str] = Counter()
    for text in _batches(sentences):
        parts, numbers, _ = _number(text)
        for part, count in zip(parts, np.bincount(numbers, minlength=len(parts)).tolist(), strict=True):
            counts[part.rstrip(_BLANK).decode()] += count
    return counts


def parts_to_words(parts: Counter[str], tokenizer: Tokenizer) -> Counter[str]:
    """Turn counted parts into counted words, as the tokenizer's normalizer and pre-tokenizer make them."""
    words: Counter[str] = Counter()
    for part, words_of_part in _words(parts, tokenizer):
        for word in words_of_part:
            words[word] += parts[part]
    return words


def count_words(sentences: Sequence[str], tokenizer: Tokenizer) -> Counter[str]:
    """Count the words of sentences."""
    return parts_to_words(count_parts(sentences), tokenizer)

"""Turn sentences into WordPiece ids, exactly as `tokenizers` does, or count their words; it is asked about new words only.

A text is cut in two steps.  White space cuts it into chunks; characters that are words of their own (punctuation, Chinese
characters) cut chunks into parts.  No rule of BERT's looks across these cuts, so a part has the same ids wherever it stands.

    He said: "Tea,    chunks   He  said:  "Tea,
                      parts    He  said  :  "  Tea  ,

A memo holds the ids of parts, which only `tokenizers` knows, and of chunks, which are put together from parts.  It is bounded,
and no result depends on what is in it.

>>> from bertdata.vocab import SPECIAL, Vocabulary
>>> tokenizer = Vocabulary([*SPECIAL, "tea", "##s", "!"], lowercase=True, strip_accents=True).tokenizer()
>>> ids, ends = Encoder(tokenizer, 8).encode(["Teas tea", "TEA!"])
>>> ids.tolist(), ends.tolist()
([5, 6, 5, 5, 7], [3, 5])
>>> sorted(count_words(["Teas tea", "TEA!"], tokenizer).items())
[('!', 1), ('tea', 2), ('teas', 1)]
"""

from __future__ import annotations

import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

__all__ = ["Encoder", "count_parts", "count_words", "parts_to_words"]

_BATCH = 1 << 16  # characters cut at a time: what is at work then stays in a processor's cache
_MEMO = 24 << 20  # bytes of the memo, above which it begins anew
_PARTS = 1000  # parts normalized at a time: `tokenizers` takes about 60 bytes a character until it is done

# Characters that BERT's normalizer takes out, and of which `str.split` would make a cut.
_REMOVED = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"

# Characters that are words of their own by BERT's rules.  Not all of them: what is missing here is cut by `tokenizers`.
_ALONE = (
    r"!-/:-@\[-`{-~\u00a1\u00ab\u00b7\u00bb\u00bf\u2010-\u2027\u2030-\u203a"
    r"\u3001-\u3003\u3008-\u3011\u3014-\u301b\u30fb\uff01-\uff03\uff05-\uff0a\uff0c-\uff0f\uff1a\uff1b\uff1f\uff20"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df"
)
_PART = re.compile(f"[^{_ALONE}]+|[{_ALONE}]")
_BETWEEN = "."  # one of them, which the normalizer makes of no other character


class Encoder:
    """Encode sentences with a tokenizer of `size` pieces, as `Vocabulary.tokenizer` makes it."""

    def __init__(self, tokenizer: Tokenizer, size: int) -> None:
        self.dtype = np.dtype(np.uint16 if size <= 1 << 16 else np.uint32)
        self._tokenizer = tokenizer
        self._forget()

    def _forget(self) -> None:
        self._memo: dict[str, bytes] = {}
        self._taken = 0

    def encode(self, sentences: Sequence[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return all ids [T] end to end, and where each sentence ends [S]; "[SEP]" in a text is text."""
        packed: list[bytes] = []
        for batch in _batches(sentences):
            lines = list(map(str.split, batch))
            # A set less a dict looks up what is in the set; less the dict's keys() it would walk through all of the memo.
            if unseen := set(chain.from_iterable(lines)).difference(self._memo):
                self._learn(unseen)
            ids = self._memo.__getitem__
            packed += [b"".join(map(ids, line)) for line in lines]
            if self._taken + sys.getsizeof(self._memo) > _MEMO:
                self._forget()
        lengths = np.fromiter(map(len, packed), np.int64, len(packed)) // self.dtype.itemsize
        return np.frombuffer(bytearray().join(packed), self.dtype), np.cumsum(lengths)

    def _learn(self, chunks: set[str]) -> None:
        """Put together the ids of new chunks; `tokenizers` is asked about the parts that are new."""
        cut = list(map(_PART.findall, chunks))
        self._remember(self._ask(set(chain.from_iterable(cut)).difference(self._memo)))
        ids = self._memo.__getitem__
        self._remember({chunk: b"".join(map(ids, parts)) for chunk, parts in zip(chunks, cut, strict=True) if len(parts) > 1})

    def _ask(self, parts: set[str]) -> dict[str, bytes]:
        tokenize, kind = self._tokenizer.model.tokenize, self.dtype.char
        words = _words(parts, self._tokenizer)
        return {part: array(kind, [piece.id for word in own for piece in tokenize(word)]).tobytes() for part, own in words}

    def _remember(self, ids: dict[str, bytes]) -> None:
        self._memo.update(ids)
        self._taken += sum(map(sys.getsizeof, ids)) + sum(map(sys.getsizeof, ids.values()))


def _batches(sentences: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield sentences in batches of bounded size, ready for `str.split`."""
    sizes = np.cumsum(np.fromiter(map(len, sentences), np.int64, len(sentences))) // _BATCH
    cuts = np.flatnonzero(np.diff(sizes)) + 1
    for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(sentences)], strict=True):
        batch, text = sentences[start:end], "".join(sentences[start:end])
        for character in _REMOVED:
            if character in text:
                batch = [sentence.replace(character, "") for sentence in batch]
        yield batch


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
        found: list[list[str]] = [[]]
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal):
            if word == _BETWEEN:
                found.append([])
            else:
                found[-1].append(word)
        yield from zip(group, found, strict=True)


def count_parts(sentences: Sequence[str]) -> Counter[str]:
    """Count the parts of sentences; counts of several may be added up before they become words."""
    chunks: Counter[str] = Counter()
    for batch in _batches(sentences):
        chunks.update(chain.from_iterable(map(str.split, batch)))
    once = (chunk for chunk, count in chunks.items() if count == 1)
    parts = Counter(chain.from_iterable(map(_PART.findall, once)))
    for chunk, count in chunks.items():
        if count > 1:
            for part in _PART.findall(chunk):
                parts[part] += count
    return parts


def parts_to_words(parts: Counter[str], tokenizer: Tokenizer) -> Counter[str]:
    """Turn counted parts into counted words, as the tokenizer's normalizer and pre-tokenizer make them."""
    words: Counter[str] = Counter()
    for part, own in _words(parts, tokenizer):
        for word in own:
            words[word] += parts[part]
    return words


def count_words(sentences: Sequence[str], tokenizer: Tokenizer) -> Counter[str]:
    """Count the words of sentences."""
    return parts_to_words(count_parts(sentences), tokenizer)

"""Encode with `tokenizers`, each distinct word once, for tokenizers that split text at spaces.

The ids of a text are those of its words, because after the split no rule looks beyond the word. A word has the space before
it. New words are encoded 50 in a text, and the offsets of the tokens show which word they belong to:

    "Tea is hot"   ->   "Tea" " is" " hot"   ->   ids("Tea") + ids(" is") + ids(" hot")

A text with two spaces in a row, or with a word that could be joined with an adjacent space, is encoded as a unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from .engines import WORDS_OF_TEXT, Encoded, Exact, sizes, steps

__all__ = ["Memo"]

WORD_BYTES = 16  # per space: text with longer words, such as Chinese, gains nothing from a memo of words
MEMO_WORDS = 1 << 18  # words a memo holds before it starts again, about 60 MB
MEMO_WORD_BYTES = 32  # longer words are rarely seen twice
CHARACTER_NORMALIZERS = ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "Precompiled", "BertNormalizer"]
SPACE_RUNS = (" {2,}", r"\s+")
PLAIN = re.compile(rb" ?[!-~]+")  # a word of ASCII
FIRST_WORDS: dict[bytes, bytes | None] = {b" ": None}  # of each memo


class Memo:
    """An engine of `tokenizers` with a memo of words."""

    def __init__(self, plain: dict[str, Any], tokenizer: Tokenizer) -> None:
        first, *others = steps(plain.get("pre_tokenizer"), "pretokenizers") or [{"type": ""}]
        is_split = (
            first["type"] == "BertPreTokenizer"
            or (first["type"] == "ByteLevel" and first.get("use_regex", True))
            or (first["type"] == "Metaspace" and first.get("split", True) and first.get("prepend_scheme") == "always")
        )
        inside = {"Punctuation", "Digits"}.issuperset(each["type"] for each in others)
        normalizers = all(
            step["type"] in CHARACTER_NORMALIZERS or (step["type"] == "Replace" and step["pattern"].get("Regex") in SPACE_RUNS)
            for step in steps(plain.get("normalizer"), "normalizers")
        )
        if not (is_split and inside and normalizers) or plain["added_tokens"]:
            raise NotImplementedError
        self._normal: Callable[[str], str] = tokenizer.normalizer.normalize_str if tokenizer.normalizer else str
        self._exact = Exact(tokenizer)
        # Word -> 8 bytes for each token: its id, and where it ends in the word. None: encode the text of this word as a unit.
        self._known = dict(FIRST_WORDS)

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        known, edges = self._known, np.append(0, np.cumsum(sizes(texts)))
        units = np.array([len(text) > 0 and len(text) >= text.count(b" ") * WORD_BYTES for text in texts], bool)
        if units.all():
            return self._exact(texts)
        data = b"".join(texts)
        begins = np.append(np.frombuffer(data, np.uint8) == ord(" "), True)
        begins[edges] = True
        new = list[bytes]()
        while True:
            for start, end in zip(edges[:-1][units].tolist(), edges[1:][units].tolist(), strict=True):
                begins[start + 1 : end] = False
            starts = np.flatnonzero(begins)
            # Arrow numbers the distinct words, so that Python handles each of them once.
            buffers = [None, pa.py_buffer(starts), pa.py_buffer(data)]
            coded = pa.Array.from_buffers(pa.large_binary(), len(starts) - 1, buffers).dictionary_encode()
            words, numbers = coded.dictionary.to_pylist(), coded.indices.to_numpy()
            inside = np.ones(len(numbers), bool)
            inside[np.searchsorted(starts, edges[:-1][units])] = False
            regular = np.flatnonzero(np.bincount(numbers[inside], minlength=len(words))).tolist()
            new += self._learn([words[number] for number in regular if words[number] not in known])
            is_unit = np.zeros(len(words), bool)
            is_unit[[number for number in regular if known[words[number]] is None]] = True
            if not is_unit.any():
                break
            units[np.searchsorted(edges, starts[:-1][inside & is_unit[numbers]], "right") - 1] = True
        found = [known.get(word) for word in words]
        alone = dict(self._encode([[word] for word, ids in zip(words, found, strict=True) if ids is None]))
        parts = [alone[word] if ids is None else ids for word, ids in zip(words, found, strict=True)]
        for word in new:
            if len(word) > MEMO_WORD_BYTES:
                del known[word]
        if len(known) > MEMO_WORDS:
            self._known = dict(FIRST_WORDS)
        tokens = sizes(parts) // 8
        counts, first = tokens[numbers], (np.cumsum(tokens) - tokens)[numbers]
        ends = np.append(0, np.cumsum(counts))
        packed = np.frombuffer(b"".join(parts), np.uint64)[np.repeat(first - ends[:-1], counts) + np.arange(ends[-1])]
        stops = (packed >> np.uint64(32)).astype(np.int64) + np.repeat(starts[:-1], counts)
        return Encoded(packed.astype(np.uint32), ends[np.searchsorted(starts, edges[1:])], stops)

    def _learn(self, words: list[bytes]) -> list[bytes]:
        """Encode new words, and return them."""
        local = [word for word in words if PLAIN.fullmatch(word) or self._is_local(word)]
        behind = [word for word in local if word.startswith(b" ")]
        groups = [behind[start : start + WORDS_OF_TEXT] for start in range(0, len(behind), WORDS_OF_TEXT)]
        self._known.update(dict.fromkeys(words))
        self._known.update(self._encode([*groups, *([word] for word in local if not word.startswith(b" "))]))
        return words

    def _encode(self, groups: Sequence[list[bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Yield each word with its tokens. The words of a group are one text."""
        words = [word for group in groups for word in group]
        ids, _, stops = self._exact([b"".join(group) for group in groups])
        edges = np.append(0, np.cumsum(sizes(words)))
        cuts = np.searchsorted(stops, edges, "right")
        places = stops - np.repeat(edges[:-1], np.diff(cuts))
        data = (ids | (places.astype(np.uint64) << np.uint64(32))).tobytes()
        yield from zip(words, (data[start * 8 : end * 8] for start, end in pairwise(cuts.tolist())), strict=True)

    def _is_local(self, word: bytes) -> bool:
        """Return False if a word may be joined with an adjacent space."""
        text = word.removeprefix(b" ").decode()
        normal = self._normal(text)
        return self._normal(f"a {text} a") == f"a {normal} a" and normal == normal.lstrip() != "" and "▁" not in normal

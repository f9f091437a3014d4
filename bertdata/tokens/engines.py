"""Encode text with the fastest library that returns the ids of `tokenizers`: nanotoken, gigatoken, or `tokenizers` itself.

    WordPiece            nanotoken
    byte-level BPE       gigatoken, if it is installed
    Unigram, other BPE   `tokenizers` with a memo of words; the others too, if the library is missing
    anything else        `tokenizers`

Ids never depend on the library. `same_engines` compares a library with `tokenizers` before it is used, on every token of the
vocabulary and on `HARD_STRINGS`, and encoders compare a sample of the text that they encode.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, cast
from unicodedata import category, is_normalized

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from ..pieces import piece_bytes
from .hard_strings import HARD_STRINGS

__all__ = ["Encoded", "Engine", "Exact", "Gigatoken", "Memo", "Nanotoken", "failures_as_exceptions", "same_engines", "steps"]

Ints = npt.NDArray[np.int64]

CALL_BYTES = 1 << 20  # per call of `tokenizers`, which takes about 200 bytes a token until the call ends
NANOTOKEN_CACHE_ENTRIES = 1 << 18  # words, about 50 MB; its default grows to hundreds of megabytes
GIGATOKEN_CACHE_BYTES = 96 << 20  # its cache grows to 512 MiB and has no setting: it is emptied when it has grown by this
GIGATOKEN_BLIND_BYTES = 16 << 20  # of text before the cache is emptied on systems that do not report the size of a process
WORDS_OF_TEXT = 50  # words that are encoded in one text
WORD_BYTES = 16  # per space: text with longer words, such as Chinese, gains nothing from a memo of words
MEMO_WORDS = 1 << 18  # words a memo holds before it starts again, about 60 MB
MEMO_WORD_BYTES = 32  # longer words are rarely seen twice
CHARACTER_NORMALIZERS = ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "Precompiled", "BertNormalizer"]
SPACE_RUNS = (" {2,}", r"\s+")
PLAIN = re.compile(rb" ?[!-~]+")  # a word of ASCII
FIRST_WORDS: dict[bytes, bytes | None] = {b"": b"", b" ": None}  # of each memo


class Encoded(NamedTuple):
    """Texts as ids.

    Attributes:
        ids: The ids of all texts, end to end [T].
        ends: The end of each text in `ids` [N].
        stops: Where each token ends in the texts, end to end, in bytes [T]; [0] from nanotoken.
    """

    ids: npt.NDArray[Any]
    ends: Ints
    stops: npt.NDArray[Any]


Engine = Callable[[Sequence[bytes]], Encoded]  # texts are UTF-8


def _sizes(parts: Sequence[Any]) -> Ints:
    return np.fromiter(map(len, parts), np.int64, len(parts))


class Exact:
    """`tokenizers` itself."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        ids, stops, start = [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)], 0
        cuts = np.flatnonzero(np.diff(np.cumsum(_sizes(texts)) // CALL_BYTES)) + 1
        for first, after in pairwise([0, *cuts.tolist(), len(texts)]):
            group = texts[first:after]
            answers = self._tokenizer.encode_batch([text.decode() for text in group], add_special_tokens=False)
            for text, answer in zip(group, answers, strict=True):
                ids.append(np.fromiter(answer.ids, np.uint32))
                stops.append(start + _stops(answer.offsets, text))
                start += len(text)
        return Encoded(np.concatenate(ids), np.cumsum(_sizes(ids[1:])), np.concatenate(stops))


def _stops(offsets: list[tuple[int, int]], text: bytes) -> Ints:
    """Return where tokens end in a text, in bytes, by the offsets of their characters. No token ends before its first byte."""
    places = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 != 0x80), len(text))
    return np.maximum.accumulate(np.maximum(places[np.fromiter(map(itemgetter(1), offsets), np.int64)], 1))


def same_engines(
    tokenizer: Tokenizer, words: Sequence[str], *kinds: Callable[[dict[str, Any], Tokenizer], Engine]
) -> list[Engine]:
    """Return the engines with the same ids as `tokenizers`, the fastest first, or an empty list.

    Args:
        tokenizer: Reference for the ids.
        words: The text of its tokens, which an engine must encode like `tokenizers`.
        kinds: Classes of engines to try.
    """
    plain = {**json.loads(tokenizer.to_str()), "post_processor": None, "truncation": None, "padding": None}
    plain["added_tokens"] = [token for token in plain.get("added_tokens") or [] if not token["special"]]  # "[SEP]" is text
    texts = [*HARD_STRINGS, *(" ".join(words[start : start + WORDS_OF_TEXT]) for start in range(0, len(words), WORDS_OF_TEXT))]
    data = [text.encode("utf-8", "replace") for text in texts]
    expected, found = Exact(tokenizer)(data), []
    for kind in kinds:
        with contextlib.suppress(Exception), failures_as_exceptions():  # not installed, not supported, or a failure
            engine = kind(plain, tokenizer)
            if all(map(np.array_equal, engine(data)[:2], expected[:2])):
                found.append(engine)
    return found


class Nanotoken:
    """WordPiece by nanotoken, on the calling thread."""

    def __init__(self, plain: dict[str, Any], tokenizer: Tokenizer) -> None:
        if plain["model"]["type"] != "WordPiece":
            raise NotImplementedError
        from nanotoken import WordPieceTokenizer, set_cache_entries

        set_cache_entries(NANOTOKEN_CACHE_ENTRIES)
        self._tokenizer = WordPieceTokenizer.from_json(json.dumps(plain))

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        ids, edges = self._tokenizer.encode_batch(texts, add_special_tokens=False, parallel=False)
        return Encoded(ids, edges[1:], edges[:0])


class Gigatoken:
    """Byte-level BPE by gigatoken, on the calling thread, with a cache of bounded size.

    Tokens stand for the bytes of the text, so their sizes show where they end. `tokenizers` encodes the other texts: those it
    normalizes, and those with characters that Python's version of Unicode does not define, because the libraries use different
    versions. U+0CDC is a letter for gigatoken (Unicode 17) only.
    """

    def __init__(self, plain: dict[str, Any], tokenizer: Tokenizer) -> None:
        normalizers = [step["type"] for step in steps(plain.get("normalizer"), "normalizers")]
        first = steps(plain.get("pre_tokenizer"), "pretokenizers")
        is_bytes = plain["model"]["type"] == "BPE" and any(step["type"] == "ByteLevel" for step in first)
        if not is_bytes or {*normalizers} - {"NFC"} or any(step.get("add_prefix_space") for step in first):
            raise NotImplementedError
        from gigatoken.gigatoken_rs import load_hf_json

        self._normalizes, self._exact = bool(normalizers), Exact(tokenizer)
        ids = {**plain["model"]["vocab"], **{token["content"]: token["id"] for token in plain["added_tokens"]}}
        self._bytes = np.zeros(max(ids.values()) + 1, np.uint16)  # of each token
        self._bytes[[*ids.values()]] = [len(piece_bytes(piece, "Ġ")) for piece in ids]
        form = json.dumps({**plain, "normalizer": None})
        self._load: Callable[[], Any] = lambda: load_hf_json(form)
        self._restart()

    def _restart(self) -> None:
        self._tokenizer = self._load()
        self._start_bytes, self._encoded = _process_bytes(), 0

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        data = b"".join(texts)
        changed = {number for number, text in enumerate(texts) if self._changes(text)} if self._changes(data) else set()
        parts = [self._tokenizer.encode(b"" if number in changed else text) for number, text in enumerate(texts)]
        self._encoded += len(data)
        grown = _process_bytes() - self._start_bytes
        if grown > GIGATOKEN_CACHE_BYTES or (not self._start_bytes and self._encoded > GIGATOKEN_BLIND_BYTES):
            self._restart()
        ids, ends, edges = np.concatenate([np.zeros(0, np.uint32), *parts]), np.cumsum(_sizes(parts)), np.cumsum(_sizes(texts))
        # 32 bits are twice as fast, and enough: a token stands for few bytes.
        stops = np.cumsum(self._bytes.take(ids, mode="clip"), dtype=np.int32 if len(data) < 1 << 27 else np.int64)
        if np.array_equal(np.insert(stops, 0, 0)[ends], edges):
            return Encoded(ids, ends, stops)
        found = list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]()
        for text, part in zip(texts, parts, strict=True):
            own = np.cumsum(self._bytes[part], dtype=np.int64)
            if own[-1:].sum() == len(text):
                found.append((part, own))
            else:
                answer = self._exact([text])
                found.append((answer.ids, answer.stops))
        ids_of, stops_of = zip(*found, strict=True)
        starts = np.repeat(edges - _sizes(texts), _sizes(ids_of))
        return Encoded(np.concatenate(ids_of), np.cumsum(_sizes(ids_of)), np.concatenate(stops_of) + starts)

    def _changes(self, text: bytes) -> bool:
        """Return True if normalization may change a text, or if it has unassigned characters."""
        if text.isascii():
            return False
        codes = np.frombuffer(text, np.uint8)
        kept = codes > 0x7F
        kept[:-1] |= kept[1:]  # each run of characters outside ASCII with the character before it: all that NFC can change
        rare = codes[kept].tobytes().decode()
        is_normal = not self._normalizes or is_normalized("NFC", rare)
        return not is_normal or any(category(character) == "Cn" for character in set(rare))


class Memo:
    """`tokenizers`, which encodes each distinct word once, for tokenizers that split text at spaces.

    The ids of a text are those of its words, because after the split no rule looks beyond the word. A word has the space before
    it. New words are encoded 50 in a text, and the offsets of the tokens show which word they belong to:

        "Tea is hot"   ->   "Tea" " is" " hot"   ->   ids("Tea") + ids(" is") + ids(" hot")

    A text with two spaces in a row, or with a word that could be joined with an adjacent space, is encoded as a unit.
    """

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
        known = self._known
        has_words = [len(text) < text.count(b" ") * WORD_BYTES for text in texts]
        if not any(has_words):
            return self._exact(texts)
        # UTF-8 has no byte FF. This takes half as long as a regular expression.
        rows = [text.replace(b" ", b"\xff ").split(b"\xff") if has else [] for text, has in zip(texts, has_words, strict=True)]
        new: dict[bytes, bytes | None] = dict.fromkeys(word for row in rows for word in row if word not in known)
        local = [word for word in new if PLAIN.fullmatch(word) or self._is_local(word)]
        behind = [word for word in local if word.startswith(b" ")]
        groups = [behind[start : start + WORDS_OF_TEXT] for start in range(0, len(behind), WORDS_OF_TEXT)]
        new.update(self._encode([*groups, *([word] for word in local if not word.startswith(b" "))]))
        known.update(new)
        found = [[*map(known.__getitem__, row)] if row else [None] for row in rows]
        units = dict(self._encode([[text] for text, tokens in zip(texts, found, strict=True) if None in tokens]))
        parts, words = list[bytes](), list[bytes]()
        for text, row, tokens in zip(texts, rows, found, strict=True):
            parts += [units[text]] if None in tokens else cast("list[bytes]", tokens)
            words += [text] if None in tokens else row
        for word in new:
            if len(word) > MEMO_WORD_BYTES:
                del known[word]
        if len(known) > MEMO_WORDS:
            self._known = dict(FIRST_WORDS)
        packed, edges = np.frombuffer(b"".join(parts), np.uint64), np.append(0, np.cumsum(_sizes(words)))
        counts = _sizes(parts) // 8
        stops = (packed >> np.uint64(32)).astype(np.int64) + np.repeat(edges[:-1], counts)
        ends = np.searchsorted(edges, np.cumsum(_sizes(texts)))
        return Encoded(packed.astype(np.uint32), np.append(0, np.cumsum(counts))[ends], stops)

    def _encode(self, groups: Sequence[list[bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Yield each word with its tokens. The words of a group are one text."""
        words = [word for group in groups for word in group]
        ids, _, stops = self._exact([b"".join(group) for group in groups])
        edges = np.append(0, np.cumsum(_sizes(words)))
        cuts = np.searchsorted(stops, edges, "right")
        places = stops - np.repeat(edges[:-1], np.diff(cuts))
        data = (ids | (places.astype(np.uint64) << np.uint64(32))).tobytes()
        yield from zip(words, (data[start * 8 : end * 8] for start, end in pairwise(cuts.tolist())), strict=True)

    def _is_local(self, word: bytes) -> bool:
        """Return False if a word may be joined with an adjacent space."""
        text = word.removeprefix(b" ").decode()
        normal = self._normal(text)
        return self._normal(f"a {text} a") == f"a {normal} a" and normal == normal.lstrip() != "" and "▁" not in normal


def steps(part: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    """Return the steps of a normalizer or pre-tokenizer in order, with those of nested sequences."""
    if part is None:
        return []
    return [step for each in part[key] for step in steps(each, key)] if part["type"] == "Sequence" else [part]


@contextlib.contextmanager
def failures_as_exceptions() -> Iterator[None]:
    """Turn a panic in a library written in Rust, which is a BaseException, into a RuntimeError."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(str(error)) from error


def _process_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0

"""Encode text with the fastest library that returns the ids of `tokenizers`: nanotoken, gigatoken, or `tokenizers` itself.

    WordPiece            nanotoken
    byte-level BPE       gigatoken, if it is installed
    Unigram, other BPE   `tokenizers`, one word at a time, with a memo of words; the others too, if the library is missing
    anything else        `tokenizers`

Ids never depend on the library. `same_engines` compares a library with `tokenizers` before it is used, on every token of the
vocabulary and on `HARD_STRINGS`, and encoders compare a sample of the text that they encode.

An engine maps texts, in UTF-8, to ids: ``engine(texts) -> (ids [T], ends [N])``, the ids of all texts end to end and the end of
each text in them. Special tokens that occur in a text, such as "[SEP]", are encoded as ordinary text.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast
from unicodedata import is_normalized

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from .hard_strings import HARD_STRINGS, has_unassigned, rare_characters

__all__ = ["Encoded", "Engine", "Gigatoken", "Ints", "Memo", "Nanotoken", "exact_engine", "joined", "same_engines"]

Ints = npt.NDArray[np.int64]
Encoded = tuple[npt.NDArray[Any], Ints]
Engine = Callable[[Sequence[bytes]], Encoded]

CALL_BYTES = 1 << 20  # per call of `tokenizers`, which takes about 200 bytes a token until the call ends
NANOTOKEN_CACHE_ENTRIES = 1 << 18  # words, about 50 MB; its default grows to hundreds of megabytes
GIGATOKEN_CACHE_BYTES = 96 << 20  # its cache grows to 512 MiB and has no setting: it is emptied when it has grown by this
GIGATOKEN_BLIND_BYTES = 16 << 20  # of text before the cache is emptied on systems that do not report the size of a process
WORDS_OF_TEXT = 50  # words that are encoded in one text
MEMO_WORDS = 1 << 18  # words a memo holds before it starts again, about 50 MB
MEMO_WORD_BYTES = 32  # longer words are rarely seen twice
CHARACTER_NORMALIZERS = ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "Precompiled", "BertNormalizer"]
SPACE_RUNS = (" {2,}", r"\s+")
PLAIN = re.compile(rb" ?[!-~]+")  # a word of ASCII
WHOLE = re.compile(rb".+")
BERT_PARTS = re.compile(rb"[A-Za-z0-9]+|[!-~]")
GPT2_PARTS = re.compile(rb"'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
LINES = re.compile(rb" ?[!-~\n]+")


def _end_to_end(parts: Sequence[npt.NDArray[Any]]) -> Encoded:
    """Put the ids of texts end to end; return them and the end of each text."""
    ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    return np.concatenate([np.zeros(0, np.uint32), *parts]), ends


def joined(encoded: Sequence[Encoded]) -> Encoded:
    """Put what an engine has made of several lists of texts end to end."""
    ids, before = _end_to_end([ids for ids, _ in encoded])
    moved = [ends + start for (_, ends), start in zip(encoded, [0, *before.tolist()], strict=False)]
    return ids, np.concatenate([before[:0], *moved])


def exact_engine(tokenizer: Tokenizer) -> Engine:
    """Return an engine that is `tokenizers` itself."""
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text

    def call(texts: Sequence[bytes]) -> Encoded:
        answers = tokenizer.encode_batch_fast([text.decode() for text in texts], add_special_tokens=False)
        return _end_to_end([np.array(answer.ids, np.uint32) for answer in answers])

    def encode(texts: Sequence[bytes]) -> Encoded:
        sizes = np.cumsum([0, *map(len, texts)])
        cuts = np.flatnonzero(np.diff(sizes[:-1] // CALL_BYTES)) + 1
        return joined([call(texts[start:end]) for start, end in pairwise([0, *cuts.tolist(), len(texts)])])

    return encode


def same_engines(
    tokenizer: Tokenizer, words: Sequence[str], *kinds: Callable[[dict[str, Any], Tokenizer], Engine]
) -> list[Engine]:
    """Return the engines with the same ids as `tokenizers`, the fastest first, or an empty list.

    Args:
        tokenizer: Reference for the ids.
        words: The text of its tokens, which an engine must encode like `tokenizers`.
        kinds: Classes of engines to try. All by default.
    """
    plain = {**json.loads(tokenizer.to_str()), "post_processor": None, "truncation": None, "padding": None}
    plain["added_tokens"] = [token for token in plain.get("added_tokens") or [] if not token["special"]]  # "[SEP]" is text
    texts = [*HARD_STRINGS, *(" ".join(words[start : start + WORDS_OF_TEXT]) for start in range(0, len(words), WORDS_OF_TEXT))]
    data = [text.encode("utf-8", "replace") for text in texts]
    expected, found = exact_engine(tokenizer)(data), []
    for kind in kinds or (Nanotoken, Gigatoken, Memo):
        with _failures_as_exceptions(), contextlib.suppress(Exception):  # not installed, not supported, or a failure
            engine = kind(plain, tokenizer)
            if all(map(np.array_equal, engine(data), expected)):
                found.append(engine)
    return found


class UnsupportedError(Exception):
    """An engine does not support a tokenizer."""


class Nanotoken:
    """WordPiece by nanotoken, on the calling thread."""

    def __init__(self, plain: dict[str, Any], tokenizer: Tokenizer) -> None:
        if plain["model"]["type"] != "WordPiece":
            raise UnsupportedError
        from nanotoken import WordPieceTokenizer, set_cache_entries

        set_cache_entries(NANOTOKEN_CACHE_ENTRIES)
        self._tokenizer = WordPieceTokenizer.from_json(json.dumps(plain))

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        with _failures_as_exceptions():
            ids, edges = self._tokenizer.encode_batch(texts, add_special_tokens=False, parallel=False)
        return ids, edges[1:]


class Gigatoken:
    """Byte-level BPE by gigatoken, on the calling thread, with a cache of bounded size.

    The two libraries use different versions of Unicode. `tokenizers` therefore normalizes text that is not in form C, and encodes
    text with characters that Python's version of Unicode does not define: U+0CDC is a letter for gigatoken (Unicode 17) only.

    Attributes:
        changed: Numbers of the texts of the last call that are not encoded as they are.
    """

    def __init__(self, plain: dict[str, Any], tokenizer: Tokenizer) -> None:
        # An added token must not be one that normalization could change.
        kept = all(token["content"].endswith((" ", "\n", "\t", "|")) for token in plain["added_tokens"])
        is_bytes = plain["model"]["type"] == "BPE" and "ByteLevel" in json.dumps(plain.get("pre_tokenizer"))
        if not is_bytes or not (kept or not plain.get("normalizer")):
            raise UnsupportedError
        from gigatoken.gigatoken_rs import load_hf_json

        steps = _steps(plain.get("normalizer"), "normalizers")
        self._normalizer, self._exact = tokenizer.normalizer if steps else None, exact_engine(tokenizer)
        self._only_nfc = all(step["type"] == "NFC" for step in steps)
        form = json.dumps({**plain, "normalizer": None})
        self._load: Callable[[], Any] = lambda: load_hf_json(form)
        self._restart()

    def _restart(self) -> None:
        self._tokenizer = self._load()
        self._start_bytes, self._encoded = _process_bytes(), 0

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        data = b"".join(texts)
        self.changed = [number for number, text in enumerate(texts) if self._changes(text)] if self._changes(data) else []
        self._encoded += len(data)
        with _failures_as_exceptions():
            encoded = [
                self._encode(text) if number in self.changed else self._tokenizer.encode(text)
                for number, text in enumerate(texts)
            ]
        grown = _process_bytes() - self._start_bytes
        if grown > GIGATOKEN_CACHE_BYTES or (not self._start_bytes and self._encoded > GIGATOKEN_BLIND_BYTES):
            self._restart()
        return _end_to_end(encoded)

    def _changes(self, text: bytes) -> bool:
        """Return True if normalization may change a text, or if it has unassigned characters."""
        rare = rare_characters(text)
        return has_unassigned(rare) or not (self._normalizer is None or (self._only_nfc and is_normalized("NFC", rare)))

    def _encode(self, text: bytes) -> npt.NDArray[Any]:
        if self._normalizer is None or has_unassigned(rare_characters(text)):
            return self._exact([text])[0]
        return np.asarray(self._tokenizer.encode(str(self._normalizer.normalize_str(text.decode()))))


class Memo:
    """`tokenizers`, which encodes each distinct word once, for tokenizers that split text at spaces.

    The ids of a text are those of its words, because after the split no rule looks beyond the word. Words of ASCII are cut once
    more, where BERT's or GPT-2's rules cut them, so that punctuation makes no new words:

        "Tea, tea"   ->   "Tea," "tea"   ->   "Tea" "," "tea"   ->   ids("Tea") + ids(",") + ids("tea")

    WordPiece and SentencePiece's kinds of BPE and Unigram encode a word alone as in a text, byte-level BPE with the space before
    it. A text with two spaces in a row, or a word that normalization could join with an adjacent space, is encoded as a unit.
    """

    def __init__(self, plain: dict[str, Any], tokenizer: Tokenizer) -> None:
        first, *others = _steps(plain.get("pre_tokenizer"), "pretokenizers") or [{"type": ""}]
        inside = {"Punctuation", "Digits"}.issuperset(each["type"] for each in others)
        sentence_piece = first["type"] == "Metaspace" and first.get("split", True) and first.get("prepend_scheme") == "always"
        self._space = b" " if first["type"] == "ByteLevel" else b""
        self._is_bert = first["type"] == "BertPreTokenizer"
        normalizers = all(
            step["type"] in CHARACTER_NORMALIZERS or (step["type"] == "Replace" and step["pattern"].get("Regex") in SPACE_RUNS)
            for step in _steps(plain.get("normalizer"), "normalizers")
        )
        is_split = sentence_piece or self._is_bert or (self._space and first.get("use_regex", True))
        is_known = plain["model"]["type"] in ("BPE", "Unigram", "WordPiece")
        if not (is_split and inside and normalizers and is_known) or plain["added_tokens"]:
            raise UnsupportedError
        # Alone, a part of a word gets the prefix that SentencePiece and `add_prefix_space` put before a text, so it stays whole.
        self._cut = BERT_PARTS if self._is_bert else GPT2_PARTS if first.get("add_prefix_space") is False else WHOLE
        self._normalizer, self._encode = tokenizer.normalizer, exact_engine(tokenizer)
        self._plain = LINES if self._cut is GPT2_PARTS and self._normal("a\n\na") == "a\n\na" else PLAIN
        # None: not a word that can be encoded independently. Behind a text's first space, byte-level BPE has a word.
        self._start: dict[bytes, bytes | None] = {b"": b"" if self._space else None, b" ": None}
        self._ids = self._start.copy()
        mark = "##" if self._is_bert else "Ġ" if self._space else "▁"
        pieces = (tokenizer.id_to_token(i) or "" for i in range(max(tokenizer.get_vocab().values()) + 1))
        self._begins = np.array([piece.startswith(mark) for piece in pieces]) ^ self._is_bert

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        words_of_texts = [text.split(b" ") for text in texts]
        if self._space:
            words_of_texts = [[first, *[b" " + word for word in words]] for first, *words in words_of_texts]
        known = self._ids
        cut = {word: self._parts(word) for words in words_of_texts for word in words if word not in known}
        new = {part for parts in cut.values() for part in parts if part not in known}
        together = {part for part in new if part.startswith(self._space) and self._is_one_word(part)}
        known.update(zip(together, self._words([*together], together=True), strict=True))
        known.update(zip(new - together, self._words([*(new - together)], together=False), strict=True))
        known.update((word, self._join(parts) if parts else None) for word, parts in cut.items())
        packed = [self._join(words) for words in words_of_texts]
        units = self._words([text for text, ids in zip(texts, packed, strict=True) if ids is None], together=False)
        complete = [next(units) if ids is None else ids for ids in packed]
        for word in {*cut, *new}:
            if len(word) > MEMO_WORD_BYTES:
                del known[word]
        if len(known) > MEMO_WORDS:
            self._ids = self._start.copy()
        ends = np.cumsum(np.fromiter(map(len, complete), np.int64, len(complete))) // 4
        return np.frombuffer(b"".join(complete), np.uint32), ends

    def _join(self, words: list[bytes]) -> bytes | None:
        """Return the ids of words, as bytes, or None if one of them cannot be encoded independently."""
        found = [*map(self._ids.__getitem__, words)]
        return None if None in found else b"".join(cast("list[bytes]", found))

    def _is_one_word(self, part: bytes) -> bool:
        return bool(PLAIN.fullmatch(part)) or (not self._is_bert and part.decode().isprintable())

    def _words(self, words: list[bytes], together: bool) -> Iterator[bytes]:
        """Yield the ids of words, as bytes. With `together`, a text has many words if only their first tokens mark a space."""
        size = WORDS_OF_TEXT if together and self._begins.any() else len(words) or 1
        for start in range(0, len(words), size):
            group, starts = words[start : start + size], np.zeros(0, np.int64)
            if size == WORDS_OF_TEXT:
                ids, _ = self._encode([(b"" if self._space else b" ").join(group)])
                starts = np.flatnonzero(self._begins[ids])
            if len(starts) != len(group):
                ids, ends = self._encode(group)
                starts = np.append(0, ends)[:-1]
            data, edges = ids.tobytes(), [*(starts * 4).tolist(), len(ids) * 4]
            yield from (data[start:end] for start, end in pairwise(edges))

    def _parts(self, word: bytes) -> list[bytes]:
        """Return the parts of a word that are encoded independently; none if normalization may join it with adjacent spaces."""
        if self._plain.fullmatch(word):
            return self._cut.findall(word)
        text = word.removeprefix(self._space).decode()
        normal = self._normal(text)
        is_alone = normal and self._normal(f"a {text} a") == f"a {normal} a" and normal == normal.strip() and "▁" not in normal
        return [word] if is_alone else []

    def _normal(self, text: str) -> str:
        return str(self._normalizer.normalize_str(text)) if self._normalizer else text


def _steps(part: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    """Return the steps of a normalizer or pre-tokenizer in order, with those of nested sequences."""
    if part is None:
        return []
    return [step for each in part[key] for step in _steps(each, key)] if part["type"] == "Sequence" else [part]


@contextlib.contextmanager
def _failures_as_exceptions() -> Iterator[None]:
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

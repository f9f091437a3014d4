"""Encode text with the fastest library that returns the ids of `tokenizers`: nanotoken, gigatoken, or `tokenizers` itself.

    WordPiece            nanotoken
    byte-level BPE       gigatoken, if it is installed
    Unigram, other BPE   `tokenizers`, one word at a time, with a memo of words
    anything else        `tokenizers`

Ids never depend on the library. `fast_engine` compares a library with `tokenizers` before it is used, on every token of the
vocabulary and on `HARD_STRINGS`, and encoders compare a sample of the text that they encode.

An engine maps texts to ids: ``engine(texts) -> (ids [T], ends [N])``, the ids of all texts end to end and the end of each text
in them. Special tokens that occur in a text, such as "[SEP]", are encoded as ordinary text.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from .hard_strings import HARD_STRINGS

__all__ = ["Encoded", "Engine", "Ints", "exact_engine", "fast_engine", "in_batches", "joined"]

Ints = npt.NDArray[np.int64]
Encoded = tuple[npt.NDArray[Any], Ints]
Engine = Callable[[Sequence[str]], Encoded]

CALL_CHARACTERS = 1 << 20  # per call of a library; `tokenizers` takes about 200 bytes a token until the call ends
NANOTOKEN_CACHE_ENTRIES = 1 << 18  # words, about 50 MB; its default grows to hundreds of megabytes
GIGATOKEN_CACHE_BYTES = 96 << 20  # its cache grows to 512 MiB and has no setting: it is emptied when it has grown by this
GIGATOKEN_BLIND_BYTES = 16 << 20  # of text before the cache is emptied on systems that do not report the size of a process
WORDS_OF_TEXT = 50  # tokens of a vocabulary that are compared in one text
MEMO_WORDS = 1 << 18  # words a memo holds before it starts again, about 50 MB
MEMO_WORD_CHARACTERS = 32  # longer words are rarely seen twice
CHARACTER_NORMALIZERS = ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "Precompiled")
SPACE_RUNS = (" {2,}", r"\s+")


def _end_to_end(parts: Sequence[npt.NDArray[Any]]) -> Encoded:
    """Put the ids of texts end to end; return them and the end of each text."""
    ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    return np.concatenate([np.zeros(0, np.uint32), *parts]), ends


def joined(encoded: Sequence[Encoded]) -> Encoded:
    """Put what an engine has made of several lists of texts end to end."""
    ids, before = _end_to_end([ids for ids, _ in encoded])
    moved = [ends + start for (_, ends), start in zip(encoded, [0, *before.tolist()], strict=False)]
    return ids, np.concatenate([before[:0], *moved])


def in_batches(engine: Engine) -> Engine:
    """Return an engine that calls another with about `CALL_CHARACTERS` at a time."""

    def encode(texts: Sequence[str]) -> Encoded:
        sizes = np.cumsum([0, *map(len, texts)])
        cuts = np.flatnonzero(np.diff(sizes[:-1] // CALL_CHARACTERS)) + 1
        return joined([engine(texts[start:end]) for start, end in pairwise([0, *cuts.tolist(), len(texts)])])

    return encode


@cache
def _unassigned() -> npt.NDArray[np.bool_]:
    """Return, for each code point, whether Python's version of Unicode leaves it undefined. A newer one may define a letter."""
    return np.fromiter((unicodedata.category(chr(code)) == "Cn" for code in range(sys.maxunicode + 1)), bool, sys.maxunicode + 1)


def _has_unassigned(text: str) -> bool:
    if text.isascii():
        return False
    return bool(_unassigned()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")].any())


def exact_engine(tokenizer: Tokenizer) -> Engine:
    """Return an engine that is `tokenizers` itself."""
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text

    def encode(texts: Sequence[str]) -> Encoded:
        answers = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return _end_to_end([np.array(answer.ids, np.uint32) for answer in answers])

    return in_batches(encode)


def fast_engine(form: str, pieces: Sequence[str]) -> Engine | None:
    """Return the fastest engine with the same ids as `tokenizers` for a tokenizer.json, or None if there is only `tokenizers`.

    Args:
        form: Contents of a tokenizer.json.
        pieces: Its tokens by id.
    """
    engine = _candidate(json.loads(form))
    if engine is None:
        return None
    words = [piece.strip("▁Ġ#") for piece in pieces]
    texts = [*HARD_STRINGS, *(" ".join(words[start : start + WORDS_OF_TEXT]) for start in range(0, len(words), WORDS_OF_TEXT))]
    expected = exact_engine(Tokenizer.from_str(form))(texts)
    with _failures_as_exceptions(), contextlib.suppress(Exception):
        if all(map(np.array_equal, engine(texts), expected)):
            return engine
    return None


def _candidate(parsed: dict[str, Any]) -> Engine | None:
    """Return the engine to try for a tokenizer.json, without its special tokens, which are ordinary text in a text."""
    plain = {**parsed, "added_tokens": [token for token in parsed.get("added_tokens") or [] if not token["special"]]}
    plain |= {"post_processor": None, "truncation": None, "padding": None}
    with _failures_as_exceptions(), contextlib.suppress(Exception):  # not installed, or not supported
        if parsed["model"]["type"] == "WordPiece":
            return Nanotoken(json.dumps(plain))
        if Gigatoken.fits(plain):
            return Gigatoken(plain)
    return Memo(plain) if Memo.fits(plain) else None


class Nanotoken:
    """WordPiece by nanotoken, on the calling thread."""

    def __init__(self, form: str) -> None:
        from nanotoken import WordPieceTokenizer, set_cache_entries

        set_cache_entries(NANOTOKEN_CACHE_ENTRIES)
        self._tokenizer = WordPieceTokenizer.from_json(form)

    def __call__(self, texts: Sequence[str]) -> Encoded:
        with _failures_as_exceptions():
            ids, edges = self._tokenizer.encode_batch(texts, add_special_tokens=False, parallel=False)
        return ids, edges[1:]


class Gigatoken:
    """Byte-level BPE by gigatoken, on the calling thread, with a cache of bounded size.

    The two libraries use different versions of Unicode. `tokenizers` therefore normalizes text that is not in form C, and encodes
    text with characters that Python's version of Unicode does not define: U+0CDC is a letter for gigatoken (Unicode 17) only.
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        from gigatoken.gigatoken_rs import load_hf_json

        steps = _steps(plain.get("normalizer"), "normalizers")
        tokenizer = Tokenizer.from_str(json.dumps(plain))
        self._normalizer, self._exact = tokenizer.normalizer if steps else None, exact_engine(tokenizer)
        self._only_nfc = all(step["type"] == "NFC" for step in steps)
        form = json.dumps({**plain, "normalizer": None})
        self._load: Callable[[], Any] = lambda: load_hf_json(form)
        self._restart()

    @staticmethod
    def fits(plain: dict[str, Any]) -> bool:
        """Return True for byte-level BPE, unless normalization could change one of its added tokens."""
        is_bytes = plain["model"]["type"] == "BPE" and "ByteLevel" in json.dumps(plain.get("pre_tokenizer"))
        kept = all(token["content"].endswith((" ", "\n", "\t", "|")) for token in plain["added_tokens"])
        return is_bytes and (kept or not plain.get("normalizer"))

    def _restart(self) -> None:
        self._tokenizer = self._load()
        self._start_bytes, self._encoded = _process_bytes(), 0

    def __call__(self, texts: Sequence[str]) -> Encoded:
        with _failures_as_exceptions():
            parts = [self._encode(text) for text in texts]
        self._encoded += sum(map(len, texts))
        grown = _process_bytes() - self._start_bytes
        if grown > GIGATOKEN_CACHE_BYTES or (not self._start_bytes and self._encoded > GIGATOKEN_BLIND_BYTES):
            self._restart()
        return _end_to_end(parts)

    def _encode(self, text: str) -> npt.NDArray[Any]:
        if _has_unassigned(text):
            ids: npt.NDArray[Any] = self._exact([text])[0]
            return ids
        return np.asarray(self._tokenizer.encode(self._normal(text)))

    def _normal(self, text: str) -> str:
        if self._normalizer is None or (self._only_nfc and unicodedata.is_normalized("NFC", text)):
            return text
        return str(self._normalizer.normalize_str(text))


class Memo:
    """Unigram, and BPE of SentencePiece's kind, by `tokenizers`, which encodes each distinct word once.

    Such tokenizers put ▁ in front of a text and for each space, and split the text in front of each ▁. After that no rule looks
    beyond the word, so the ids of a text are those of its words:

        "Tea, tea"   ->   "Tea," "tea"   ->   ids("Tea,") + ids("tea")

    A text with two spaces in a row, or a word that normalization could join with an adjacent space, is encoded as a unit.
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        tokenizer = Tokenizer.from_str(json.dumps(plain))
        self._normalizer, self._encode = tokenizer.normalizer, exact_engine(tokenizer)
        self._ids: dict[str, bytes | None] = {"": None}  # None: not a word that can be encoded independently

    @staticmethod
    def fits(plain: dict[str, Any]) -> bool:
        """Return True if a tokenizer.json splits normalized text in front of each space, and then only inside words."""
        first, *others = _steps(plain.get("pre_tokenizer"), "pretokenizers") or [{"type": ""}]
        always = first["type"] == "Metaspace" and first.get("split", True) and first.get("prepend_scheme") == "always"
        inside = {"Punctuation", "Digits"}.issuperset(each["type"] for each in others)
        normalizers = all(
            step["type"] in CHARACTER_NORMALIZERS or (step["type"] == "Replace" and step["pattern"].get("Regex") in SPACE_RUNS)
            for step in _steps(plain.get("normalizer"), "normalizers")
        )
        return bool(always and inside and normalizers and not plain["added_tokens"])

    def __call__(self, texts: Sequence[str]) -> Encoded:
        words_of_texts = [text.split(" ") for text in texts]
        new = dict.fromkeys(word for words in words_of_texts for word in words if word not in self._ids)
        alone = [word for word in new if self._stands_alone(word)]
        ids, ends = self._encode(alone)
        known: dict[str, bytes | None] = self._ids
        known |= new
        known.update(zip(alone, map(bytes, np.split(ids, ends[:-1])), strict=True) if alone else ())
        packed = []
        for text, words in zip(texts, words_of_texts, strict=True):
            found = [*map(known.__getitem__, words)]
            packed.append(self._encode([text])[0].tobytes() if None in found else b"".join(found))  # type: ignore[arg-type]
        for word in new:
            if len(word) > MEMO_WORD_CHARACTERS:
                del known[word]
        if len(known) > MEMO_WORDS:
            self._ids = {"": None}
        return _end_to_end([np.frombuffer(own, np.uint32) for own in packed])

    def _stands_alone(self, word: str) -> bool:
        """Return True if normalization keeps a word separate from adjacent spaces."""
        if word.isascii() and word.isprintable():
            return True
        normal, inside = ((self._normalizer.normalize_str(text) if self._normalizer else text) for text in (word, f"a {word} a"))
        return bool(normal) and inside == f"a {normal} a" and normal == normal.strip() and "▁" not in normal


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

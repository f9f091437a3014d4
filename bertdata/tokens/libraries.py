"""The libraries that encode text: nanotoken, gigatoken and `tokenizers`, each a callable from texts to ids."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any
from unicodedata import category, is_normalized

import numpy as np
import numpy.typing as npt

from ..pieces import piece_bytes
from .vocab import Vocabulary

Ints = npt.NDArray[np.int64]

CALL_BYTES = 1 << 20  # per call of `tokenizers`, which takes about 200 bytes a token until the call ends
NANOTOKEN_CACHE_ENTRIES = 1 << 18  # words, about 50 MB; its default grows to hundreds of megabytes
GIGATOKEN_BYTES = 64 << 20  # of text, after which its cache is emptied: it has no setting, and grows to 512 MiB

# The ids of texts, end to end [T]; the end of each text in them [N]; and where each token ends in the texts, end to end, in bytes
# [T], or [0] from nanotoken.
Encoded = tuple[npt.NDArray[Any], Ints, npt.NDArray[Any]]


class Exact:
    """`tokenizers` itself."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokenizer = vocabulary.tokenizer()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        ids, stops, start = [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)], 0
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes(texts)) // CALL_BYTES)) + 1
        for first, after in pairwise([0, *cuts.tolist(), len(texts)]):
            group = texts[first:after]
            answers = self._tokenizer.encode_batch([text.decode() for text in group], add_special_tokens=False)
            for text, answer in zip(group, answers, strict=True):
                ids.append(np.fromiter(answer.ids, np.uint32))
                stops.append(start + _stops(answer.offsets, text))
                start += len(text)
        return np.concatenate(ids), np.cumsum(sizes(ids[1:])), np.concatenate(stops)


def _stops(offsets: list[tuple[int, int]], text: bytes) -> Ints:
    """Return where tokens end in a text, in bytes, by the offsets of their characters. No token ends before its first byte."""
    places = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 != 0x80), len(text))
    return np.maximum.accumulate(np.maximum(places[np.fromiter(map(itemgetter(1), offsets), np.int64)], 1))


class Nanotoken:
    """WordPiece by nanotoken, on the calling thread."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        if not vocabulary.is_bert:
            raise NotImplementedError
        from nanotoken import WordPieceTokenizer, set_cache_entries

        set_cache_entries(NANOTOKEN_CACHE_ENTRIES)
        self._tokenizer = WordPieceTokenizer.from_json(json.dumps(_plain(vocabulary)))

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        ids, edges = self._tokenizer.encode_batch(texts, add_special_tokens=False, parallel=False)
        return ids, edges[1:], edges[:0]


class Gigatoken:
    """Byte-level BPE by gigatoken, on the calling thread, with a cache of bounded size.

    Tokens stand for the bytes of the text, so their sizes show where they end. `tokenizers` encodes the texts it normalizes, and
    those with characters that Python's version of Unicode does not define: U+0CDC is a letter for gigatoken (Unicode 17) only.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        plain = _plain(vocabulary)
        normalizers = [step["type"] for step in _steps(plain.get("normalizer"), "normalizers")]
        first = _steps(plain.get("pre_tokenizer"), "pretokenizers")
        is_bytes = plain["model"]["type"] == "BPE" and any(step["type"] == "ByteLevel" for step in first)
        if not is_bytes or {*normalizers} - {"NFC"} or any(step.get("add_prefix_space") for step in first):
            raise NotImplementedError
        from gigatoken.gigatoken_rs import load_hf_json

        self._normalizes, self._exact = bool(normalizers), Exact(vocabulary)
        ids = {**plain["model"]["vocab"], **{token["content"]: token["id"] for token in plain["added_tokens"]}}
        self._bytes = np.zeros(max(ids.values()) + 1, np.uint16)  # of each token
        self._bytes[[*ids.values()]] = [len(piece_bytes(piece, "Ġ")) for piece in ids]
        form = json.dumps({**plain, "normalizer": None})
        self._load = partial(load_hf_json, form)
        self._restart()

    def _restart(self) -> None:
        self._tokenizer, self._encoded = self._load(), 0

    def __call__(self, texts: Sequence[bytes]) -> Encoded:
        ids, stops, start = [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)], 0
        for text in texts:
            own = self._tokenizer.encode(b"" if self._changes(text) else text)
            ends = np.cumsum(self._bytes.take(own, mode="clip"), dtype=np.int64)
            if ends[-1:].sum() != len(text):
                own, _, ends = self._exact([text])
            ids.append(own)
            stops.append(start + ends)
            start += len(text)
        self._encoded += start
        if self._encoded > GIGATOKEN_BYTES:
            self._restart()
        return np.concatenate(ids), np.cumsum(sizes(ids[1:])), np.concatenate(stops)

    def _changes(self, text: bytes) -> bool:
        """Return True if normalization may change a text, or if it has unassigned characters."""
        if text.isascii():
            return False
        codes = np.frombuffer(text, np.uint8)
        kept = codes > 0x7F
        kept[:-1] |= kept[1:]  # each run of characters outside ASCII with the character before it: all that NFC can change
        rare = codes[kept].tobytes().decode()
        return (self._normalizes and not is_normalized("NFC", rare)) or any(
            category(character) == "Cn" for character in set(rare)
        )


LIBRARIES: dict[str, Callable[[Vocabulary], Callable[[Sequence[bytes]], Encoded]]] = {
    "nanotoken": Nanotoken,
    "gigatoken": Gigatoken,
    "tokenizers": Exact,
}


def _plain(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return a tokenizer.json that adds no special tokens, and for which "[SEP]" in a text is text."""
    plain = {**vocabulary.parsed, "post_processor": None, "truncation": None, "padding": None}
    return {**plain, "added_tokens": [token for token in plain.get("added_tokens") or [] if not token["special"]]}


def sizes(parts: Sequence[Any]) -> Ints:
    """Return the lengths of parts [N]."""
    return np.fromiter(map(len, parts), np.int64, len(parts))


def _steps(part: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    return list(part.get(key, [part])) if part else []


@contextlib.contextmanager
def failures_as_exceptions() -> Iterator[None]:
    """Turn a panic in a library written in Rust, which is a BaseException, into a RuntimeError."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(str(error)) from error

"""Find documents that share 13 consecutive words with an evaluation set, so that models are not tested on training text.

Text is compared as words, without case and width of letters; punctuation, symbols and space only end a word.  (13 words: Brown et
al. 2020, "Language Models are Few-Shot Learners", appendix C.)  Each Chinese or Japanese character counts as a word, as BERT has
it, and a run of which they are half or more has 26: 13 of them are many a set phrase.  A run is kept as 64 bits, not as text: a
billion runs of a corpus meet a million of an evaluation set by chance with a likelihood of 1 in 18,000.

    >>> grams = Grams(["The heron stood in the lower harbour until the ferry had crossed to the other side."])
    >>> grams.find("He wrote: 'THE HERON' -- stood in the lower harbour until the ferry had crossed to...")
    "THE HERON' -- stood in the lower harbour until the ferry had crossed to"
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import keys
from ...errors import UsageError
from ...storage.files import open_file
from .characters import DIGIT, LETTER, LETTERS_END, WINDOW_CHARS, codes, kinds

__all__ = ["CHARACTERS", "WORDS", "Grams", "read_examples"]

WORDS, CHARACTERS = 13, 26  # in a run: of words, and where half or more are Chinese or Japanese characters
_OVERLAP_CHARS = 2000  # characters that two windows share: a run of words is shorter
_PART, _ALONE = 1, 2  # part of a word; a word of one character.  0: between words
_SINGLE = ((0x3040, 0x3100), (0x31F0, 0x3200), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, LETTERS_END))
_BYTE, _BIT = np.uint64(64 - 24), np.uint64(64 - 27)  # one bit per 27-bit hash prefix excludes words that are in no example
_BITS = np.array([1, 2, 4, 8, 16, 32, 64, 128], np.uint8)
_HASH_BASE = 0x9E3779B97F4A7C15  # of the polynomial; odd, so that its powers have inverses
_WORD_START = np.uint64(0xBF58476D1CE4E5B9)  # added where a word begins

Bits = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.intp]


class Grams:
    """The runs of 13 words of an evaluation set: 8 bytes each, and a table of 16 MB.

    `examples` counts its texts, `short` those of fewer words, which can't be looked for.
    """

    def __init__(self, examples: Iterable[str]) -> None:
        self.examples = self.short = 0
        hashes_of_all = [np.zeros(0, np.uint64)]
        for example in examples:
            hashes = [_runs(window)[0] for window in _windows(example)]
            self.examples += 1
            self.short += not any(map(len, hashes))
            hashes_of_all += hashes
        self._hashes = np.unique(np.concatenate(hashes_of_all))
        self._table = np.zeros(1 << 24, np.uint8)
        np.bitwise_or.at(self._table, self._hashes >> _BYTE, _bit(self._hashes))

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, text: str) -> str:
        """Return the first run of words that a text shares with an example, or ``""``."""
        for window in _windows(text):
            hashes, starts, ends = _runs(window)
            # Nearly all runs of a corpus are in no evaluation set. A table of 2^27 bits, which fits
            # in a CPU cache better than the hashes, excludes almost all of them. The rest is
            # searched for exactly.
            likely = np.flatnonzero(self._table[hashes >> _BYTE] & _bit(hashes))
            # Leave out the last hash, so that larger values get its index instead of one past the end.
            index = np.searchsorted(self._hashes[:-1], hashes[likely])
            shared = likely[self._hashes[index] == hashes[likely]] if len(likely) else likely
            if len(shared):
                return window[starts[shared[0]] : ends[shared[0]]]
        return ""


def _bit(hashes: Bits) -> npt.NDArray[np.uint8]:
    """Return which bit of its byte in the table is a hash's."""
    return np.asarray(_BITS[(hashes >> _BIT) & np.uint64(7)], np.uint8)


def read_examples(name: str, path: str) -> Iterator[str]:
    """Yield the texts of an evaluation file: lines of ``.txt``, every string in the objects of ``.jsonl``.

    Raise UsageError, with the line, for what can't be read.
    """
    if not name.lower().endswith((".txt", ".jsonl")):
        raise UsageError(
            f"`exclude` {name}: unsupported file type. Use .txt with one example per line, or .jsonl", field="exclude", value=name
        )
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if name.lower().endswith(".txt"):
                    yield text
                elif text.strip():
                    yield from _strings(json.loads(text))
            except (ValueError, RecursionError) as error:
                raise UsageError(
                    f"`exclude` {name}: line {number} can't be read ({error}): mend it, or leave it out",
                    field="exclude",
                    value=name,
                ) from error


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def _windows(text: str) -> Iterator[str]:
    """Cut a text into windows."""
    text = unicodedata.normalize("NFC", text)
    for start in range(0, max(1, len(text) - _OVERLAP_CHARS), WINDOW_CHARS):
        yield text[start : start + WINDOW_CHARS + _OVERLAP_CHARS]


def _runs(text: str) -> tuple[Bits, Offsets, Offsets]:
    """Return the hashes of the runs of words in a window, and where in it each begins and ends.

    A run from character i to j of those that are in words has the hash ``(sum of n[k] * base**k) / base**i``, k from i to j.
    """
    # A rolling hash without a loop over words. Give character k the value n[k] * base^k, and take
    # running sums, so that the sum over any run is one subtraction. It still depends on the position
    # in the text: dividing by base^i, with i the first character, removes that. Division is
    # multiplication by the inverse, because everything is modulo 2^64 and the base is odd.
    #
    #   sums         0    n0    n0 + n1 b    n0 + n1 b + n2 b²
    #   run 1..2     (sums[3] - sums[1]) / b  =  n1 + n2 b
    roles, numbers = _characters()
    points = codes(text)
    kind = roles[points]
    part, alone = kind == _PART, kind == _ALONE
    opens = alone.copy()
    opens[:1] |= part[:1]
    opens[1:] |= part[1:] & ~part[:-1]
    positions = np.flatnonzero(kind)  # of the characters that are in words; below, indices are into these
    starts = np.flatnonzero(opens[positions])  # of words
    values = numbers[points[positions]]
    values[starts] += _WORD_START
    powers, inverses = _powers()
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values * powers[: len(values)], out=sums[1:])
    single = np.concatenate([[0], np.cumsum(alone[positions[starts]])])
    runs = [(np.zeros(0, np.uint64), starts[:0], starts[:0])]
    for size in (WORDS, CHARACTERS)[: 1 + bool(single[-1])]:
        ends = np.append(starts[size:], len(values))[: max(0, len(starts) - size + 1)]
        firsts = starts[: len(ends)]
        if single[-1]:
            # Runs of 13 count where most words are alphabetic, runs of 26 where half or more are
            # Han or kana.
            kept = (2 * (single[size:] - single[:-size]) >= size) == (size == CHARACTERS)
            firsts, ends = firsts[kept], ends[kept]
        hashes = (sums[ends] - sums[firsts]) * inverses[firsts]
        runs.append(((hashes ^ hashes >> np.uint64(32)) * powers[1], positions[firsts], positions[ends - 1] + 1))
    hashes, firsts, ends = map(np.concatenate, zip(*runs, strict=True))
    return hashes, firsts, ends


@cache
def _characters() -> tuple[npt.NDArray[np.uint8], Bits]:
    """Return what each code point is to a word, and a number for each: one for capital and small, wide and narrow letters."""
    roles = np.isin(kinds(np.arange(LETTERS_END + 1)), [LETTER, DIGIT]).astype(np.uint8)
    for first, end in _SINGLE:
        roles[first:end] *= _ALONE
    plain = np.arange(LETTERS_END + 1)
    for code in np.flatnonzero(roles).tolist():
        folded = unicodedata.normalize("NFKC", chr(code)).lower()
        plain[code] = min(ord(folded), LETTERS_END) if len(folded) == 1 else code
    return roles, keys.stream(keys.key(0, "overlap"), LETTERS_END + 1)[plain]


@cache
def _powers() -> tuple[Bits, Bits]:
    """Return the powers of the base that a window needs, and of its inverse."""
    bases = np.array([_HASH_BASE, pow(_HASH_BASE, -1, 1 << 64)], np.uint64)
    powers = np.ones((2, WINDOW_CHARS + _OVERLAP_CHARS), np.uint64)
    powers[:, 1:] = np.cumprod(np.repeat(bases[:, None], WINDOW_CHARS + _OVERLAP_CHARS - 1, axis=1), axis=1)
    return powers[0], powers[1]

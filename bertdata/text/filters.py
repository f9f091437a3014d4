"""Find documents to drop: beyond a limit of `--min-…` and `--max-…`, or with text of an evaluation set."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import keys
from ..config import FilterConfig
from ..errors import UsageError
from ..records import Document, Drop
from ..storage.files import open_file

OPTIONS = {  # the option of each reason
    "too short": "min_characters",
    "too long": "max_characters",
    "few letters": "min_letters",
    "many digits": "max_digits",
    "repeated sentences": "max_repeated",
}
_WORDS, _CHARACTERS = 13, 26  # in a run: of words, and where half or more are Chinese or Japanese characters
_WINDOW_CHARS, _OVERLAP_CHARS = 1 << 18, 2000  # characters compared together; a run of words is shorter than the overlap
_LETTERS_END = 0x323B0  # code points from here on are not letters and count as this one
_CJK = ((0x3040, 0x3100), (0x31F0, 0x3200), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, _LETTERS_END))
_HASH_BASE = 0x9E3779B97F4A7C15  # of the polynomial; odd, so that its powers have inverses
_WORD_START = np.uint64(0xBF58476D1CE4E5B9)  # added where a word begins
_SLOT = np.uint64(64 - 24)  # a table with one byte per 24-bit hash prefix excludes most runs that are in no example

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.intp]


def measures(document: Document) -> dict[str, float]:
    """Return the length of a document in characters, and its shares of letters, digits and repeated sentences.

    Combining marks are letters. The shares of letters and digits are relative to letters, numbers, punctuation and symbols. The
    share of characters in sentences that repeat earlier ones is relative to all characters.

    >>> measures(Document("", "", "", "", "", ["Tea, 1859!", "Tea, 1859!", "Now."], [0]))["repeated"]
    0.4166666666666667
    """
    text, kinds = "".join(document.sentences), {"L": 0, "N": 0, "P": 0, "": 0}
    for start in range(0, len(text), _WINDOW_CHARS):
        window = text[start : start + _WINDOW_CHARS].encode("utf-32-le", "surrogatepass")
        counts = np.bincount(np.frombuffer(window, np.uint32))
        points = np.flatnonzero(counts)
        for point, count in zip(points.tolist(), counts[points].tolist(), strict=True):
            kinds[_kind(point)] += count
    characters, signs = len(text), sum(kinds[kind] for kind in "LNP") or 1
    repeated = characters - sum(map(len, set(document.sentences)))
    return {
        "characters": characters,
        "letters": kinds["L"] / signs,
        "digits": kinds["N"] / signs,
        "repeated": repeated / max(1, characters),
    }


@cache
def _kind(point: int) -> str:
    """Return "L" for letters and marks, "N" for numbers, "P" for punctuation and symbols, and "" for other code points."""
    category = unicodedata.category(chr(point))[0]
    return {"M": "L", "S": "P"}.get(category, category if category in "LNP" else "")


def check(document: Document, config: FilterConfig) -> Drop | None:
    """Return a `Drop` for the first limit that a document violates, or None.

    >>> table = Document("text:a", "text", "en", "", "", ["12.5 17.25 8 1 94"], [0])
    >>> check(table, FilterConfig())
    Drop(reason='few letters', id='text:a', detail='letters 0.0000 < 0.5')
    """
    found = measures(document)
    characters, letters, digits, repeated = found.values()
    if characters < config.min_characters:
        return Drop("too short", document.id, f"characters {characters} < {config.min_characters}")
    if config.max_characters and characters > config.max_characters:
        return Drop("too long", document.id, f"characters {characters} > {config.max_characters}")
    if letters < config.min_letters:
        return Drop("few letters", document.id, f"letters {letters:.4f} < {config.min_letters}")
    if config.max_digits < 1 and digits > config.max_digits:
        return Drop("many digits", document.id, f"digits {digits:.4f} > {config.max_digits}")
    if config.max_repeated < 1 and repeated > config.max_repeated:
        return Drop("repeated sentences", document.id, f"repeated {repeated:.4f} > {config.max_repeated}")
    return None


class Grams:
    """The runs of 13 words of an evaluation set, as sorted hashes (Brown et al. 2020, "Language Models are Few-Shot Learners").

    Text is compared as words, without case and width of letters. Each Chinese or Japanese character counts as a word. A run of
    which they are half or more has 26 words, because 13 of them can be a set phrase.

    ``examples`` counts the texts, ``short`` those of fewer words, which cannot be looked for.

    >>> grams = Grams(["The heron stood in the lower harbour until the ferry had crossed to the other side."])
    >>> grams.find("He wrote: 'THE HERON' -- stood in the lower harbour until the ferry had crossed to...")
    "THE HERON' -- stood in the lower harbour until the ferry had crossed to"
    """

    def __init__(self, examples: Iterable[str]) -> None:
        self.examples = self.short = 0
        parts = [np.zeros(0, np.uint64)]
        for example in examples:
            hashes = [_runs(window)[0] for window in _windows(example)]
            self.examples += 1
            self.short += not any(map(len, hashes))
            parts += hashes
        self._hashes = np.unique(np.concatenate(parts))
        self._table = np.zeros(1 << 24, bool)
        self._table[self._hashes >> _SLOT] = True

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, text: str) -> str:
        """Return the first run of words that a text shares with an example, or ``""``."""
        for window in _windows(text):
            hashes, starts, ends = _runs(window)
            likely = np.flatnonzero(self._table[hashes >> _SLOT])
            # Without the last hash, a larger value gets its index instead of one past the end.
            index = np.searchsorted(self._hashes[:-1], hashes[likely])
            shared = likely[self._hashes[index] == hashes[likely]] if len(likely) else likely
            if len(shared):
                return window[starts[shared[0]] : ends[shared[0]]]
        return ""


def _windows(text: str) -> Iterator[str]:
    text = unicodedata.normalize("NFC", text)
    for start in range(0, max(1, len(text) - _OVERLAP_CHARS), _WINDOW_CHARS):
        yield text[start : start + _WINDOW_CHARS + _OVERLAP_CHARS]


def _runs(text: str) -> tuple[Hashes, Offsets, Offsets]:
    """Return the hashes of the runs of words in a window, and where each begins and ends.

    A run from character i to j of those that are in words has the hash ``(sum of n[k] * base**k) / base**i``, k from i to j.
    Running sums give each run by one subtraction, and the division is a product with the inverse modulo 2**64.
    """
    letters, single, numbers = _characters()
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).clip(max=_LETTERS_END)
    part, alone = letters[points], single[points]
    opens = part & np.append(True, ~part[:-1]) | alone | part & np.append(False, alone[:-1])
    positions = np.flatnonzero(part)  # of the characters that are in words; below, indices are into these
    starts = np.flatnonzero(opens[positions])  # of words
    values = numbers[points[positions]]
    values[starts] += _WORD_START
    powers, inverses = _powers()
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values * powers[: len(values)], out=sums[1:])
    singles = np.append(0, np.cumsum(alone[positions[starts]]))
    runs = [(np.zeros(0, np.uint64), starts[:0], starts[:0])]
    for size in (_WORDS, _CHARACTERS)[: 1 + bool(singles[-1])]:
        ends = np.append(starts[size:], len(values))[: max(0, len(starts) - size + 1)]
        firsts = starts[: len(ends)]
        if singles[-1]:  # runs of 13 count where most words have letters, runs of 26 where half or more are characters
            kept = (2 * (singles[size:] - singles[:-size]) >= size) == (size == _CHARACTERS)
            firsts, ends = firsts[kept], ends[kept]
        hashes = (sums[ends] - sums[firsts]) * inverses[firsts]
        runs.append(((hashes ^ hashes >> np.uint64(32)) * powers[1], positions[firsts], positions[ends - 1] + 1))
    hashes, firsts, ends = map(np.concatenate, zip(*runs, strict=True))
    return hashes, firsts, ends


@cache
def _characters() -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], Hashes]:
    """Return for each code point: is it in words, is it a word, and its number, the same for capital and small letters."""
    letters = np.array([_kind(point) in ("L", "N") for point in range(_LETTERS_END + 1)])
    single = np.zeros(len(letters), bool)
    for first, end in _CJK:
        single[first:end] = letters[first:end]
    plain = np.arange(_LETTERS_END + 1)
    for code in np.flatnonzero(letters).tolist():
        folded = unicodedata.normalize("NFKC", chr(code)).lower()
        plain[code] = min(ord(folded), _LETTERS_END) if len(folded) == 1 else code
    return letters, single, keys.stream(keys.key(0, "overlap"), _LETTERS_END + 1)[plain]


@cache
def _powers() -> Hashes:
    """Return the powers of the base that a window needs, and of its inverse [2, N]."""
    bases = np.array([_HASH_BASE, pow(_HASH_BASE, -1, 1 << 64)], np.uint64)
    powers = np.ones((2, _WINDOW_CHARS + _OVERLAP_CHARS), np.uint64)
    powers[:, 1:] = np.cumprod(np.repeat(bases[:, None], powers.shape[1] - 1, axis=1), axis=1)
    return powers


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
                fault = f"`exclude` {name}: line {number} can't be read ({error}). Correct it, or leave it out"
                raise UsageError(fault, field="exclude", value=name) from error


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)

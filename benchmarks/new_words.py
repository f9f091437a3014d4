"""New words and new names of templates for text that is grown: as many as longer text would have, spelled as the language spells.

The number of different words in real text grows with its length n as K n^beta (Heaps' law), where copies of a text have no new
ones.  K and beta are fitted on the real text.  In its copies the words that occur once in it are exchanged: for new ones, while
there are fewer than the law tells, and else for one of those that were new before, so that these occur again as rare words do.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Heaps", "Newcomers", "Speller", "heaps", "renewed"]

_TEXT = re.compile(rb"(<text\b[^>]*>)([^<]*)")
_TOKEN = re.compile(r"\{\{\s*([^|{}\n<>:]+)|[^\W\d_]+")  # a template's name, or a word
_ORDER = 3  # letters by which the next one is drawn
_START, _END = "\0" * _ORDER, "\1"  # of a word
_LONGEST, _TRIES = 40, 20  # letters; how often a word is spelled by so many letters before it is by fewer


class Heaps(NamedTuple):
    """Heaps' law: of n tokens there are ``k * n ** beta`` different ones."""

    k: float
    beta: float

    def at(self, tokens: float) -> float:
        """Return how many different ones so many tokens have.

        >>> Heaps(2.0, 0.5).at(100)
        20.0
        """
        return float(self.k * tokens**self.beta)


def heaps(tokens: Sequence[str]) -> Heaps:
    """Fit Heaps' law on the growth of a text from a 50th to all of it, on logarithmic scales."""
    known, lengths, types = set[str](), [], []
    wanted = sorted({int(n) for n in np.geomspace(max(1, len(tokens) / 50), len(tokens), 30)})
    start = 0
    for end in wanted:
        known.update(tokens[start:end])
        lengths.append(end)
        types.append(len(known))
        start = end
    if len(wanted) < 3:
        raise ValueError(f"{len(tokens)} words are too few to fit their growth: give a larger dump")
    beta, k = np.polyfit(np.log(lengths), np.log(types), 1)
    return Heaps(float(np.exp(k)), float(beta))


class Speller:
    """Spell words that are none of those given, each letter drawn by the three before it, or by fewer where these give none."""

    def __init__(self, words: Iterable[str], seed: int) -> None:
        self.known = set(words)
        self._next: defaultdict[str, list[str]] = defaultdict(list)
        self._chance = random.Random(seed)
        for word in sorted(self.known):
            spelled = _START + word + _END
            for at in range(_ORDER, len(spelled)):
                for order in range(_ORDER + 1):
                    self._next[spelled[at - order : at]].append(spelled[at])

    def __call__(self) -> str:
        """Return a word that was never there."""
        tried = 0
        while True:
            order = max(0, _ORDER - tried // _TRIES)
            word = _START
            while len(word) < _LONGEST and (letter := self._chance.choice(self._next[word[len(word) - order :]])) != _END:
                word += letter
            word = word[_ORDER:].strip()
            if len(word) > 1 and word not in self.known:
                self.known.add(word)
                return word
            tried += 1
        raise AssertionError


class Newcomers:
    """Exchange tokens of a text's copies so that the number of different ones grows as the law says."""

    def __init__(self, tokens: Sequence[str], seed: int) -> None:
        counts = Counter(tokens)
        self.law, self.tokens, self.types = heaps(tokens), len(tokens), len(counts)
        self._scale = self.types / self.law.at(self.tokens)  # the fit may be a little off at its end: growth goes on from there
        self._once = {token for token, often in counts.items() if often == 1}
        self._spell = Speller(sorted(self._once) or sorted(counts), seed)
        self._spell.known.update(counts)
        self._rare: list[str] = sorted(self._once)
        self._chance = random.Random(seed)

    def __call__(self, token: str) -> str:
        """Return what stands in a copy for a token."""
        self.tokens += 1
        if token not in self._once:
            return token
        if self.types < self._scale * self.law.at(self.tokens):
            self.types += 1
            self._rare.append(self._spell())
            return self._rare[-1]
        return self._chance.choice(self._rare)


def renewed(pages: Iterable[bytes], real: int, seed: int = 1) -> Iterator[bytes]:
    """Yield pages, the first `real` as they are, and the copies after them with new words and templates."""
    kept: list[bytes] = []
    words = names = None
    for page in pages:
        if len(kept) < real:
            kept.append(page)
            yield page
            continue
        if words is None or names is None:
            text = [m[2].decode("utf-8", "surrogateescape") for p in kept for m in _TEXT.finditer(p)]
            found = [match for part in text for match in _TOKEN.finditer(part)]
            words = Newcomers([match[0].lower() for match in found if not match[1]], seed)
            names = Newcomers([match[1].strip() for match in found if match[1]], seed)
        yield _renew(page, words, names)


def _renew(page: bytes, words: Newcomers, names: Newcomers) -> bytes:
    """Exchange the tokens of a page's text."""

    def token(match: re.Match[str]) -> str:
        if name := (match[1] or "").strip():
            return match[0].replace(name, names(name))
        new = words(match[0].lower())
        return match[0] if new == match[0].lower() else new.capitalize() if match[0][0].isupper() else new

    def text(match: re.Match[bytes]) -> bytes:
        changed = _TOKEN.sub(token, match[2].decode("utf-8", "surrogateescape"))
        return match[1] + changed.encode("utf-8", "surrogateescape")

    return _TEXT.sub(text, page)

"""Train a Unigram vocabulary (Kudo 2018, "Subword regularization", section 3.2): all words at once, by NumPy, in a fixed order.

Each token has a probability. The probability of a word is the sum over all ways to split it. Training starts with the frequent
strings inside words. Then it repeats two steps until the target size is reached: fit the probabilities by expectation
maximization, and remove the quarter of the tokens with the least loss. Characters of the alphabet always stay.

Differences from SentencePiece: words are cut at spaces and punctuation first, the frequent strings are counted by length, and a
probability is a plain share of the expected counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["train"]

_MAX_WORDS = 300_000  # distinct words, the most frequent first; limits memory
_MAX_WORD_CHARACTERS = 32  # characters; longer words are cut, so that products of probabilities fit in 64-bit floats
_MAX_PIECE_CHARACTERS = 16  # as in SentencePiece
_SEEDS_PER_TOKEN = 10  # initial strings per requested token
_KEPT_SHARE = 0.75  # share of tokens kept per round
_EM_STEPS = 2  # of expectation maximization per round
_SPARE_RATIO = 1.1  # times the requested size is selected by loss, then the most probable of these
_MIN_OCCURRENCES = 0.5  # expected occurrences of a piece that stays, as SentencePiece has it
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of the hash of a string; odd
_EDGES_PER_BATCH = 1 << 18  # processed at a time, to limit memory in addition to the lattice
Array = npt.NDArray[Any]


def train(words: Mapping[str, int], alphabet: Sequence[str], size: int) -> list[tuple[str, float]]:
    """Return `size` pieces at most, those of the alphabet among them, with the logarithms of their probabilities."""
    known = {character: i for i, character in enumerate(alphabet)}
    runs: dict[str, int] = {}
    for word, count in sorted(words.items(), key=lambda item: (-item[1], item[0]))[:_MAX_WORDS]:
        for run in _known_runs(word, known):
            runs[run] = runs.get(run, 0) + count
    strings = sorted(runs)
    counts = np.array([runs[run] for run in strings], np.float64)
    texts = _Strings(strings, known)
    pieces = [*alphabet, *_seeds(texts, strings, counts, max(size, 1) * _SEEDS_PER_TOKEN)]
    lattice = _Lattice(texts, pieces, known)
    share = np.full(len(pieces), 1.0 / len(pieces))
    while True:
        for _ in range(_EM_STEPS):
            expected = lattice.expected(share, counts)
            share = _shares(expected, len(alphabet))
        if len(pieces) <= size * _SPARE_RATIO:
            break
        del lattice  # two of them would be the most that is held
        loss = _losses(pieces, known, share, expected)
        kept = max(int(size * _SPARE_RATIO), int(len(pieces) * _KEPT_SHARE))
        chosen = _best(loss, pieces, kept, len(alphabet))
        pieces, share = [pieces[i] for i in chosen], share[chosen]
        lattice = _Lattice(texts, pieces, known)
    chosen = _best(share, pieces, size, len(alphabet))
    scored = [(pieces[i], round(math.log(share[i]), 6)) for i in chosen]
    return sorted(scored, key=lambda item: (-item[1], item[0]))


def _known_runs(word: str, known: Mapping[str, int]) -> list[str]:
    """Cut a word where a character is unknown, and where it is too long."""
    runs = "".join(c if c in known else "\0" for c in word).split("\0")
    return [run[start : start + _MAX_WORD_CHARACTERS] for run in runs for start in range(0, len(run), _MAX_WORD_CHARACTERS)]


class _Strings:
    """Concatenated strings, with the position of each character and the hashes of all substrings by length.

    Positions fit in 32 bits, because there are at most `_MAX_WORDS` strings of `_MAX_WORD_CHARACTERS` characters.
    """

    def __init__(self, strings: Sequence[str], known: Mapping[str, int]) -> None:
        self.sizes = np.array([len(string) for string in strings], np.int32)
        self.codes = np.fromiter((known[c] + 1 for string in strings for c in string), np.uint64, int(self.sizes.sum()))
        self.of = np.repeat(np.arange(len(strings), dtype=np.int32), self.sizes)
        starts = np.cumsum(self.sizes, dtype=np.int32) - self.sizes
        self.offset = np.arange(len(self.codes), dtype=np.int32) - np.repeat(starts, self.sizes)
        self.left = self.sizes[self.of] - self.offset  # characters from here to the end of the string

    def hashes(self, longest: int) -> Any:
        """Yield each length with the places where a string of it begins, and their hashes."""
        hashes_here = np.zeros(len(self.codes), np.uint64)
        for length in range(1, longest + 1):
            positions = np.flatnonzero(self.left >= length).astype(np.int32)
            hashes_here[positions] = (hashes_here[positions] + self.codes[positions + length - 1]) * _HASH_FACTOR
            hashes_here[positions] ^= hashes_here[positions] >> np.uint64(29)
            yield length, positions, hashes_here[positions]


def _seeds(texts: _Strings, strings: Sequence[str], counts: Array, most: int) -> list[str]:
    """Return the strings of two characters and more that cover most text, of those that occur twice."""
    values, positions_of, lengths = [np.zeros(0)], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for length, positions, hashes in texts.hashes(_MAX_PIECE_CHARACTERS):
        if length < 2 or not len(positions):
            continue
        _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        covered = np.bincount(inverse, counts[texts.of[positions]]) * length
        kept = np.flatnonzero(covered >= 2 * length)
        kept = kept[np.argsort(-covered[kept], kind="stable")[:most]]
        values.append(covered[kept])
        positions_of.append(positions[first[kept]])
        lengths.append(np.full(len(kept), length, np.int32))
    value, position, size = (np.concatenate(parts) for parts in (values, positions_of, lengths))
    if len(value) > most:  # strings are made of those alone that may be among the first
        chosen = value >= np.partition(value, len(value) - most)[len(value) - most]
        value, position, size = value[chosen], position[chosen], size[chosen]
    found = zip(*(part.tolist() for part in (value, texts.of[position], texts.offset[position], size)), strict=True)
    return [piece for _, piece in sorted((-v, strings[i][at : at + n]) for v, i, at, n in found)[:most]]


class _Lattice:
    """All ways to cut strings into pieces: a node before each character and at each end, and an edge for each piece that fits."""

    def __init__(self, texts: _Strings, pieces: Sequence[str], known: Mapping[str, int], *, whole: bool = True) -> None:
        table, longest = _Strings(pieces, known), max(map(len, pieces))
        starts, ends, ids = [], [], []
        for (length, positions, hashes), (_, places, piece_hashes) in zip(
            texts.hashes(longest), table.hashes(longest), strict=True
        ):
            complete = table.sizes[table.of[places]] == length
            numbers, known_hashes = table.of[places[complete]], piece_hashes[complete]
            if not len(numbers):
                continue
            order = np.argsort(known_hashes, kind="stable")
            at = order[np.minimum(np.searchsorted(known_hashes[order], hashes), len(known_hashes) - 1)]
            fits = known_hashes[at] == hashes
            if not whole:
                fits &= texts.sizes[texts.of[positions]] != length
            starts.append(positions[fits])
            ends.append(positions[fits] + length)
            ids.append(numbers[at[fits]])
        self.ids = np.concatenate(ids)
        del ids
        start = np.concatenate(starts)
        order = np.argsort(texts.offset[start].astype(np.uint8), kind="stable").astype(np.int32)
        bounds = np.searchsorted(texts.offset[start], np.arange(_MAX_WORD_CHARACTERS + 1), sorter=order)
        self.by_offset = [order[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True) if a < b]
        before = texts.of[start]  # a string has a node more than it has characters
        self.start = start + before
        self.end = np.concatenate(ends) + before
        self.nodes_of = texts.sizes + 1
        self.last = np.cumsum(self.nodes_of, dtype=np.int32) - 1
        self.first = self.last - texts.sizes
        self.nodes = int(self.nodes_of.sum())

    def expected(self, share: Array, counts: Array) -> Array:
        """Return how often each piece is expected, of strings that occur so often."""
        forward, backward = self.forward(share, np.add), np.zeros(self.nodes)
        backward[self.last] = 1
        for edges in reversed(self.by_offset):
            np.add.at(backward, self.start[edges], backward[self.end[edges]] * share[self.ids[edges]])
        per_node = np.repeat(counts / np.maximum(forward[self.last], 1e-300), self.nodes_of)
        expected = np.zeros(len(share))
        for at in range(0, len(self.ids), _EDGES_PER_BATCH):
            start, end, ids = (values[at : at + _EDGES_PER_BATCH] for values in (self.start, self.end, self.ids))
            np.add.at(expected, ids, forward[start] * share[ids] * backward[end] * per_node[start])
        return expected

    def forward(self, share: Array, combine: np.ufunc) -> Array:
        """Return the probability of the ways to each node: of all with `np.add`, of the most probable with `np.maximum`."""
        forward = np.zeros(self.nodes)
        forward[self.first] = 1
        for edges in self.by_offset:
            combine.at(forward, self.end[edges], forward[self.start[edges]] * share[self.ids[edges]])
        return forward


def _shares(expected: Array, alphabet: int) -> Array:
    """Return probabilities by expected counts; a piece that is hardly expected has next to none, a character some."""
    counts = np.where(expected < _MIN_OCCURRENCES, 1e-12, expected)
    counts[:alphabet] = np.maximum(counts[:alphabet], _MIN_OCCURRENCES)
    return np.asarray(counts / counts.sum())


def _losses(pieces: Sequence[str], known: Mapping[str, int], share: Array, expected: Array) -> Array:
    """Return how much less probable all words become without each piece, as the logarithm."""
    lattice = _Lattice(_Strings(pieces, known), pieces, known, whole=False)
    without = lattice.forward(share, np.maximum)[lattice.last]
    return np.asarray(expected * (np.log(share) - np.log(np.maximum(without, 1e-300))))


def _best(values: Array, pieces: Sequence[str], most: int, alphabet: int) -> list[int]:
    """Return the alphabet, and the pieces of the greatest values, in their order."""
    others = sorted(range(alphabet, len(pieces)), key=lambda i: (-values[i], pieces[i]))
    return [*range(alphabet), *sorted(others[: max(0, most - alphabet)])]

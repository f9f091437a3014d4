"""Measure how well a vocabulary covers each language: unknown words, tokens per word, long words that are split."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..dataset import manifest_records
from ..pieces import shown

COLUMNS = "language", "words", "[UNK]", "split", "tokens/word", "longest word that is split"
_MAX_WORDS = 10  # long words kept for each language
_MAX_LANGUAGES_SHOWN = 20  # languages shown; the manifest has all of them
_MAX_WORD_WIDTH = 50  # characters shown of a word and its pieces


class Coverage:
    """Count, for one language, how its words are cut.  A word is what BERT makes one, so punctuation counts too.

    >>> coverage = Coverage()
    >>> coverage.add(["tea", "teas", "☃"], np.array([7, 2, 1]), np.array([1, 2, 1]), np.array([False, False, True]))
    >>> result = coverage.result(lambda word: "tea ##s")
    >>> result.words, result.unknown_share, result.split_share, result.pieces_per_word, result.longest_split
    (10, 0.1, 0.2, 1.2, {'teas': 'tea ##s'})
    """

    def __init__(self) -> None:
        self._words = self._unknown = self._split = self._pieces = 0
        self._longest: set[str] = set()

    def add(
        self, words: Sequence[str], counts: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64], unknown: npt.NDArray[np.bool_]
    ) -> None:
        """Add distinct words [N] with how often each occurs, in how many pieces it is cut, and whether it is [UNK]."""
        split = pieces > 1
        self._words += int(counts.sum())
        self._pieces += int(counts @ pieces)
        self._split += int(counts[split].sum())
        self._unknown += int(counts[unknown].sum())
        longest = self._longest.union(itertools.compress(words, split.tolist()))
        self._longest = set(sorted(longest, key=lambda word: (-len(word), word))[:_MAX_WORDS])

    def result(self, cut: Callable[[str], str]) -> manifest_records.Coverage:
        """Return what the manifest keeps; `cut` writes a word as its pieces."""
        total = max(1, self._words)
        return manifest_records.Coverage(
            words=self._words,
            unknown_share=round(self._unknown / total, 6),
            split_share=round(self._split / total, 6),
            pieces_per_word=round(self._pieces / total, 4),
            longest_split={word: cut(word) for word in sorted(self._longest, key=lambda word: (-len(word), word))},
        )


def rows(coverage: Mapping[str, manifest_records.Coverage], mark: str = "##") -> list[tuple[str, ...]]:
    """Return the cells of `COLUMNS` for each language, the one with most words first; `mark` is that of the vocabulary."""
    order = sorted(coverage, key=lambda language: (-coverage[language].words, language))
    cells = list[tuple[str, ...]]()
    for language in order[:_MAX_LANGUAGES_SHOWN]:
        figures = coverage[language]
        words = ((shown(word, mark), cut.split(" ")) for word, cut in figures.longest_split.items())
        longest = next((f"{word} = {' '.join(shown(piece, mark) for piece in cut)}" for word, cut in words), "–")
        shares = f"{100 * figures.unknown_share:.2f} %", f"{100 * figures.split_share:.1f} %", f"{figures.pieces_per_word:.2f}"
        cells.append((language or "unknown", f"{figures.words:,}", *shares, longest[:_MAX_WORD_WIDTH]))
    if len(order) > _MAX_LANGUAGES_SHOWN:
        cells.append((f"and {len(order) - _MAX_LANGUAGES_SHOWN} more languages, in manifest.json", *[""] * 5))
    return cells


def table(coverage: Mapping[str, manifest_records.Coverage], mark: str = "##") -> str:
    """Return the rows as lines of text.

    >>> print(table({"en": manifest_records.Coverage(words=10, unknown_share=0.1, split_share=0.2, pieces_per_word=1.2,
    ...                                            longest_split={"teas": "tea ##s"})}))
      language           words    [UNK]   split  tokens/word  longest word that is split
      en                    10  10.00 %  20.0 %         1.20  teas = tea ##s
    """
    lines = ("  {:10}{:>14}{:>9}{:>8}{:>13}  {}".format(*cells) for cells in (COLUMNS, *rows(coverage, mark)))
    return "\n".join(map(str.rstrip, lines))

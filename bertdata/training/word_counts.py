"""Estimate the number of words (as `str.split` counts them) that a training run has seen, from its tokens.

A row does not store words, and token boundaries differ from whitespace.  But the manifest of rows has the
corpus' words, the number of its tokens that are in rows, and the rows' tokens, including special ones. They give the
mean number of words per token.  For a complete epoch of one dataset, the count is exact if its rows contain all tokens and no
validation split takes some. Within an epoch rows are in random order, and for N tokens the relative error is about 1/√N.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dataset.rows import Shards
from ..errors import UsageError

__all__ = ["Words", "words_per_token"]


class Words:
    """Count the words of a run by the `tokens` of each phase, and find the `milestones` (numbers by name) that a step reaches.

    >>> words = Words({"a": 5, "b": 9}, [0.5, 1.0])
    >>> words.add(0, 8), words.add(0, 2), words.add(1, 5), words.tokens
    ([], ['a'], ['b'], [10, 5])
    """

    def __init__(self, milestones: dict[str, int], rates: Sequence[float], tokens: list[int] | None = None) -> None:
        self._milestones, self._rates = milestones, rates
        self.tokens = [*(tokens or []), *[0] * len(rates)][: len(rates)]  # a finished run can get more phases

    def add(self, phase: int, tokens: int) -> list[str]:
        """Count a step's tokens. Return the names of the milestones it reached."""
        before = self._words()
        self.tokens[phase] += tokens
        return [name for name, words in self._milestones.items() if before < words <= self._words()]

    def _words(self) -> float:
        return sum(tokens * rate for tokens, rate in zip(self.tokens, self._rates, strict=True))


def words_per_token(shards: Shards) -> float:
    """Return the number of corpus words per token of the rows, including special tokens.

    Raise UsageError if a manifest has no count of words.
    """
    words = tokens = 0.0
    for path, contents, weight in zip(shards.paths, shards.manifests, shards.weights, strict=True):
        in_corpus = sum(source.words or 0 for source in (contents.corpus.sources if contents.corpus else {}).values())
        stages = contents.counts_of("tokens")
        entered, left = sum(stage.entered for stage in stages), sum(stage.left for stage in stages)
        if not in_corpus or not entered:
            raise UsageError(
                f"{path} does not store the number of words of its corpus: make the rows again, or omit checkpoint_words"
            )
        words += weight * in_corpus * contents.settings.dupe_factor * left / entered
        tokens += weight * contents.statistics.tokens
    return words / tokens

"""Estimate the number of words (as `str.split` counts them) that a training run has seen, from its tokens.

A row does not store words, and token boundaries differ from whitespace.  But the manifest of rows has the
corpus' words, the number of its tokens that are in rows, and the rows' tokens, including special ones. They give the
mean number of words per token.  For a complete epoch of one dataset, the count is exact if its rows contain all tokens and no
validation split takes some. Within an epoch rows are in random order, and for N tokens the relative error is about 1/√N.

>>> rate([{"words": 90, "tokens": 120, "weight": 1.0}, {"words": 10, "tokens": 80, "weight": 0.0}])
0.75
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..dataset import manifest
from ..dataset.manifest_types import PairsManifest
from ..errors import UsageError
from ..storage.files import to_path

__all__ = ["Words", "rate", "words_per_token"]


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


def words_per_token(directories: Iterable[str | Path], weights: Sequence[float]) -> float:
    """Return the number of corpus words per token of the rows, including special tokens, for directories of rows.

    Raise UsageError if a manifest has no count of words.
    """
    return rate(
        [{**_words_and_tokens(to_path(path)), "weight": weight} for path, weight in zip(directories, weights, strict=True)]
    )


def rate(parts: Iterable[dict[str, float]]) -> float:
    """Divide words by tokens, weighting each part."""
    parts = list(parts)
    return sum(part["weight"] * part["words"] for part in parts) / sum(part["weight"] * part["tokens"] for part in parts)


def _words_and_tokens(directory: Path) -> dict[str, float]:
    """Return the number of words in the rows of a directory, and of their tokens."""
    contents = manifest.read(directory, PairsManifest)
    words = sum(source.words or 0 for source in (contents.corpus.sources if contents.corpus else {}).values())
    stages = [stage for stage in contents.counts if stage.stage.endswith("tokens")]
    entered, left = sum(stage.entered for stage in stages), sum(stage.left for stage in stages)
    if not words or not entered:
        raise UsageError(
            f"{directory} does not store the number of words of its corpus: make the rows again, or omit checkpoint_words"
        )
    return {"words": words * contents.settings.dupe_factor * left / entered, "tokens": contents.statistics.tokens}

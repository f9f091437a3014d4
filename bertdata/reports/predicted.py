"""Define the contents of predictions.json: the predictions of a training run's last saved model for a few rows."""

from __future__ import annotations

from ..codec import Count, Record

__all__ = ["NAME", "Pair", "Predictions", "Row", "Word"]

NAME = "predictions.json"


class Word(Record, frozen=True, kw_only=True):
    """A masked word: its position, the token, the token shown to the model, and the best guesses with their probabilities."""

    at: Count
    truth: str
    shown: str
    guesses: list[tuple[str, float]]


class Pair(Record, frozen=True, kw_only=True):
    """The label of a pair, the model's guess, and the probability of the guess."""

    truth: str
    guess: str
    share: float


class Row(Record, frozen=True, kw_only=True):
    """The first tokens of a row before masking, its number of tokens, and the predictions for it."""

    pieces: list[str]
    tokens: Count
    words: list[Word]
    pairs: list[Pair] | None = None


class Predictions(Record, frozen=True, kw_only=True):
    """The contents of predictions.json. `mark` is the vocabulary's mark of words, and `special` its special tokens."""

    step: Count
    held_out: bool
    mark: str
    special: list[str]
    rows: list[Row]

"""Which documents of a whole corpus are kept: no duplicates, sources in proportion, a sample."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from .base import Config

__all__ = ["DEDUP", "ChoiceConfig"]

DEDUP = ("none", "exact", "near")


@dataclass(frozen=True, kw_only=True)
class ChoiceConfig(Config):
    """What is chosen when all documents are known.

    `dedup` drops documents whose words are those of an earlier one (``exact``), and those whose similarity to an earlier one is
    estimated as `near_threshold` or more (``near``); `dedup_paragraphs` drops long paragraphs that have occurred before.  `mix`
    gives sources shares of the text (``wikipedia=0.7,books=0.3``), `sample_documents` is how many documents are drawn from
    what is left, 0 standing for all; both draw by `seed`.
    """

    dedup: str = "exact"
    dedup_paragraphs: bool = False
    near_threshold: float = 0.8
    mix: str = ""
    sample_documents: int = 0
    seed: int = 12345

    def __post_init__(self) -> None:
        self._require(self.dedup in DEDUP, f"--dedup {self.dedup}: use one of {', '.join(DEDUP)}")
        self._require(0.3 <= self.near_threshold <= 1, "--near-threshold: use a similarity between 0.3 and 1")
        self._require(
            self.dedup == "near" or self.near_threshold == ChoiceConfig.near_threshold,
            "--near-threshold does nothing without --dedup near",
        )
        self._require(self.sample_documents >= 0, "--sample-documents: use at least 1, or 0 for all")
        _ = self.shares

    @property
    def shares(self) -> dict[str, float]:
        """The share of each source, relative to their sum; none where sources are taken as they come.

        >>> ChoiceConfig(mix="wikipedia=0.7, books=0.3").shares
        {'wikipedia': 0.7, 'books': 0.3}
        """
        shares: dict[str, float] = {}
        for part in self.mix.split(",") if self.mix.strip() else []:
            name, _, value = (piece.strip() for piece in part.partition("="))
            try:
                share = float(value)
            except ValueError:
                share = 0.0
            self._require(
                name not in shares and 0 < share < math.inf,
                f"--mix {self.mix}: write each source once, with a share over 0: wikipedia=0.7,books=0.3",
            )
            shares[name] = share
        return shares

    def check(self, sources: Collection[str]) -> None:
        """Raise UsageError where the mixture is not of the sources that are read."""
        given = ", ".join(sources)
        self._require(
            not self.mix.strip() or {*self.shares} == {*sources},
            f"--mix {self.mix}: give a share to each source that is read, and to no other: {given}",
        )

"""Which documents of a whole corpus are kept: no duplicates, sources in proportion, a sample."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from .base import Config, option

__all__ = ["DEDUP", "ChoiceConfig"]

DEDUP = ("none", "exact", "near")
_SECTION = "Choice among all documents"


@dataclass(frozen=True, kw_only=True)
class ChoiceConfig(Config):
    """What is chosen when all documents are known; `mix` and `sample_documents` draw by `seed`."""

    dedup: str = option(
        "exact", "Keep the first of documents with the same words, or with nearly the same.", section=_SECTION, choices=DEDUP
    )
    dedup_paragraphs: bool = option(False, "Drop long paragraphs that have occurred before.", section=_SECTION)
    near_threshold: float = option(
        0.8, "Similarity from which on `dedup` near takes two documents for copies.", section=_SECTION, least=0.3, most=1
    )
    mix: str = option(
        "",
        "Shares of the text by source, such as wikipedia=0.7,books=0.3: sources are thinned to meet them.",
        section=_SECTION,
        metavar="SHARES",
    )
    sample_documents: int = option(
        0,
        "Draw exactly so many documents from all that are left; all where there are fewer.",
        section=_SECTION,
        least=1,
        unset="all",
    )
    seed: int = option(12345, "Seed of what `mix` and a sample draw.", section=_SECTION)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(
            self.dedup == "near" or self.near_threshold == ChoiceConfig.near_threshold,
            "`near_threshold` does nothing without `dedup` near",
        )
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
                f"`mix` {self.mix}: write each source once, with a share over 0: wikipedia=0.7,books=0.3",
            )
            shares[name] = share
        return shares

    def check(self, sources: Collection[str]) -> None:
        """Raise UsageError where the mixture is not of the sources that are read."""
        given = ", ".join(sources)
        self._require(
            not self.mix.strip() or {*self.shares} == {*sources},
            f"`mix` {self.mix}: give a share to each source that is read, and to no other: {given}",
        )

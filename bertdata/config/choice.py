"""Configure which documents of a whole corpus are kept: no duplicates, sources in proportion, a sample."""

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
        "exact", "Drop repeated documents; near: also those with nearly the same words.", section=_SECTION, choices=DEDUP
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
    max_words: str = option(
        "",
        "Draw exactly so many words (`str.split`), in all or by source, such as 10000000 or books=3000000,text=7000000; the last "
        "document is cut; all where there are fewer.",
        section=_SECTION,
        metavar="WORDS",
    )
    seed: int = option(12345, "Seed of what `mix`, `max_words` and a sample draw.", section=_SECTION)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(
            self.dedup == "near" or self.near_threshold == ChoiceConfig.near_threshold,
            "`near_threshold` does nothing without `dedup` near",
            field="near_threshold",
        )
        _ = self.shares, self.word_limits

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
                field="mix",
            )
            shares[name] = share
        return shares

    @property
    def word_limits(self) -> dict[str, int]:
        """The most words of each source that has a limit; of all together under "", last.

        >>> ChoiceConfig(max_words="10_000,books=3000").word_limits
        {'books': 3000, '': 10000}
        """
        limits: dict[str, int] = {}
        for part in self.max_words.split(",") if self.max_words.strip() else []:
            name, _, value = (piece.strip() for piece in part.rpartition("="))
            known = value.replace("_", "").isdecimal() and 0 < int(value) < 1 << 62
            self._require(
                name not in limits and known,
                f"`max_words` {self.max_words}: write a number over 0, or one for each source: books=3000000,text=7000000",
                field="max_words",
            )
            limits[name] = int(value)
        return dict(sorted(limits.items(), reverse=True))

    def check(self, sources: Collection[str]) -> None:
        """Raise UsageError where the mixture or a limit is not of the sources that are read."""
        given = ", ".join(sources)
        self._require(
            {*self.word_limits} - {""} <= {*sources},
            f"`max_words` {self.max_words}: give limits to sources that are read: {given}",
            field="max_words",
        )
        self._require(
            not self.mix.strip() or {*self.shares} == {*sources},
            f"`mix` {self.mix}: give a share to each source that is read, and to no other: {given}",
            field="mix",
        )

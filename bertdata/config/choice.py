"""Configure deduplication, the mixture and sampling, which look at all documents of a corpus."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from msgspec import Meta

from .base import Config, Count, Seed, option

N = TypeVar("N", int, float)
_SECTION = "Deduplication and sampling"


@dataclass(frozen=True, kw_only=True)
class ChoiceConfig(Config):
    """Deduplication, mixture and sample of a corpus. `mix`, `max_words` and `sample_documents` draw with `seed`."""

    dedup: Literal["none", "exact", "near"] = option(
        "exact", "Drop duplicate documents; near also drops near-duplicates.", section=_SECTION, first=True
    )
    dedup_paragraphs: bool = option(False, "Drop long paragraphs that occur earlier in the corpus.", section=_SECTION)
    near_threshold: Annotated[float, Meta(ge=0.3, le=1)] = option(
        0.6,
        "Minimum similarity of near-duplicates, with `dedup` near: the share of five-word sequences that two documents have in "
        "common. Copies in which one word in 20 is replaced have about 0.64.",
        section=_SECTION,
    )
    mix: str = option(
        "",
        "Target share of each source; documents are dropped at random to reach it. Example: wikipedia=0.7,books=0.3.",
        section=_SECTION,
        metavar="SHARES",
        first=True,
    )
    sample_documents: Count = option(
        0, "Number of documents to keep, chosen at random. A smaller corpus is kept in full.", section=_SECTION, unset="all"
    )
    max_words: str = option(
        "",
        "Number of words to keep, in total or per source; words are split at whitespace. Example: 10000000 or "
        "books=3000000,text=7000000. Documents are chosen at random, and the last one is cut to match. A smaller source is kept "
        "in full.",
        section=_SECTION,
        metavar="WORDS",
    )
    seed: Seed = option(12345, "Random seed for `mix`, `max_words` and `sample_documents`.", section=_SECTION)

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
        """The share of each source, relative to their sum. Empty without `mix`.

        >>> ChoiceConfig(mix="wikipedia=0.7, books=0.3").shares
        {'wikipedia': 0.7, 'books': 0.3}
        """
        return self._by_source("mix", float, "each source once, with a share over 0: wikipedia=0.7,books=0.3")

    @property
    def word_limits(self) -> dict[str, int]:
        """The word limit of each source. The limit for all of them together comes last, under the key "".

        >>> ChoiceConfig(max_words="10_000,books=3000").word_limits
        {'books': 3000, '': 10000}
        """
        limits = self._by_source("max_words", int, "a number over 0, or one for each source: books=3000000,text=7000000")
        return dict(sorted(limits.items(), reverse=True))

    def _by_source(self, field: str, kind: type[N], form: str) -> dict[str, N]:
        """Parse numbers over 0 by source. Only an integer may come without a source, under the key ""."""
        amounts: dict[str, N] = {}
        text = getattr(self, field)
        for part in text.split(",") if text.strip() else []:
            name, _, value = (piece.strip() for piece in part.rpartition("="))
            try:
                amount = kind(value)
            except ValueError:
                amount = kind(0)
            is_new = name not in amounts and (name or kind is int)
            self._require(bool(is_new) and 0 < amount < 1 << 62, f"`{field}` {text}: write {form}", field=field)
            amounts[name] = amount
        return amounts

    def check(self, sources: Collection[str]) -> None:
        """Raise UsageError if the mixture or a limit names a source that is not an input, or the mixture misses one."""
        listed = ", ".join(sources)
        self._require(
            {*self.word_limits} - {""} <= {*sources},
            f"`max_words` {self.max_words}: set limits only for sources of the input ({listed})",
            field="max_words",
        )
        self._require(
            not self.shares or {*self.shares} == {*sources},
            f"`mix` {self.mix}: set a share for each source of the input ({listed}) and no others",
            field="mix",
        )

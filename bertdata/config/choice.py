"""Configure deduplication, the mixture and sampling, which look at all documents of a corpus."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from .base import Config, option
from .byte_premiums import BABYBABELLM

__all__ = ["ChoiceConfig"]

_SECTION = "Deduplication and sampling"


@dataclass(frozen=True, kw_only=True)
class ChoiceConfig(Config):
    """Deduplication, mixture and sample of a corpus. `mix`, `max_words` and `sample_documents` draw with `seed`."""

    dedup: Literal["none", "exact", "near"] = option(
        "exact", "Drop duplicate documents; near also drops near-duplicates.", section=_SECTION
    )
    dedup_paragraphs: bool = option(False, "Drop long paragraphs that occur earlier in the corpus.", section=_SECTION)
    near_threshold: float = option(
        0.6,
        "Minimum similarity of near-duplicates, with `dedup` near: the share of five-word sequences that two documents have in "
        "common. Copies in which one word in 20 is replaced have about 0.64.",
        section=_SECTION,
        least=0.3,
        most=1,
    )
    mix: str = option(
        "",
        "Target share of each source or language; documents are dropped at random to reach it. Example: wikipedia=0.7,books=0.3. "
        "temperature=0.5 makes a share proportional to the square root of the group's size.",
        section=_SECTION,
        metavar="SHARES",
    )
    group_by: Literal["source", "language"] = option(
        "source", "Whether `mix` and `max_words` name sources or languages.", section=_SECTION
    )
    byte_premium: str = option(
        "",
        "Bytes that a language needs for the content of one byte of English, so that `mix` and `max_words` compare content. "
        "Example: zh=0.94,nl=1.05. babybabellm has values for 51 languages. `max_words` then counts English words of the same "
        "content: 5.43 bytes each.",
        section=_SECTION,
        metavar="VALUES",
    )
    sample_documents: int = option(
        0,
        "Number of documents to keep, chosen at random. A smaller corpus is kept in full.",
        section=_SECTION,
        least=1,
        unset="all",
    )
    max_words: str = option(
        "",
        "Number of words to keep, in total, per source or per language; words are split at whitespace. Example: 10000000 or "
        "books=3000000,text=7000000. Documents are chosen at random, and the last one is cut to match. A smaller source is kept "
        "in full.",
        section=_SECTION,
        metavar="WORDS",
    )
    seed: int = option(12345, "Random seed for `mix`, `max_words` and `sample_documents`.", section=_SECTION)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(
            self.dedup == "near" or self.near_threshold == ChoiceConfig.near_threshold,
            "`near_threshold` does nothing without `dedup` near",
            field="near_threshold",
        )
        _ = self.shares, self.temperature, self.word_limits
        for name, value in (("group_by", self.group_by != ChoiceConfig.group_by), ("byte_premium", self.premiums)):
            self._require(
                not value or bool(self.mix.strip() or self.max_words.strip()), f"`{name}` needs `mix` or `max_words`", field=name
            )

    @property
    def shares(self) -> dict[str, float]:
        """The share of each source or language, relative to their sum. Empty without `mix`, and with a temperature.

        >>> ChoiceConfig(mix="wikipedia=0.7, books=0.3").shares
        {'wikipedia': 0.7, 'books': 0.3}
        """
        return {} if self.temperature is not None else self._numbers("mix", self.mix, "wikipedia=0.7,books=0.3")

    @property
    def temperature(self) -> float | None:
        """The temperature of `mix`. A group of n bytes gets a share in proportion to n to this power.

        >>> ChoiceConfig(mix="temperature=0.5").temperature
        0.5
        """
        name, _, value = (piece.strip() for piece in self.mix.partition("="))
        if name != "temperature":
            return None
        found = float(value) if value.replace(".", "", 1).isdecimal() else -1.0
        self._require(0 <= found <= 1, f"`mix` {self.mix}: use a temperature from 0 to 1, such as temperature=0.5", field="mix")
        return found

    @property
    def premiums(self) -> dict[str, float]:
        """The byte premium of each language. Empty without `byte_premium`.

        >>> ChoiceConfig(byte_premium="zh=0.94, nl=1.05", max_words="9").premiums
        {'zh': 0.94, 'nl': 1.05}
        """
        parts = [part.strip() for part in self.byte_premium.split(",") if part.strip()]
        table = BABYBABELLM if "babybabellm" in parts else {}
        own = ",".join(part for part in parts if part != "babybabellm")
        return {**table, **self._numbers("byte_premium", own, "zh=0.94,nl=1.05")}

    def _numbers(self, field: str, text: str, example: str) -> dict[str, float]:
        """Parse names with numbers over 0."""
        each, what = ("language", "value") if field == "byte_premium" else (self.group_by, "share")
        numbers: dict[str, float] = {}
        for part in text.split(",") if text.strip() else []:
            name, _, value = (piece.strip() for piece in part.partition("="))
            try:
                number = float(value)
            except ValueError:
                number = 0.0
            self._require(
                name not in numbers and 0 < number < math.inf,
                f"`{field}` {text}: write each {each} once, with a {what} over 0: {example}",
                field=field,
            )
            numbers[name] = number
        return numbers

    @property
    def word_limits(self) -> dict[str, int]:
        """The word limit of each source or language. The limit for all of them together comes last, under the key "".

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
        """Raise UsageError if the mixture or a limit names a source that is not an input, or the mixture misses one."""
        if self.group_by == "language":
            return  # known only when the documents are
        listed = ", ".join(sources)
        self._require(
            {*self.word_limits} - {""} <= {*sources},
            f"`max_words` {self.max_words}: set limits only for sources of the input: {listed}",
            field="max_words",
        )
        self._require(
            not self.shares or {*self.shares} == {*sources},
            f"`mix` {self.mix}: set a share for each source of the input, and no others: {listed}",
            field="mix",
        )

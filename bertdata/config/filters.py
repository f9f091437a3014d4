"""Configure the document filters. The default thresholds are mild. A minimum of 0 or a maximum share of 1 disables a filter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from .base import Config, Count, Share, option
from .languages import problem_of

DROPPED = "Document filters"  # the section of `--help`
_option = partial(option, section=DROPPED)


@dataclass(frozen=True, kw_only=True)
class FilterConfig(Config):
    """Limits for each document. A document that violates one is dropped and counted under the filter's reason.

    Lengths are in characters, so they work for scripts with and without spaces. The shares of letters and digits are relative to
    all letters, numbers, punctuation and symbols. The other shares are relative to all characters, including spaces.
    """

    languages: tuple[str, ...] = _option(
        (), "Keep only documents in these languages, such as en,zh.", metavar="CODES", unset="all", first=True
    )
    min_characters: Count = _option(0, "Minimum length of a document in characters.")
    max_characters: Count = _option(0, "Maximum length of a document in characters.", unset="no limit")
    min_letters: Share = _option(0.5, "Minimum share of letters, of any script.")
    max_digits: Share = _option(0.3, "Maximum share of digits.")
    max_repeated: Share = _option(0.5, "Maximum share of characters in sentences that repeat earlier ones of the document.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(
            not self.max_characters or self.min_characters <= self.max_characters,
            f"`min_characters` {self.min_characters} is over `max_characters` {self.max_characters}. Change one of them",
            field="min_characters",
        )
        for code in self.languages:
            self._require(not problem_of(code), f"`languages`: {problem_of(code)}", field="languages")

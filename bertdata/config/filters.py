"""Which documents are worth training on: thresholds, mild by default, and 0 or 1 where a filter is off."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Config

__all__ = ["FilterConfig"]


@dataclass(frozen=True, kw_only=True)
class FilterConfig(Config):
    """Bounds that a document keeps, or it is dropped.

    Lengths are in characters, which hold for scripts with and without spaces; `max_characters` 0 stands for no bound.
    Shares are of the characters that are no space: letters and digits of any script, sentences that came before in the same
    document, short paragraphs that every site has.  `languages` () keeps all.
    """

    languages: tuple[str, ...] = ()
    min_characters: int = 0
    max_characters: int = 0
    min_letters: float = 0.5
    max_digits: float = 0.3
    max_repeated: float = 0.5
    max_boilerplate: float = 0.5

    def __post_init__(self) -> None:
        for name in ("min_characters", "max_characters"):
            self._require(getattr(self, name) >= 0, f"--{name.replace('_', '-')}: use 0 or more")
        for name in ("min_letters", "max_digits", "max_repeated", "max_boilerplate"):
            self._require(0 <= getattr(self, name) <= 1, f"--{name.replace('_', '-')}: use a share between 0 and 1")
        self._require(
            not self.max_characters or self.min_characters <= self.max_characters,
            f"--min-characters {self.min_characters} is over --max-characters {self.max_characters}: no document can be both",
        )
        self._require(all(map(str.strip, self.languages)), "--languages: give codes with commas between them, such as en,zh")

"""Configure which documents are worth training on: thresholds, mild by default, and 0 or 1 where a filter is off."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from .base import Config, option
from .languages import problem_of

__all__ = ["DROPPED", "FilterConfig"]

DROPPED = "Documents to drop, each under its reason"  # the section of `--help`
_share = partial(option, section=DROPPED, least=0, most=1)


@dataclass(frozen=True, kw_only=True)
class FilterConfig(Config):
    """Bounds that a document keeps, or it is dropped.

    Lengths are in characters, which hold for scripts with and without spaces.  Shares are of the characters that are no space:
    letters and digits of any script, sentences that came before in the same document, short paragraphs that every site has.
    """

    languages: tuple[str, ...] = option(
        (),
        "Keep documents in these languages only, such as en,zh.  Without it, in any language.",
        section=DROPPED,
        metavar="CODES",
    )
    min_characters: int = option(0, "Drop shorter documents.", section=DROPPED, least=0)
    max_characters: int = option(0, "Drop longer documents; 0 is no bound.", section=DROPPED, least=0)
    min_letters: float = _share(0.5, "Share of letters, of any script, that a document needs.")
    max_digits: float = _share(0.3, "Share of digits that it may have.")
    max_repeated: float = _share(0.5, "Share of its sentences, by characters, that may have come before in it.")
    max_boilerplate: float = _share(0.5, "Share of cookie notices, rights, menus, filler and the like that it may have.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(
            not self.max_characters or self.min_characters <= self.max_characters,
            f"`min_characters` {self.min_characters} is over `max_characters` {self.max_characters}: no document can be both",
            field="min_characters",
        )
        self._require(
            all(map(str.strip, self.languages)),
            "`languages`: give codes with commas between them, such as en,zh",
            field="languages",
        )
        for code in self.languages:
            self._require(not problem_of(code), f"`languages`: {problem_of(code)}", field="languages")

"""Make the HTML page that compares vocabularies on a corpus."""

from __future__ import annotations

from collections.abc import Sequence

from ..fertility import Fertility
from ..summary import percent
from .frame import frame, section_of
from .markup import Column, Html, foreign, table
from .section import Section

__all__ = ["page"]

_MAX_WORDS = 10  # split words per vocabulary and language


def page(title: str, results: Sequence[Fertility]) -> str:
    """Return the HTML of the page."""
    sections = [Section("tokens", "Tokens", _tokens(results)), Section("split", "Costliest split words", _split(results))]
    contents = [(section.name, section.title) for section in sections]
    note = "Fertility is the number of tokens per word. In languages without spaces, each character counts as a word."
    return frame(title, note, Html(""), contents, [section_of(section) for section in sections])


def _tokens(results: Sequence[Fertility]) -> Html:
    numbers = ("Words", "Tokens per word", "Bytes per token", "[UNK]", "Split words")
    columns = (Column("Language"), Column("Source"), Column("Vocabulary"), *(Column(name, numbers=True) for name in numbers))
    rows = [
        (
            *(each.language or "unknown", each.source, each.vocabulary, f"{each.words:,}", f"{each.tokens_per_word:.2f}"),
            *(f"{each.bytes_per_token:.2f}", percent(each.unknown_share), percent(each.split_share)),
        )
        for each in results
    ]
    return table("", columns, rows)


def _split(results: Sequence[Fertility]) -> Html:
    columns = ("Language", "Source", "Vocabulary", "Word", Column("Occurrences", numbers=True), "Its tokens")
    rows = [
        (
            *(each.language or "unknown", each.source, each.vocabulary, foreign(word, each.language, 60)),
            *(f"{count:,}", foreign(tokens, most=90)),
        )
        for each in results
        for word, count, tokens in each.split_words[:_MAX_WORDS]
    ]
    return table("", columns, rows)

"""Warn of a vocabulary that does not fit its text: too many words that are [UNK], or accents that no file mentions."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["fewer", "unknown", "unknown_tokens", "unsaid"]

_MUCH = 0.02  # share of [UNK] that is warned of; 30,522 pieces leave less than 0.1 % of English, and as little of Chinese
_NAMED = 3  # languages that are named


def fewer(pieces: int, config: Mapping[str, Any]) -> str:
    """Say that a vocabulary has fewer pieces than were asked for, and why; nothing where it has them.

    >>> fewer(3480, {"size": 21128, "min_frequency": 2})
    'note: 3,480 pieces, not 21,128: the sample has no more that occur often enough: give a larger corpus, or a smaller `size`'
    """
    if pieces >= config["size"]:
        return ""
    return (
        f"note: {pieces:,} pieces, not {config['size']:,}: the sample has no more that occur often enough: give a larger corpus, "
        "or a smaller `size`"
    )


def unknown(coverage: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]) -> str:
    """Return a warning where a vocabulary does not know many of the words of a language that it was trained on, else nothing.

    >>> unknown({"en": {"words": 90, "unknown_share": 0.66}, "de": {"words": 10, "unknown_share": 0.01}}, {"size": 200})
    'warning: of the words in en 66.0 % are [UNK] and teach nothing: give a larger `size` than 200'
    """
    order = sorted(coverage, key=lambda language: (-coverage[language]["words"], language))
    bad = [language for language in order if coverage[language]["unknown_share"] > _MUCH]
    if not bad:
        return ""
    named = [f"{language or 'no known language'} {100 * coverage[language]['unknown_share']:.1f} %" for language in bad[:_NAMED]]
    more = f" and {len(bad) - _NAMED} more languages" if len(bad) > _NAMED else ""
    few = "alphabet" in config and config["alphabet"] < config["size"] // 2
    field = "alphabet" if few else "size"
    warning = f"warning: of the words in {', in '.join(named)}{more} are [UNK] and teach nothing"
    return f"{warning}: give a larger `{field}` than {config[field]}"


def unknown_tokens(share: float) -> str:
    """Return a warning where many of the tokens of rows are [UNK], else nothing."""
    if share <= _MUCH:
        return ""
    return (
        f"warning: {100 * share:.1f} % of the text's tokens are [UNK] and teach nothing: does the vocabulary fit its language, "
        "case and accents?"
    )


def unsaid(pieces: Iterable[str], lowercase: bool, strip_accents: bool) -> str:
    """Say what is taken for granted of a bare vocab.txt, and how many of its pieces no text can give then.

    >>> unsaid(["[PAD]", "tea", "##s"], True, True)
    'no file beside it tells of accents: they are taken off, as in BERT (`strip_accents=False` keeps them)'
    >>> unsaid(["The", "t\u00e9"], False, False)
    'no file beside it tells of accents: they are kept, as in a cased BERT (`strip_accents=True` takes them off)'
    """
    if not strip_accents:
        return "no file beside it tells of accents: they are kept, as in a cased BERT (`strip_accents=True` takes them off)"
    lost = sum(any(unicodedata.category(c) == "Mn" for c in unicodedata.normalize("NFD", piece)) for piece in pieces)
    note = f", and {lost:,} of its pieces, which have some, will not occur" if lost else ""
    return f"no file beside it tells of accents: they are taken off, as in BERT{note} (`strip_accents=False` keeps them)"

"""Measure a document and find the first limit it violates: length, letters, digits, repeated sentences, boilerplate.

>>> from bertdata.config import FilterConfig
>>> table = Document("text:a", "text", "en", "", "", ["12.5 17.25 8 1 94"], [0])
>>> check(table, FilterConfig())
Drop(reason='few letters', id='text:a', detail='letters 0.00 < 0.50')
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...config import FilterConfig
from ...records import Document, Drop
from .boilerplate import is_boilerplate
from .characters import DIGIT, LETTER, SIGN, WINDOW_CHARS, codes, kinds

__all__ = ["FILTERS", "Filter", "Measures", "check"]


class Measures:
    """The measures of a document, each computed on first use."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._text = "\n".join(document.sentences)

    @property
    def characters(self) -> int:
        """The number of characters of its sentences."""
        return len(self._text) - max(0, len(self._document.sentences) - 1)

    @cached_property
    def _counts(self) -> dict[int, int]:
        """The number of letters, digits and signs."""
        counts = {LETTER: 0, DIGIT: 0, SIGN: 0}
        for start in range(0, len(self._text), WINDOW_CHARS):
            found = kinds(codes(self._text[start : start + WINDOW_CHARS]))
            for kind in counts:
                counts[kind] += np.count_nonzero(found == kind)
        return counts

    def _share(self, kind: int) -> float:
        return self._counts[kind] / (sum(self._counts.values()) or 1)

    @property
    def letters(self) -> float:
        """Letters and combining marks, as a share of letters, numbers, punctuation and symbols."""
        return self._share(LETTER)

    @property
    def digits(self) -> float:
        """Digits and other numbers (Unicode category N), as a share of letters, numbers, punctuation and symbols."""
        return self._share(DIGIT)

    @property
    def repeated(self) -> float:
        """Characters in sentences that repeat earlier ones of the document, as a share of all characters."""
        sentences = self._document.sentences
        distinct = set(sentences)
        if len(distinct) == len(sentences):
            return 0.0
        return (self.characters - sum(map(len, distinct))) / max(1, self.characters)

    @property
    def boilerplate(self) -> float:
        """Characters in boilerplate paragraphs, as a share of all characters."""
        found = (paragraph for paragraph in self._document.paragraphs() if is_boilerplate(" ".join(paragraph)))
        return sum(map(len, itertools.chain.from_iterable(found))) / max(1, self.characters)


class Filter(NamedTuple):
    """A limit.

    Attributes:
        reason: Reason under which a dropped document is counted.
        field: Option that sets the limit; its name ends with that of the measure.
        off: Value of the option that turns the limit off.
    """

    reason: str
    field: str
    off: int = 0

    def violation(self, measures: Measures, config: FilterConfig) -> str:
        """Describe how a document violates the limit. Return "" if it does not, or if the limit is off."""
        limit: float = getattr(config, self.field)
        if limit == self.off:
            return ""
        side, _, name = self.field.partition("_")
        value: float = getattr(measures, name)
        within = value >= limit if side == "min" else value <= limit
        if within:
            return ""
        return f"{name} {_compare(value, '<' if side == 'min' else '>', limit)}"


FILTERS = (
    Filter("too short", "min_characters"),
    Filter("too long", "max_characters"),
    Filter("few letters", "min_letters"),
    Filter("many digits", "max_digits", off=1),
    Filter("repeated sentences", "max_repeated", off=1),
    Filter("boilerplate", "max_boilerplate", off=1),
)


def check(document: Document, config: FilterConfig) -> Drop | None:
    """Return a `Drop` for the first limit that a document violates, or None."""
    measures = Measures(document)
    for limit in FILTERS:
        if detail := limit.violation(measures, config):
            return Drop(limit.reason, document.id, detail)
    return None


def _compare(value: float, sign: str, limit: float) -> str:
    """Format a measure and its limit. Shares get two decimals, or more if the two would look equal.

    >>> _compare(0.314, "<", 0.5), _compare(0.4999, "<", 0.5), _compare(12, "<", 40)
    ('0.31 < 0.50', '0.4999 < 0.5000', '12 < 40')
    """
    if isinstance(value, int):
        return f"{value} {sign} {limit}"
    decimals = next((n for n in range(2, 17) if f"{value:.{n}f}" != f"{limit:.{n}f}"), 17)
    return f"{value:.{decimals}f} {sign} {limit:.{decimals}f}"

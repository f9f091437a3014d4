"""Measure a document and find the limit that it exceeds: length, letters, digits, repeated sentences, boilerplate.

>>> from bertdata.config import FilterConfig
>>> table = Document("text:a", "text", "en", "", "", ["12.5 17.25 8 1 94"], [0])
>>> check(table, FilterConfig())
Drop(reason='few letters', id='text:a', detail='letters 0.00 < 0.50')
"""

from __future__ import annotations

from collections.abc import Callable
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
        """How many characters its sentences have."""
        return len(self._text) - max(0, len(self._document.sentences) - 1)

    @cached_property
    def _counts(self) -> dict[int, int]:
        """How many letters, digits and signs there are."""
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
        """The share of letters, with the marks that belong to them."""
        return self._share(LETTER)

    @property
    def digits(self) -> float:
        """The share of digits and other signs for numbers."""
        return self._share(DIGIT)

    @property
    def repeated(self) -> float:
        """The share of sentences that came before in the document, by characters."""
        sentences = self._document.sentences
        distinct = set(sentences)
        if len(distinct) == len(sentences):
            return 0.0
        return (self.characters - sum(map(len, distinct))) / self.characters

    @property
    def boilerplate(self) -> float:
        """Share of boilerplate paragraphs, by characters."""
        paragraphs = map(" ".join, self._document.paragraphs())
        return sum(len(paragraph) for paragraph in paragraphs if is_boilerplate(paragraph)) / max(1, self.characters)


class Filter(NamedTuple):
    """A limit: the reason for a drop, the option that sets it, and the measure that it applies to."""

    reason: str
    field: str
    measure: Callable[[Measures], float]

    def violation(self, measures: Measures, bounds: FilterConfig) -> str:
        """Say how a document breaks the bound; nothing where it keeps it, or the bound is off."""
        bound: float = getattr(bounds, self.field)
        side, _, name = self.field.partition("_")
        if bound == (1.0 if side == "max" and isinstance(bound, float) else 0):
            return ""
        value = self.measure(measures)
        if value >= bound if side == "min" else value <= bound:
            return ""
        sign = "<" if side == "min" else ">"
        return f"{name} {_figure(value)} {sign} {_figure(bound)}"


FILTERS = (
    Filter("too short", "min_characters", lambda measures: measures.characters),
    Filter("too long", "max_characters", lambda measures: measures.characters),
    Filter("few letters", "min_letters", lambda measures: measures.letters),
    Filter("many digits", "max_digits", lambda measures: measures.digits),
    Filter("repeated sentences", "max_repeated", lambda measures: measures.repeated),
    Filter("boilerplate", "max_boilerplate", lambda measures: measures.boilerplate),
)


def check(document: Document, bounds: FilterConfig) -> Drop | None:
    """Return the first bound that a document breaks, with its figure; None if it keeps all."""
    measures = Measures(document)
    for each in FILTERS:
        if detail := each.violation(measures, bounds):
            return Drop(each.reason, document.id, detail)
    return None


def _figure(value: float) -> str:
    """Format a share with two digits, or more if it would look equal to its limit, or a count.

    >>> _figure(0.314), _figure(1200)
    ('0.31', '1200')
    """
    return f"{value:.2f}" if isinstance(value, float) else str(value)

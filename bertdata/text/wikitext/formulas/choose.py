"""What becomes of a formula, as the option ``math`` says.

=================  =====================================================================================
``text``           as a line of Unicode text; where text cannot hold it, it is a hole
``tex``            as its TeX; what templates give as text, with TeX for what Unicode does not raise or lower
``drop-sentence``  a hole, of which the sentence goes
``drop``           a formula in a tag goes and its sentence stays; templates of formulas are templates like others
=================  =====================================================================================
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from ..marks import FORMULA, HOLE, OBJECT, VANISHED, shield
from .chemistry import chemical
from .scripts import scripts_of_tags
from .tex import tex_to_text

__all__ = ["CHOICES", "Formulas"]

CHOICES = ("text", "tex", "drop-sentence", "drop")
_STOP = re.compile(
    r"[.。](?=(?:\s|\\[,;! ]|\\q?quad|~|\}|\\end\{[a-z*]*\})*$)"
)  # a full stop within the formula ends the sentence
_TAG = re.compile(r"<(su[pb])\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)


@dataclass(frozen=True)
class Formulas:
    """What becomes of formulas, and how many there were: ``counts`` has, by tag or template, "found", "written" and "dropped".

    Its keys are two words, such as "found math".
    """

    choice: str = "drop"
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if self.choice not in CHOICES:
            raise ValueError(f"math is {self.choice!r}; it must be one of {', '.join(CHOICES)}")

    def tag(self, name: str, content: str) -> str:
        """Return what stands for ``<math>``, ``<chem>`` or ``<ce>`` on the page."""
        shown: str | None = None
        if self.choice == "text":
            shown = scripts_of_tags(chemical(content)) if name in ("chem", "ce") else tex_to_text(content)
        elif self.choice == "tex":
            shown = " ".join(content.split())
        if shown is not None and HOLE in shown:
            shown = None
        self._count(name, shown is not None)
        if shown is not None:
            return f"{FORMULA}{shield(shown)}{FORMULA}" if shown else OBJECT
        if self.choice == "drop":
            return OBJECT
        return HOLE + "." if _STOP.search(content) else HOLE

    def template(self, name: str, shown: str) -> str:
        """Return what a template of formulas shows; what it gives is wikitext."""
        if self.choice == "drop" or shown == VANISHED:
            return shown.replace(HOLE, OBJECT)
        if self.choice == "drop-sentence":
            shown = HOLE
        elif self.choice == "tex":
            shown = _TAG.sub(_tex_script, shown)
        else:
            shown = scripts_of_tags(shown)
        self._count(name, HOLE not in shown)
        return HOLE if HOLE in shown else f"{FORMULA}{shown.replace(FORMULA, '')}{FORMULA}"

    def _count(self, name: str, written: bool) -> None:
        self.counts[f"found {name}"] += 1
        self.counts[f"{'written' if written else 'dropped'} {name}"] += 1


def _tex_script(tag: re.Match[str]) -> str:
    """Return what is raised or lowered in Unicode, or else in TeX.

    >>> _tex_script(_TAG.match("<sub>c</sub>")), _tex_script(_TAG.match("<sup>2</sup>"))
    ('_{c}', '²')
    """
    shown = scripts_of_tags(tag[0])
    return f"{'^' if tag[1].lower() == 'sup' else '_'}{{{tag[2]}}}" if HOLE in shown else shown

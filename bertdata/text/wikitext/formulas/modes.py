"""How each value of the option ``math`` handles a formula.

=================  =====================================================================================
``text``           as a line of Unicode text, or a hole if that is not possible
``tex``            as its TeX; the text of templates, with TeX for what Unicode cannot raise or lower
``drop-sentence``  a hole, whose sentence is dropped
``drop``           a formula in a tag is dropped and its sentence kept; templates of formulas are ordinary templates
=================  =====================================================================================
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from ..marks import BITS, FORMULA, HOLE, OBJECT, VANISHED, shield
from .chemistry import chemical
from .scripts import scripts_of_tags
from .tex import tex_to_text

__all__ = ["CHOICES", "Formulas"]

CHOICES = ("text", "tex", "drop-sentence", "drop")
# A full stop at the end of the formula ends the sentence.
_STOP = re.compile(r"[.。](?=(?:\s|\\[,;! ]|\\q?quad|~|\}|\\end\{[a-z*]*\})*$)")
_NAME_DIGITS = 12  # enough for two kinds per formula name; tables have tens of names
_TO_BITS, _TO_DIGITS = str.maketrans("01", BITS), str.maketrans(BITS, "01")
_NUMBER = re.compile(rf"[{BITS}]{{{_NAME_DIGITS}}}")
_TAG = re.compile(r"<(su[pb])\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)


@dataclass(slots=True)
class Formulas:
    """Handle and count the formulas of one page.

    ``counts`` has the numbers "found", "written", "dropped" and "left_out" by tag or template, such as ("found", "math").

    Whether a formula is in a paragraph, and not in a table, a list or a heading, is known only after the page's lines became
    paragraphs.  So each formula, or its placeholder, is followed by an index into ``_kinds``, whose value is the key to count.
    The index has ``_NAME_DIGITS`` binary digits of BITS, which no later step changes; `count` reads and removes them.
    """

    choice: str = "drop"
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _seen: dict[str, int] = field(default_factory=dict, init=False)  # by name, in the complete page
    _kept: dict[str, int] = field(default_factory=dict, init=False)  # by name, in paragraphs
    _kinds: list[tuple[str, str]] = field(default_factory=list, init=False)  # keys of ``counts``

    @property
    def seen(self) -> bool:
        """Return True if the page has a formula."""
        return bool(self._seen)

    def tag(self, name: str, content: str) -> str:
        """Return the replacement of ``<math>``, ``<chem>`` or ``<ce>``."""
        shown: str | None = None
        if self.choice == "text":
            shown = scripts_of_tags(chemical(content)) if name in ("chem", "ce") else tex_to_text(content)
        elif self.choice == "tex":
            shown = " ".join(content.split())
        if shown is not None and HOLE in shown:
            shown = None
        number = self._number(name, shown is not None)
        if shown is not None:
            return f"{FORMULA}{shield(shown)}{FORMULA}{number}" if shown else OBJECT + number
        if self.choice == "drop":
            return OBJECT + number
        return f"{HOLE}{number}." if _STOP.search(content) else HOLE + number

    def template(self, name: str, shown: str) -> str:
        """Return the text of a formula template, whose output `shown` is wikitext."""
        if self.choice == "drop" or shown == VANISHED:
            return shown.replace(HOLE, OBJECT)
        inner, shown = _NUMBER.findall(shown), _NUMBER.sub("", shown)
        if self.choice == "drop-sentence":
            shown = HOLE
        elif self.choice == "tex":
            shown = _TAG.sub(_tex_script, shown)
        else:
            shown = scripts_of_tags(shown)
        written = HOLE not in shown
        numbers = self._number(name, written) + "".join(inner if written else map(self._not_written, inner))
        return (f"{FORMULA}{shown.replace(FORMULA, '')}{FORMULA}" if written else HOLE) + numbers

    def count(self, paragraph: str) -> str:
        """Count the formulas of a paragraph, and return it without their indexes."""
        if BITS[0] not in paragraph and BITS[1] not in paragraph:
            return paragraph
        # Only formulas that reached a paragraph are counted here. Those in tables and lists have been dropped with them, and
        # `finish` finds them by difference.
        for number in _NUMBER.findall(paragraph):
            kind = _, name = self._kinds[_value(number)]
            self.counts[kind] += 1
            self._kept[name] = self._kept.get(name, 0) + 1
        return _NUMBER.sub("", paragraph)

    def finish(self) -> None:
        """Count the formulas of a page after its paragraphs; a template may output a formula more often than it is called."""
        for name, seen in self._seen.items():
            kept = self._kept.get(name, 0)
            self.counts["found", name] += max(seen, kept)
            if seen > kept:
                self.counts["left_out", name] += seen - kept

    def _number(self, name: str, written: bool) -> str:
        """Count a formula on the page, and return its index in BITS."""
        self._seen[name] = self._seen.get(name, 0) + 1
        return self._digits(("written" if written else "dropped", name))

    def _not_written(self, number: str) -> str:
        """Return the index in BITS for a formula inside one that is not written."""
        return self._digits(("dropped", self._kinds[_value(number)][1]))

    def _digits(self, kind: tuple[str, str]) -> str:
        if kind not in self._kinds:
            self._kinds.append(kind)
        return f"{self._kinds.index(kind):0{_NAME_DIGITS}b}".translate(_TO_BITS)


def _value(number: str) -> int:
    return int(number.translate(_TO_DIGITS), 2)


def _tex_script(tag: re.Match[str]) -> str:
    """Return a superscript or subscript in Unicode if possible, otherwise in TeX.

    >>> _tex_script(_TAG.match("<sub>c</sub>")), _tex_script(_TAG.match("<sup>2</sup>"))
    ('_{c}', '²')
    """
    shown = scripts_of_tags(tag[0])
    return f"{'^' if tag[1].lower() == 'sup' else '_'}{{{tag[2]}}}" if HOLE in shown else shown

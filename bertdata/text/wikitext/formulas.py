"""Formulas in tags and templates: write the simple ones as text, and drop the sentences of the others.

>>> "H₂O" in Formulas("text").tag("chem", "H2O"), Formulas("text").tag("math", "x_c") == HOLE
(True, True)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .inline import decode_entities
from .marks import FORMULA, HOLE, OBJECT, VANISHED, shield
from .tex import script, tex_to_text

CHOICES = ("text", "tex", "drop")
_STOP = re.compile(r"[.。](?=(?:\s|\\[,;! ]|~|\}|\\end\{[a-z*]*\})*$)")  # ends the sentence with the formula
_TAG = re.compile(r"<(su[pb])\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)
_FIGURES = re.compile(r"<(su[pb])\b[^<>]*>((?:[+\u2212-]|&minus;)?[0-9]{1,9}[+\u2212-]?)</\1\s*>", re.IGNORECASE)
_NOTE = re.compile(r"(?<=[。！？])<sup\b[^<>]*>[+\u2212-]?[0-9]{1,9}[+\u2212-]?</sup\s*>", re.IGNORECASE)
_STAND_IN = "Formula"  # replaces a formula that is not written during sentence splitting, because it acts as a noun


def scripts_of_tags(text: str) -> str:
    """Return wikitext with the content of ``<sup>`` and ``<sub>`` raised and lowered, or a hole if that is not possible."""
    return _TAG.sub(_script, text) if "<" in text else text


def _script(tag: re.Match[str]) -> str:
    shown = script(tag[1].lower(), decode_entities(tag[2].replace("''", "").replace("'", "′")))
    return HOLE if shown is None else shown


def figures_of_tags(text: str) -> str:
    """Return wikitext with numbers in ``<sup>`` and ``<sub>`` raised and lowered; letters, as in ordinals, keep their tags.

    A raised number after a Chinese or Japanese end mark is a footnote mark, and is removed.
    """
    return _FIGURES.sub(_script, _NOTE.sub("", text)) if "<" in text else text


# The notation of mhchem: numbers after an element or a bracket are subscripts, charges and text after "^" superscripts.
_CHARGE = re.compile(r"\^(?:\{[^{}]*\}|[0-9]*[-+−]|[0-9]+)|(?<=[\w)\]}])(?:\([0-9]*[-+−]\)|[+-](?=$|[\s)\]},]))")
_COUNT = re.compile(r"_(?:\{[^{}]*\}|[0-9]+|[A-Za-z])|(?<=[A-Za-z)\]}])[0-9]+")
_SIGNS = {"<=>": " ⇌ ", "<->": " ↔ ", "->": " → ", "<-": " ← ", "*": "·", "#": "≡", "{}": ""}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_UNKNOWN = re.compile(r"[\^_{}\\$&<>]|[→⇌↔←] \[")


def chemical(parts: Sequence[str]) -> str:
    """Return a chemical formula, or alternating elements and counts, as text with ``<sub>`` and ``<sup>``.

    Unknown notation becomes a hole.

    >>> scripts_of_tags(chemical(["2 H2 + O2 -> 2 H2O"])), chemical(["SO", "4", "2-"])
    ('2 H₂ + O₂  →  2 H₂O', 'SO<sub>4</sub><sup>2−</sup>')
    """
    shown = ""
    for part in map(str.strip, parts if len(parts) > 1 else ()):
        raised = shown and re.fullmatch(r"[0-9]*[-+−]", part)
        lowered = shown and re.fullmatch(r"[0-9.,]+|[nxymz]", part)
        shown += f"<sup>{part.replace('-', '−')}</sup>" if raised else f"<sub>{part}</sub>" if lowered else part
    if len(parts) != 1:
        return shown
    formula = _SIGN.sub(lambda sign: _SIGNS[sign[0]], parts[0]).strip()
    formula = _CHARGE.sub(lambda charge: f"<sup>{charge[0].strip('^(){}').replace('-', '−')}</sup>", formula)
    formula = _COUNT.sub(lambda count: f"<sub>{count[0].strip('_{}')}</sub>", formula)
    return HOLE if _UNKNOWN.search(_TAG.sub("", formula)) else formula


@dataclass(slots=True)
class Formulas:
    """Write or drop the formulas of one page, and count them.

    With "text", a simple formula is text between two FORMULA marks, and any other is a HOLE, whose sentence is dropped. With
    "tex", it is its TeX. With "drop", a formula in a tag is dropped without its sentence, and templates are ordinary ones.
    """

    choice: str = "drop"
    found: int = 0
    written: int = 0  # in paragraphs
    dropped: int = 0
    sentences: int = 0  # that were dropped

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """The number of formulas by outcome; those "left_out" are in tables, lists and other formulas."""
        dropped = self.found if self.choice == "drop" else self.dropped
        counts = {"found": self.found, "written": self.written, "dropped": dropped, "sentences": self.sentences}
        counts["left_out"] = self.found - self.written - dropped
        return +Counter({(name, "formula"): count for name, count in counts.items()})

    def tag(self, name: str, content: str) -> str:
        """Return the replacement of ``<math>``, ``<chem>`` or ``<ce>``."""
        self.found += 1
        if self.choice == "drop":
            return OBJECT
        shown: str | None = " ".join(content.split())
        if self.choice == "text":
            shown = scripts_of_tags(chemical([content])) if name in ("chem", "ce") else tex_to_text(content)
        if shown is None or HOLE in shown:
            return HOLE + "." * bool(_STOP.search(content))
        return f"{FORMULA}{shield(shown)}{FORMULA}" if shown else OBJECT

    def template(self, shown: str) -> str:
        """Return the text of a formula template, whose output `shown` is wikitext."""
        if self.choice == "drop" or shown == VANISHED:
            return shown.replace(HOLE, OBJECT)
        self.found += 1
        raised = scripts_of_tags(shown)
        if self.choice == "tex" and HOLE in raised:  # TeX for what Unicode cannot raise or lower
            raised = _TAG.sub(lambda tag: f"{'^' if tag[1].lower() == 'sup' else '_'}{{{tag[2]}}}", shown)
        return HOLE if HOLE in raised else f"{FORMULA}{raised.replace(FORMULA, '')}{FORMULA}"

    def finish(self, paragraph: str, text: str, split: Callable[[str], list[str]]) -> str:
        """Return the text of a paragraph without the sentences of formulas that are not written; count both."""
        self.written += paragraph.count(FORMULA) // 2
        self.dropped += min(text.count(HOLE), self.found - self.written - self.dropped)
        if HOLE not in text:
            return text
        # `split` cuts a paragraph into sentences and changes only whitespace, so counting other characters finds their ends.
        kept, rest = "", text
        for sentence in split(text.replace(HOLE, _STAND_IN)):
            size, end = len("".join(sentence.split())), 0
            while size > 0 and end < len(rest):
                size -= len(_STAND_IN) if rest[end] == HOLE else not rest[end].isspace()
                end += 1
            self.sentences += HOLE in rest[:end]
            kept += "" if HOLE in rest[:end] else rest[:end]
            rest = rest[end:]
        return kept.strip()

"""Write the signs of a formula as a line of text, with spaces and brackets.

>>> write([Atom("−", BINARY), Atom("x"), Atom("+", BINARY), Atom("sin", NAME), Atom("y")])
'−x + sin y'
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from .scripts import ALL_SCRIPTS
from .signs import BINARY, CLOSE, LARGE, LETTER, NAME, OPEN, POSTFIX, PUNCTUATION, RELATION, SPACE

__all__ = ["FRACTION", "UNARY", "Atom", "base_of", "bracketed", "root", "write"]

FRACTION, UNARY = "fraction", "unary"
_OPERANDS = frozenset([LETTER, CLOSE, POSTFIX, FRACTION])
_BRACKETS = re.compile(r"[(\[{⟨⌊⌈][^()\[\]{}⟨⟩⌊⌋⌈⌉]*[)\]}⟩⌋⌉]")
_FACTOR = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]")
_DIFFERENTIAL = re.compile(r"[d∂𝑑]\w\W*")


class Atom(NamedTuple):
    """The text of one sign, group or command, and its kind."""

    text: str
    kind: str = LETTER


def base_of(text: str) -> str:
    """Return text without bracketed parts, scripts and accents.

    >>> base_of("f(x)²"), base_of("x̂ᵢ")
    ('f', 'x')
    """
    before = ""
    while before != text:
        before, text = text, _BRACKETS.sub("", text)
    return "".join(char for char in text if char not in ALL_SCRIPTS and not unicodedata.combining(char))


def _is_bracket(text: str) -> bool:
    """Return True if the bracket at the start of a text closes at its end.

    >>> _is_bracket("(a + (b))"), _is_bracket("(a)²"), _is_bracket("(a)(b)")
    (True, False, False)
    """
    depth = 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if not depth:
            return index == len(text) - 1
    return False


def bracketed(text: str, product: bool) -> str:
    """Return a part of a fraction or the content of a root, in brackets if it would be ambiguous without them.

    product: whether a product may stay without brackets, as above a fraction bar written as ``/``.
    """
    if text[:1] == "(":
        return text if _is_bracket(text) else f"({text})"
    base = base_of(text)
    single = product or len(_FACTOR.findall(base)) < 2 or _DIFFERENTIAL.fullmatch(base)
    return text if single and not set(" /").intersection(base) else f"({text})"


def write(atoms: list[Atom]) -> str:
    """Write atoms in a row, with spaces where TeX puts them."""
    shown = ""
    before = ""  # the kind of the last atom
    bars = 0
    for index, (text, kind) in enumerate(atoms):
        # A minus at the start, after a relation or after an opening bracket is a sign: −x, a = −b. It takes no space.
        if kind == BINARY:
            after = atoms[index + 1].kind if index + 1 < len(atoms) else ""
            if before not in _OPERANDS or after in ("", RELATION, CLOSE, PUNCTUATION):
                kind = UNARY
        # |x| has two equal bars. Odd ones open, even ones close.
        elif text == "|" and kind == LETTER:
            bars += 1
            kind = OPEN if bars % 2 else CLOSE
        if kind == SPACE:
            shown = shown if before == OPEN else shown.rstrip() + " "
            continue
        if kind in (PUNCTUATION, CLOSE, POSTFIX):
            shown = shown.rstrip()
        if shown and _apart(before, kind):
            shown = shown.rstrip() + " "
        shown += text
        before = kind
    return shown.strip() if len(atoms) > 1 else shown


@lru_cache(maxsize=256)
def _apart(before: str, kind: str) -> bool:
    """Return True if there is a space between two atoms."""
    if {before, kind} & {BINARY, RELATION}:
        return True
    if before == PUNCTUATION:
        return kind not in (CLOSE, PUNCTUATION)
    if kind in (CLOSE, PUNCTUATION, POSTFIX) or before in (OPEN, UNARY) or kind == UNARY:
        return False
    if before in (NAME, LARGE):
        return kind != OPEN or before == LARGE
    if kind in (NAME, LARGE):
        return before in _OPERANDS
    return FRACTION in (before, kind)


def root(content: str, degree: str = "") -> str:
    """Return the output of a root template, as wikitext.

    >>> root("2"), root("x + 1"), root("2", "3")
    ('√2', '√(x + 1)', '<sup>3</sup>√2')
    """
    return (f"<sup>{degree}</sup>" if degree else "") + "√" + bracketed(content.replace("&nbsp;", " ").strip(), False)

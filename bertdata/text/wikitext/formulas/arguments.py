"""The text of characters and command arguments in a formula.

>>> [character(each).text for each in "x-*"], accented("x", "\u0304", False), plain("if~so")
(['x', '−', '*'], 'x̄', 'if so')
"""

from __future__ import annotations

import re
import unicodedata

from .layout import UNARY, Atom, base_of
from .scripts import subscript, superscript
from .signs import BINARY, CLOSE, LETTER, OPEN, POSTFIX, PUNCTUATION, RELATION, SIGNS, SPACE

__all__ = ["ARROWS", "NoTextError", "accented", "arrow", "character", "lowered", "marked", "plain", "raised"]

_CHARACTERS: dict[str, tuple[str, str]] = {
    **{sign: (sign, kind) for sign, kind in SIGNS.values() if len(sign) == 1 and not sign.isspace()},
    "-": ("−", BINARY),
    **dict.fromkeys("+*", ("", BINARY)),
    **dict.fromkeys("=<>:", ("", RELATION)),
    **dict.fromkeys("([", ("", OPEN)),
    **dict.fromkeys(")]", ("", CLOSE)),
    **dict.fromkeys(",;、，", ("", PUNCTUATION)),
    **dict.fromkeys("!?%.", ("", POSTFIX)),
    "/": ("/", UNARY),
    "|": ("|", LETTER),
    "~": (" ", SPACE),
}
_REFUSED = frozenset('"$#&`@\\{}^_')
ARROWS = {"xrightarrow": ("—", "→"), "xleftarrow": ("←", "—")}  # text before and after their label
_LONG_ARROWS = {"→": ARROWS["xrightarrow"], "⟶": ARROWS["xrightarrow"], "←": ARROWS["xleftarrow"], "⟵": ARROWS["xleftarrow"]}
_MARKED = {("=", "def"): "≝", ("=", "?"): "≟", ("=", "△"): "≜", ("=", "m"): "≞", ("=", "⋆"): "≛"}  # single Unicode characters


class NoTextError(ValueError):
    """A formula that cannot be written as a line of text."""


def arrow(over: str, under: str, before: str, after: str) -> Atom:
    """Return an arrow with the labels over and under it.

    >>> arrow("heat", "2 h", "—", "→").text, arrow("", "", "—", "→").text
    ('—heat; 2 h→', '→')
    """
    words = "; ".join(filter(None, (over.strip(), under.strip())))
    return Atom(before + words + after if words else before if after == "—" else after, RELATION)


def marked(over: str, sign: Atom) -> Atom:
    """Return a sign with a label over it, if Unicode has it or the sign is an arrow.

    >>> marked("*", Atom("⇒", RELATION)).text, marked("def", Atom("=", RELATION)).text, marked("f", Atom("→", RELATION)).text
    ('⇒*', '≝', '—f→')
    """
    text = sign.text.strip()
    if not over:
        return sign
    if (text, over) in _MARKED:
        return Atom(_MARKED[text, over], RELATION)
    if over in "*∗+" and _CHARACTERS.get(text, sign)[1] == RELATION:
        return Atom(text + raised(over), RELATION)
    if text in _LONG_ARROWS:
        return arrow(over, "", *_LONG_ARROWS[text])
    raise NoTextError


def raised(text: str) -> str:
    """Return text in superscript; raise NoTextError if Unicode lacks a character."""
    return _or_none(superscript(text.replace("∘", "°")))


def lowered(text: str) -> str:
    """Return text in subscript; raise NoTextError if Unicode lacks a character."""
    return _or_none(subscript(text))


def _or_none(text: str | None) -> str:
    if text is None:
        raise NoTextError
    return text


def character(char: str) -> Atom:
    """Return a character as TeX displays it."""
    if char in _REFUSED or not char:
        raise NoTextError
    if char in _CHARACTERS:
        sign, kind = _CHARACTERS[char]
        return Atom(sign or char, kind)
    if unicodedata.category(char)[0] == "C":
        raise NoTextError
    return Atom(char)


def plain(text: str) -> str:
    """Return the text of ``\\text{...}``."""
    text = " ".join(re.sub(r"\\([ %&#_,;{}])", r"\1", text.replace("~", " ")).split(" "))
    if set(text).intersection("\\${}^"):
        raise NoTextError
    return re.sub(r"\s+", " ", text)


def accented(text: str, accent: str, each: bool) -> str:
    """Put an accent over a letter, or, for a line, over each of several letters."""
    base = text.strip()
    if each and base.replace(" ", "").isalnum() and " " not in base:
        return "".join(char + accent for char in base)
    if not base or len(base_of(base)) != 1 or base[0] != base_of(base):
        raise NoTextError
    return base[0] + accent + base[1:]

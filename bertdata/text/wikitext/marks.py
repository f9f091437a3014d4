"""Control characters stand for what left the text; XML forbids them, so no dump contains them.

* ``VANISHED`` is where a template was dropped, ``FOOTNOTE`` where it was one that shows a footnote mark.
  Python counts both as whitespace, so a line of nothing else is blank, as it is for MediaWiki.
* ``OBJECT`` is where something stood that has no words but is seen: a formula, a reference.  A line with
  one is not blank.
* ``FORMULA`` stands before and after a formula that is written, ``HOLE`` in place of one that is not and whose sentence goes.
* ``BITS`` are the digits, nought and one, of a formula's number, which stands behind it: see ``formulas/choose.py``.
* ``AWAY`` is where a link to a category or to another language stood: a space after it makes no preformatted line, and a line
  of nothing else is no line, not even a blank one.
* ``SHIELD`` begins text in which each character that is markup has a stand-in that is not: ``<nowiki>``.

    >>> unshield(shield("[[x]]")) == "[[x]]" and "[" not in shield("[[x]]")
    True
"""

import re

__all__ = [
    "AWAY",
    "BITS",
    "FOOTNOTE",
    "FORMULA",
    "HOLE",
    "LINE_MARKUP",
    "OBJECT",
    "SHIELD",
    "VANISHED",
    "as_text",
    "clean_input",
    "readable",
    "shield",
    "unshield",
]

VANISHED = "\x1f"
FOOTNOTE = "\x1e"
OBJECT = "\x02"
SHIELD = "\x03"
HOLE = "\x04"
FORMULA = "\x05"
AWAY = "\x1d"
BITS = "\x06\x07"

_REMOVED = ("\r", VANISHED, FOOTNOTE, OBJECT, SHIELD, HOLE, FORMULA, AWAY, *BITS)
_MARKS = re.compile(r"[\x00-\x1f]+")  # of what has left the text
_MARKUP = "[]{}|<>'*:=!-_~+/ ,."  # not what entities are made of: they are decoded in <nowiki> too
LINE_MARKUP = frozenset(" *#:;=|!-")  # a line that begins so is none of prose
_FIRST = 0xFDD0  # U+FDD0..U+FDEF are noncharacters: assigned to nobody, for ever
_TO_SHIELD: dict[int, str] = {ord(char): chr(_FIRST + index) for index, char in enumerate(_MARKUP)}
_TO_MARKUP = {chr(_FIRST + index): char for index, char in enumerate(_MARKUP)}
_TO_SHIELD[ord("\n")] = _TO_SHIELD[ord(" ")]
_TO_MARKUP[SHIELD] = ""
_STAND_IN = re.compile(f"[{''.join(_TO_MARKUP)}]")


def clean_input(text: str) -> str:
    """Remove the characters this package keeps for itself, and carriage returns.

    >>> clean_input("a\\r\\nb\\x02")
    'a\\nb'
    """
    for char in _REMOVED:  # most pages have none: to look for each is much faster than one pattern
        if char in text:
            text = text.replace(char, "")
    return text


def as_text(words: str) -> str:
    """Return words so that they make no list, table or preformatted line where they begin one.

    >>> as_text(" label") == SHIELD + " label", as_text("label")
    (True, 'label')
    """
    return SHIELD + words if words[:1] in LINE_MARKUP else words


def shield(text: str) -> str:
    """Replace each markup character by its stand-in, and each newline by that of a space."""
    return SHIELD + text.translate(_TO_SHIELD)


def unshield(text: str) -> str:
    """Put the markup characters back."""
    return _STAND_IN.sub(lambda char: _TO_MARKUP[char[0]], text) if SHIELD in text else text


def readable(text: str) -> str:
    """Return a piece of a page in one line, as a person reads it: marks of what has left it are blank.

    >>> readable(f"a{VANISHED}b  {{{{c\\n|d}}}}")
    'a b {{c |d}}'
    """
    return " ".join(_MARKS.sub(" ", unshield(text)).split())

"""Control characters that mark removed text. XML forbids them, so dumps do not contain them.

* ``VANISHED`` marks a dropped template, ``FOOTNOTE`` a dropped template that shows a footnote mark.
  Python counts both as whitespace, so a line with nothing else is blank, as in MediaWiki.
* ``OBJECT`` marks something visible without words, such as a formula or a reference.  A line with one is not blank.
* ``FORMULA`` is before and after a written formula, ``HOLE`` replaces a formula whose sentence is dropped.
* ``BITS`` are the binary digits of the index after a formula: see ``formulas/modes.py``.
* ``AWAY`` marks a link to a category or another language: a space after it does not make a preformatted line, and a line
  with nothing else is removed and does not count as a blank line.
* ``INTRODUCES`` ends a paragraph before a list, a table or another block that is dropped.
* ``SHIELD`` begins text in which each markup character is replaced by a placeholder, as in ``<nowiki>``.

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
    "INTRODUCES",
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
INTRODUCES = "\x1c"
BITS = "\x06\x07"

_REMOVED = ("\r", VANISHED, FOOTNOTE, OBJECT, SHIELD, HOLE, FORMULA, AWAY, INTRODUCES, *BITS)
_MARKS = re.compile(r"[\x00-\x1f]+")  # marks of removed text
_MARKUP = "[]{}|<>'*:=!-_~+/ ,."  # not the characters of entities, which are also decoded in <nowiki>
LINE_MARKUP = frozenset(" *#:;=|!-")  # a line that begins with one of these is not prose
_FIRST = 0xFDD0  # U+FDD0..U+FDEF are permanent noncharacters
_TO_SHIELD: dict[int, str] = {ord(char): chr(_FIRST + index) for index, char in enumerate(_MARKUP)}
_TO_MARKUP = {chr(_FIRST + index): char for index, char in enumerate(_MARKUP)}
_TO_SHIELD[ord("\n")] = _TO_SHIELD[ord(" ")]
_TO_MARKUP[SHIELD] = ""
_STAND_IN = re.compile(f"[{''.join(_TO_MARKUP)}]")


def clean_input(text: str) -> str:
    """Remove the characters reserved by this package, and carriage returns.

    >>> clean_input("a\\r\\nb\\x02")
    'a\\nb'
    """
    for char in _REMOVED:  # most pages have none: searching for each is much faster than a regular expression
        if char in text:
            text = text.replace(char, "")
    return text


def as_text(words: str) -> str:
    """Return words shielded so that they do not start a list, table or preformatted line.

    >>> as_text(" label") == SHIELD + " label", as_text("label")
    (True, 'label')
    """
    return SHIELD + words if words[:1] in LINE_MARKUP else words


def shield(text: str) -> str:
    """Replace each markup character by its placeholder, and each newline by that of a space."""
    return SHIELD + text.translate(_TO_SHIELD)


def unshield(text: str) -> str:
    """Restore the markup characters."""
    return _STAND_IN.sub(lambda char: _TO_MARKUP[char[0]], text) if SHIELD in text else text


def readable(text: str) -> str:
    """Return a piece of a page in one readable line; marks of removed text are blank.

    >>> readable(f"a{VANISHED}b  {{{{c\\n|d}}}}")
    'a b {{c |d}}'
    """
    return " ".join(_MARKS.sub(" ", unshield(text)).split())

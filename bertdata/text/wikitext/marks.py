"""Control characters that mark removed text. XML forbids them, so dumps do not contain them.

* ``VANISHED`` marks a dropped template, ``FOOTNOTE`` a dropped template that shows a footnote mark.
  Python counts both as whitespace, so a line with nothing else is blank, as in MediaWiki.
* ``OBJECT`` marks something visible without words, such as a formula or a reference.  A line with one is not blank.
* ``FORMULA`` is before and after a written formula, ``HOLE`` replaces a formula whose sentence is dropped.
* ``LOST`` marks, in the output of a learned template, words that are not known.
* ``AWAY`` marks a link to a category or another language: a space after it does not make a preformatted line, and a line
  with nothing else is removed and does not count as a blank line.
* ``SHIELD`` begins text in which each markup character is replaced by a placeholder, as in ``<nowiki>``.

    >>> unshield(shield("[[x]]")) == "[[x]]" and "[" not in shield("[[x]]")
    True
"""

import re

OBJECT, SHIELD, HOLE, FORMULA, LOST, AWAY, FOOTNOTE, VANISHED = "\x02\x03\x04\x05\x06\x1d\x1e\x1f"

_REMOVED = ("\r", OBJECT, SHIELD, HOLE, FORMULA, LOST, AWAY, FOOTNOTE, VANISHED)
_MARKUP = "[]{}|<>'*:=!-_~+/ ,."  # not the characters of entities, which are also decoded in <nowiki>
LINE_MARKUP = frozenset(" *#:;=|!-")  # a line that begins with one of these is not prose
_FIRST = 0xFDD0  # U+FDD0..U+FDEF are permanent noncharacters
_TO_SHIELD: dict[int, str] = {ord(char): chr(_FIRST + index) for index, char in enumerate(_MARKUP)}
_TO_MARKUP = {chr(_FIRST + index): char for index, char in enumerate(_MARKUP)}
_TO_SHIELD[ord("\n")] = _TO_SHIELD[ord(" ")]
_TO_MARKUP[SHIELD] = ""
_STAND_IN = re.compile(f"[{''.join(_TO_MARKUP)}]")


def clean_input(text: str) -> str:
    """Remove the characters reserved by this package, and carriage returns."""
    for char in _REMOVED:  # most pages have none: searching for each is much faster than a regular expression
        if char in text:
            text = text.replace(char, "")
    return text


def as_text(words: str) -> str:
    """Return words shielded so that they do not start a list, table or preformatted line."""
    return SHIELD + words if words[:1] in LINE_MARKUP else words


def shield(text: str) -> str:
    """Replace each markup character by its placeholder, and each newline by that of a space."""
    return SHIELD + text.translate(_TO_SHIELD)


def unshield(text: str) -> str:
    """Restore the markup characters."""
    return _STAND_IN.sub(lambda char: _TO_MARKUP[char[0]], text) if SHIELD in text else text

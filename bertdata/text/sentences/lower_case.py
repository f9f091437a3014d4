"""Text without capital letters, as of transcripts: a letter that follows a stop and a space begins a sentence.

Such a letter is read as a capital, so all rules for abbreviations and quotations hold.

>>> capitalized("he met dr. ames. \\"tea?\\" she asked... no")
'He met dr. Ames. "Tea?" She asked... no'
"""

from __future__ import annotations

import re

_MIN_LETTERS, _MIN_LINES = 2000, 20  # of a long text, which may have a few capitals
_MAX_CAPITALS = 0.005  # share of the cased letters
_MIN_STOPS = 2  # of a text without capitals
_MIN_CASED = 0.5  # share of the letters; the others are of a script without capitals
_SAMPLE_CHARS = 4096  # of a longer text, at equal distances
_STOP = re.compile(r"(?:[^\W\d_]|\d\d)\s?[.!?։][\"'”’»)\]]*(?:\s|$)")
_LETTER = r"[^\W\d_]"
# Not after abbreviations with a stop inside, such as "e.g.", except for those that often end a sentence.
_DOTTED = rf"(?<!\b{_LETTER}\.{_LETTER})(?<!\b{_LETTER}\.{_LETTER}{_LETTER})"
_FULL_STOP = rf"(?<![.…])(?:(?<=\b[apu]\.[ms])|(?<=\bт\.[дп])|{_DOTTED})\.(?![.…])"
_END = rf"(?:{_FULL_STOP}|(?<![!?։])[!?։]+)[\"'”’»)\]]*\s+"
_START = re.compile(rf"(\A|{_END})([\"'“‘«„(\[¿¡—–-]*\s?)([^\W\d_])")
_GEORGIAN = re.compile("[ა-ჿ]")  # its capitals are for titles only


def is_lower_cased(text: str, lines: int = 1) -> bool:
    """Return True if a text of a script with capitals has (almost) none, and is long enough to judge.

    >>> is_lower_cased("the tea is hot. the cup is not."), is_lower_cased("the tea. It is."), is_lower_cased("the tea is hot.")
    (True, False, False)
    """
    step = -(-len(text) // _SAMPLE_CHARS)
    sample = text[:: max(1, step)]
    capitals = sum(map(str.isupper, sample))
    if capitals > _MAX_CAPITALS * len(sample):  # as in nearly every text
        return False
    small = sum(map(str.islower, sample))
    if small < _MIN_CASED * sum(map(str.isalpha, sample)) or _GEORGIAN.search(sample):
        return False
    if small * step >= _MIN_LETTERS or lines >= _MIN_LINES:
        return capitals <= _MAX_CAPITALS * small
    return not capitals and len(_STOP.findall(text)) >= _MIN_STOPS


def capitalized(text: str) -> str:
    """Return a text of the same length in which the first letter of each sentence is a capital.

    >>> capitalized("he drinks tea, i.e. the green one, at 5 p.m. then he leaves.")
    'He drinks tea, i.e. the green one, at 5 p.m. Then he leaves.'
    """
    return _START.sub(lambda start: start[1] + start[2] + _capital(start[3]), text)


def _capital(letter: str) -> str:
    return capital if len(capital := letter.upper()) == 1 else letter

"""Words around the end of a sentence, from `words.toml`: abbreviations before a full stop, and first words after it.

A sentence goes on after an abbreviation that a name or a number follows ("Dr. Ames", "fig. 3", "l'art. 5"). sentencex takes some
ends for abbreviations: after "etc.", after the symbol of a unit ("5 km.") and after a common word of its lists (Dutch "dat.") a
capital begins a sentence.  After any other, only a word that begins sentences and no names does: "1990 г. Он".  After a word too
long for an abbreviation, a small letter does too.

    >>> is_open("Viz str. ", 8, "cs"), is_open("V lednici je sýr. ", 17, "cs"), is_open("Voir l’art. 3", 11, "fr")
    (True, False, True)
    >>> left_out("Des pommes, etc. Paris dort. Sous Louis I. Elle rit.", "fr", {29})
    [17, 43]
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import Any

from ...config import read_toml


@cache
def table(name: str) -> dict[str, str]:
    """Return a table of `words.toml`, also for languages that use the words of another."""
    tables: dict[str, Any] = read_toml(Path(__file__).with_name("words.toml"))
    words: dict[str, str] = tables[name]
    return {language: words[other] for language, other in tables["same"].items() if other in words} | words


_OPEN = {language: frozenset(words.split()) for language, words in table("abbreviations").items()}
_FIRST = {language: frozenset(words.split()) for language, words in table("starters").items()}
_LISTED, _WRITTEN_OUT = table("lists"), table("written_out")
_NUMBERED_WORDS = "no nos nr nrs num vol vols bd t p pp s ss f ff fig figs cap chap kap art arts sec n pág págs op hal"
_NUMBERED = frozenset(_NUMBERED_WORDS.split())
_NUMBER = re.compile(r"\s{0,99}(?:\d|[IVXLC]{1,20}\b)")
_DOTTED = re.compile(r"[^\s\d.!-~]{1,4}[.][^\s\d.!-~]{1,4}$")  # "कि.मी.", "ب.ظ."
_ONE = r"[^\W\d_a-zA-Z][^\w\s!-~।]{0,3}"  # a letter with its vowel signs
_AFTER_INITIAL = re.compile(rf"(?:^|[\s(.]){_ONE}[.] ?{_ONE}[.]$")  # "पु. ल. देशपांडे"
_INITIAL = re.compile(rf"(?:^|[\s(.]){_ONE}[.]$")
_NEXT_INITIAL = re.compile(rf"\s?{_ONE}[.]")
_WORD = re.compile(r"[^\s(\-'’]*$")  # behind an elision too: "l'art"
_BEFORE = frozenset(" \t\n(.")  # a letter after one of them stands alone
# In these languages no sentence ends with a word of one letter.
_ONE_LETTER = frozenset(("ar", "as", "bn", "fa", "gu", "hi", "kn", "ml", "mr", "ne", "or", "te", "ur"))
_NO_CAPITALS = _ONE_LETTER | {"arz", "bho", "ckb", "he", "mai", "pa", "ps", "sa", "sd", "si", "ta", "yi"}
LANGUAGES = frozenset((*_OPEN, *_NO_CAPITALS))  # languages in which `is_open` knows more than sentencex
_UNITS = "[kcm]?m[²³]?|ha|k?g|[kMG]?Hz|[kM]W|°[CF]|[ксм]?м[²³]?|кг|га|χλμ"  # symbols, which the SI writes without a full stop
_STOP = re.compile(r"[.;]\s+(?=([^\W\d_]+)(?!\w|[.]))")
_LONG_WORD = re.compile(r"(?:[^\W\d_]{5,}[aeiouyàáâãäåèéêëìíîïòóôõöøùúûüýąęıаеиоуыэюяіїєёsς]|[^\W\d_]{8,})\s?$")
_LETTERS = re.compile(r"(?<!\w)[^\W\d_], (?:[^\W\d_] \w{1,4} )?[^\W\d_]\s?$")  # "A, B and C" are not initials
_CAPITALS_ONLY = frozenset(("de", "en", "hy", "lb", "nds"))  # German shortens words at any length; in Armenian it is a colon
_MAX_ABBREVIATION_CHARS, _LOOK_BACK_CHARS = 12, 24


def is_initial(text: str, end: int) -> bool:
    """Return True if a single letter precedes the full stop before `end`."""
    if not text[end - 2 : end - 1].isalpha():
        return False
    return end < 3 or text[end - 3] in _BEFORE or text.startswith(".-", end - 4)


def is_open(text: str, end: int, language: str) -> bool:
    """Return True if the full stop before `end` belongs to an initial or to an abbreviation that cannot end a sentence."""
    if text[end - 1] != ".":
        return False
    # "J. Smith": an initial, so the name goes on. In English, sentencex knows initials. A number behind the initial
    # ("vitamin B. 12") also continues the sentence.
    if is_initial(text, end):
        initial = (text[end - 2].isupper() and language != "en") or language in _ONE_LETTER
        if initial or text[end : end + 3].lstrip()[:1].isdigit():
            return True
    words = _OPEN.get(language)
    if words is None and language not in _NO_CAPITALS:
        return False
    # Only a few characters in front of the full stop are needed. Searching the whole text for each of its full stops would
    # take quadratic time.
    before = text[max(0, end - _MAX_ABBREVIATION_CHARS) : end - 1]
    if language in _NO_CAPITALS and (_DOTTED.search(before) or _is_among_initials(text, end)):
        return True
    found = _WORD.search(before)
    word = found[0].lower() if found else ""
    is_numbered = language != "en" and word in _NUMBERED and _NUMBER.match(text, end) is not None
    return (words is not None and word in words) or is_numbered


def _is_among_initials(text: str, end: int) -> bool:
    """Return True if one of several letters with full stops precedes `end`, in a script without capitals."""
    start = max(0, end - _MAX_ABBREVIATION_CHARS)
    if _AFTER_INITIAL.search(text, start, end):
        return True
    return _INITIAL.search(text, start, end) is not None and _NEXT_INITIAL.match(text, end) is not None


@cache
def _complete(language: str) -> re.Pattern[str] | None:
    """Return what a full stop is behind that ends the sentence if a capital follows; None for a language without a list."""
    if language not in _FIRST and language not in _WRITTEN_OUT:
        return None
    before = "|".join(filter(None, ("etc", _LISTED.get(language), *_WRITTEN_OUT.get(language, "").split())))
    return re.compile(rf"(?:(?<!\w)(?:{before})|\d ?(?:{_UNITS}))\s?$")


def begins_sentence(text: str, at: int, language: str) -> bool:
    """Return True if the word at `at` starts sentences but not names."""
    end = text.find(" ", at, at + _LOOK_BACK_CHARS)
    return end > at and text[at:end] in _FIRST.get(language, ())


def is_listed(text: str, end: int) -> bool:
    """Return True if the letter before the full stop before `end` is the last item of a list of letters."""
    return _LETTERS.search(text, max(0, end - _LOOK_BACK_CHARS), end - 1) is not None


def is_written_out(text: str, end: int, language: str) -> bool:
    """Return True if the word before the full stop before `end` is too long to be an abbreviation."""
    return language not in _CAPITALS_ONLY and _LONG_WORD.search(text, max(0, end - _LOOK_BACK_CHARS), end - 1) is not None


def left_out(masked: str, language: str, known: Container[int]) -> list[int]:
    """Return additional sentence ends after full stops, found from the words before or after them."""
    if language in ("en", "hy"):  # sentencex knows enough English, and the Armenian full stop is not "."
        return []
    first, complete = _FIRST.get(language, frozenset()), _complete(language)
    ends = []
    for stop in _STOP.finditer(masked):
        if stop.end() in known:
            continue
        # The next word decides together with the one before:
        #
        #   "1990 г. Он"         "Он" starts sentences and no names: an end
        #   "etc. Paris"         "etc." finishes a list, and a capital follows: an end
        #   "Dr. Paris"          an abbreviation before a name: no end
        #   "pommes rouges. le"  "rouges" is too long for an abbreviation: an end, also before a small letter
        word, at = stop[1], stop.start()
        is_stop = masked[at] == "."
        if word[0].isupper():
            ends_list = complete is not None and complete.search(masked, max(0, at - _LOOK_BACK_CHARS), at) is not None
            if word in first or (is_stop and (ends_list or is_listed(masked, at + 1))):  # the first word after a semicolon too
                ends.append(stop.end())
        elif is_stop and word[0].islower() and is_written_out(masked, at + 1, language):
            ends.append(stop.end())
    return ends

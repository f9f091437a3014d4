"""Detect the language of a text from its script and, if several languages share the script, with the library py3langid.

py3langid adds up how probable the text's short sequences of bytes are in each language.  It always names one of its 139
languages.  `identify` returns ``und`` instead if no language is clearly the most likely, or if the sequences are rarer than in
texts of that language.  Yakut, which the library does not know, is nearest to Kyrgyz, but its sequences are rare there.

150 characters each from the beginning and the middle are enough for most texts.  If the result is unclear, 1,000 characters
each from the beginning, the middle and the end decide together.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import writing

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

UNKNOWN = "und"  # what BCP 47 calls a language that is not known
ALIKE = {  # code -> code of a language that short texts do not distinguish from it
    **dict.fromkeys(("bs", "sh"), "hr"),
    **dict.fromkeys(("nb", "nn"), "no"),
    **dict.fromkeys(("yue", "wuu", "gan", "hak", "lzh", "cmn", "nan"), "zh"),
    **dict.fromkeys(("arz", "ary", "apc"), "ar"),
    "ms": "id", "fil": "tl", "simple": "en", "mo": "ro", "iw": "he", "hbo": "he", "in": "id", "prs": "fa", "uzs": "uz",
    "kik": "ki", "gug": "gn", "grc": "el", "zxx": UNKNOWN,
}  # fmt: skip
_FIRST_LOOK_CHARS = 150  # characters read first, at the beginning and in the middle: a preface may be in another language
_WINDOW_CHARS = 1000  # characters read if the result is unclear, at the beginning, in the middle and at the end
_MIN_CONFIDENCE, _SURE_CONFIDENCE = 0.2, 0.95
_SURE_LETTERS = 20
# Minimum mean logarithm of the probabilities of a text's sequences, by script. 99 of 100 texts of the library's languages have
# more. Three of four Latin and nine of ten Cyrillic texts in 60 other languages have less.
_MIN_LIKELIHOOD = {"Latn": -9.5, "Cyrl": -7.8, "Arab": -8.0, "Deva": -7.3, "Hebr": -7.1}
_MIN_OTHER = -7.0  # scripts of several bytes a letter


class Guess(NamedTuple):
    """A language, and whether the text leaves no doubt of it."""

    language: str
    sure: bool


def guess(text: str) -> str:
    """Return the language of a text, or `UNKNOWN`.

    >>> guess("茶树原产于中国。"), guess("お茶を飲む。"), guess("The tea is hot."), guess("Der Tee ist nicht da."), guess("Tea")
    ('zh', 'ja', 'en', 'de', 'und')
    """
    return identify(text).language


def among(language: str, languages: tuple[str, ...]) -> bool:
    """Return True if a language is in a list, or indistinguishable from one in the list.

    >>> among("zh-TW", ("en", "zh")), among("nb", ("no",)), among("de", ("en", "zh"))
    (True, True, False)
    """
    return _plain(language) in set(map(_plain, languages))


def outside(text: str, declared: str, languages: tuple[str, ...]) -> str:
    """Return the language of a document if it is not in the wanted list, else ``""``.

    ``declared`` is the language named by the source.  If it is not wanted, it is returned.  If it is wanted, it is checked
    against the text, provided that `identify` knows the language.

    >>> outside("Il tè si beve in una tazza, ma non la sera. " * 3, "en", ("en",)), outside("The tea is hot.", "en", ("en",))
    ('it', '')
    """
    if not among(declared, languages):
        return declared
    guess = identify(text)
    wrong = guess.sure and not among(guess.language, languages) and _plain(declared) in map(_plain, _library().labels)
    return guess.language if wrong else ""


def _plain(code: str) -> str:
    main = re.split("[-_]", code.lower())[0]
    return ALIKE.get(main, main)


def identify(text: str) -> Guess:
    """Identify a text's language from its beginning and middle, or from more of it if these are unclear."""
    guess = _identify(_sample(text, _FIRST_LOOK_CHARS)) if len(text) > 2 * _FIRST_LOOK_CHARS else None
    return guess if guess and guess.sure else _identify(_sample(text, _WINDOW_CHARS, end=True))


def _sample(text: str, length: int, end: bool = False) -> str:
    """Return characters of the beginning, the middle and, on request, the end of a text."""
    if len(text) <= (2 + end) * length:
        return text
    middle = (len(text) - length) // 2
    return " ".join([text[:length], text[middle : middle + length], *([text[-length:]] if end else [])])


def _identify(text: str) -> Guess:
    letters = {name: count for name, count in writing.count_letters(text).items() if count}
    if not letters:
        return Guess(UNKNOWN, False)
    total, main = sum(letters.values()), max(letters, key=letters.__getitem__)
    if language := writing.language_of(letters):
        return Guess(language, total >= _SURE_LETTERS and letters[main] > 0.5 * total)
    language, confidence, likelihood = _classify(text if letters[main] == total else writing.keep_script(main, text))
    if confidence < _MIN_CONFIDENCE or likelihood < _MIN_LIKELIHOOD.get(main, _MIN_OTHER):
        return Guess(UNKNOWN, False)
    return Guess(language, language != UNKNOWN and confidence >= _SURE_CONFIDENCE and total >= _SURE_LETTERS)


def _classify(text: str) -> tuple[str, float, float]:
    """Return the most likely language of a text, its probability, and the mean log probability of the text's sequences.

    The library sums up 32-bit floats in an order that depends on the processor. This function uses 64 bits, so that the result is
    the same on each machine.
    """
    from py3langid.langid import visit_counts

    library = _library()
    text = unicodedata.normalize("NFC", text.lower() if text.isupper() else text)
    data = text.encode("utf-8", "surrogatepass")
    features = visit_counts(library.tk_nextmove, library._rowbase, library.tk_output, data) or {}
    weights = np.log1p(np.fromiter(features.values(), np.float64, len(features)))
    scores = weights @ library.nb_ptc[list(features)].astype(np.float64) + library.nb_pc.astype(np.float64)
    shares = np.exp((scores - scores.max()) / math.sqrt(len(data)))  # as in the library: makes up for related features
    languages, columns = _languages()
    by_language = np.bincount(columns, shares)
    best = int(by_language.argmax())
    likelihood = float(scores.max() / weights.sum()) if features else -math.inf
    return languages[best], float(by_language[best] / shares.sum()), likelihood


@cache
def _languages() -> tuple[list[str], list[int]]:
    """Return the languages without those that are alike, and the number of the language of each of the library's columns."""
    codes = [ALIKE.get(code, code) for code in _library().nb_classes]
    languages = list(dict.fromkeys(codes))
    return languages, [languages.index(code) for code in codes]


@cache
def _library() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)  # takes 1 s and 90 MB

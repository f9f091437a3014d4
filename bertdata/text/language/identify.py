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
from typing import NamedTuple

import numpy as np

from . import writing

__all__ = ["ALIKE", "UNKNOWN", "Guess", "among", "guess", "identify", "outside"]

UNKNOWN = "und"  # what BCP 47 calls a language that is not known
ALIKE = {  # code -> code of a language that short texts do not distinguish from it
    **dict.fromkeys(("bs", "sh"), "hr"),
    **dict.fromkeys(("nb", "nn"), "no"),
    **dict.fromkeys(("yue", "wuu", "gan", "hak", "lzh", "cmn", "nan"), "zh"),
    **dict.fromkeys(("arz", "ary", "apc"), "ar"),
    "ms": "id", "fil": "tl", "simple": "en", "mo": "ro", "iw": "he", "hbo": "he", "in": "id", "prs": "fa", "uzs": "uz",
    "kik": "ki", "gug": "gn", "grc": "el", "zxx": UNKNOWN,
}  # fmt: skip
_GLANCE = 150  # characters read first, at the beginning and in the middle: a preface may be in another language
_WINDOW = 1000  # characters read if the result is unclear, at the beginning, in the middle and at the end
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
    wrong = guess.sure and not among(guess.language, languages) and _plain(declared) in _model().languages
    return guess.language if wrong else ""


def _plain(code: str) -> str:
    main = re.split("[-_]", code.lower())[0]
    return ALIKE.get(main, main)


def identify(text: str) -> Guess:
    """Identify a text's language from its beginning and middle, or from more of it if these are unclear."""
    found = Guess(UNKNOWN, False)
    if len(text) > 2 * _GLANCE:
        middle = (len(text) - _GLANCE) // 2
        found = _identify(f"{text[:_GLANCE]} {text[middle : middle + _GLANCE]}")
    if not found.sure:
        middle = (len(text) - _WINDOW) // 2
        found = _identify(
            text if len(text) <= 3 * _WINDOW else f"{text[:_WINDOW]} {text[middle : middle + _WINDOW]} {text[-_WINDOW:]}"
        )
    return found


def _identify(text: str) -> Guess:
    letters = writing.count_letters(text)
    total, main = sum(letters.values()), max(letters, key=lambda name: letters[name])
    if not total:
        return Guess(UNKNOWN, False)
    if language := writing.language_of(letters):
        return Guess(language, total >= _SURE_LETTERS and letters[main] > 0.5 * total)
    language, confidence, likelihood = _model().classify(text if letters[main] == total else writing.keep_script(main, text))
    if language == UNKNOWN or confidence < _MIN_CONFIDENCE or likelihood < _MIN_LIKELIHOOD.get(main, _MIN_OTHER):
        return Guess(UNKNOWN, False)
    return Guess(language, confidence >= _SURE_CONFIDENCE and total >= _SURE_LETTERS)


class _Model:
    """py3langid's model. Languages of `ALIKE` are one language."""

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier, visit_counts

        self._visit = visit_counts
        self._library = LanguageIdentifier.from_model_file(MODEL_FILE)  # takes 1 s and 90 MB
        self._row_starts = [row << 8 for row in self._library.tk_row]
        codes = [ALIKE.get(code, code) for code in self._library.nb_classes]
        self.languages = sorted(set(codes))
        self._numbers = np.array([self.languages.index(code) for code in codes])

    def classify(self, text: str) -> tuple[str, float, float]:
        """Return the most likely language of a text, its probability, and the mean log probability of the text's sequences.

        The library sums up 32-bit floats in an order that depends on the processor.  This method uses 64 bits, so that the
        result is the same on each machine.
        """
        library = self._library
        data = unicodedata.normalize("NFC", text.lower() if text.isupper() else text).encode("utf-8", "surrogatepass")
        counts = self._visit(library.tk_nextmove, self._row_starts, library.tk_output, data)
        if not counts:
            return UNKNOWN, 0.0, -math.inf
        weights = np.log1p(np.array(list(counts.values()), np.float64))
        scores = weights @ library.nb_ptc[list(counts)].astype(np.float64) + library.nb_pc
        best = float(scores.max())
        shares = np.exp((scores - best) / math.sqrt(len(data)))  # the root, as in the library, makes up for related sequences
        shares = np.bincount(self._numbers, shares)
        number = int(shares.argmax())
        return self.languages[number], float(shares[number] / shares.sum()), best / float(weights.sum())


@cache
def _model() -> _Model:
    return _Model()

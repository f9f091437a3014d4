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
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import writing

__all__ = ["ALIKE", "UNKNOWN", "Guess", "among", "guess", "identify", "identify_all", "outside"]

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
_MODEL_SCALE = 1024  # of the model's table
_MAX_FEATURE_BYTES = 8  # bytes; the longest sequence has 6
_SEPARATOR = b"\xff"  # no sequence contains it, so the automaton starts again after it

Ints = npt.NDArray[np.int64]


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
    return identify_all([text])[0]


def identify_all(texts: Sequence[str]) -> list[Guess]:
    """Identify the languages of texts. Many texts in one call take a fifth of the time of one call each.

    >>> [guess.language for guess in identify_all(["The tea is hot.", "Der Tee ist nicht da.", "茶树原产于中国。"])]
    ['en', 'de', 'zh']
    """
    guesses = [Guess(UNKNOWN, False)] * len(texts)
    long = [number for number, text in enumerate(texts) if len(text) > 2 * _FIRST_LOOK_CHARS]
    _put(guesses, long, _identify([_cut(texts[number], _FIRST_LOOK_CHARS) for number in long]))
    unclear = [number for number, guess in enumerate(guesses) if not guess.sure]
    _put(guesses, unclear, _identify([_cut(texts[number], _WINDOW_CHARS, end=True) for number in unclear]))
    return guesses


def _put(guesses: list[Guess], numbers: list[int], found: list[Guess]) -> None:
    for number, guess in zip(numbers, found, strict=True):
        guesses[number] = guess


def _cut(text: str, length: int, end: bool = False) -> str:
    """Return characters of the beginning, the middle and, on request, the end of a text."""
    if len(text) <= (2 + end) * length:
        return text
    middle = (len(text) - length) // 2
    return " ".join([text[:length], text[middle : middle + length], *([text[-length:]] if end else [])])


def _identify(texts: list[str]) -> list[Guess]:
    guesses = [Guess(UNKNOWN, False)] * len(texts)
    open_: list[tuple[int, str, int, str]] = []  # texts of scripts that several languages share
    for number, (text, letters) in enumerate(zip(texts, writing.count_letters_of(texts), strict=True)):
        if not letters:
            continue
        total, main = sum(letters.values()), max(letters, key=letters.__getitem__)
        if language := writing.language_of(letters):
            guesses[number] = Guess(language, total >= _SURE_LETTERS and letters[main] > 0.5 * total)
        else:
            open_.append((number, main, total, text if letters[main] == total else writing.keep_script(main, text)))
    results = _model().classify([text for *_, text in open_]) if open_ else []
    for (number, main, total, _), (language, confidence, likelihood) in zip(open_, results, strict=True):
        if confidence >= _MIN_CONFIDENCE and likelihood >= _MIN_LIKELIHOOD.get(main, _MIN_OTHER):
            guesses[number] = Guess(language, language != UNKNOWN and confidence >= _SURE_CONFIDENCE and total >= _SURE_LETTERS)
    return guesses


class _Model:
    """py3langid's model, with NumPy instead of the library's loops, for many texts at once.

    The model is an automaton over bytes. Its state after a byte is the longest of the model's sequences that ends there, and
    most states count as a feature. The table contains the log probability of each feature in each language. Languages of
    `ALIKE` are one language.
    """

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        library = LanguageIdentifier.from_model_file(MODEL_FILE)  # takes 1 s and 90 MB
        self._next = np.asarray(library.tk_nextmove)
        self._row_starts = np.array(library.tk_row, np.int64) << 8
        self._features = np.array(library.tk_output, np.int32)
        codes = [ALIKE.get(code, code) for code in library.nb_classes]
        order = sorted(range(len(codes)), key=codes.__getitem__)  # the columns of one language follow each other
        self.languages = sorted(set(codes))
        self._first_columns = np.searchsorted([codes[column] for column in order], self.languages)
        # Its 16-bit floats are multiples of 1/1024. Integers convert to 64-bit floats several times faster.
        self._table = np.empty(library.nb_ptc.shape, np.int16)
        for rows, out in zip(np.array_split(library.nb_ptc, 100), np.array_split(self._table, 100), strict=True):
            out[:] = rows.take(order, axis=1) * np.float32(_MODEL_SCALE)
        self._priors = library.nb_pc[order].astype(np.float64)

    def classify(self, texts: list[str]) -> list[tuple[str, float, float]]:
        """Return the most likely language of each text, its probability, and the mean log probability of the text's features.

        The library sums up 32-bit floats in an order that depends on the processor. This method uses 64 bits, so that the
        result is the same on each machine.
        """
        data = [_normalized(text).encode("utf-8", "surrogatepass") for text in texts]
        owners, features, counts = self._count(data)
        weights = np.log1p(counts.astype(np.float64))
        scores = np.zeros((len(data), len(self._priors)))  # [texts, columns]
        bounds = np.searchsorted(owners, np.arange(len(data) + 1)).tolist()
        for number, (start, end) in enumerate(pairwise(bounds)):  # not all at once: a text's rows fit the processor's cache
            scores[number] = weights[start:end] @ self._table.take(features[start:end], axis=0).astype(np.float64)
        scores = scores / _MODEL_SCALE + self._priors
        best = scores.max(axis=1)
        roots = np.sqrt([len(each) for each in data])  # as in the library: makes up for related features
        shares = np.add.reduceat(np.exp((scores - best[:, None]) / roots[:, None]), self._first_columns, axis=1)
        numbers = shares.argmax(axis=1)
        confidence = shares.max(axis=1) / shares.sum(axis=1)
        totals = np.bincount(owners, weights, len(data))
        likelihood = np.divide(best, totals, where=totals > 0, out=np.full(len(data), -math.inf))
        names = [self.languages[number] for number in numbers.tolist()]
        return list(zip(names, confidence.tolist(), likelihood.tolist(), strict=True))

    def _count(self, data: list[bytes]) -> tuple[Ints, Ints, Ints]:
        """Return the features of texts, sorted by text: the number of the text, the number of the feature, and its count.

        The state depends on the last few bytes only. The joined texts are therefore cut into strips of equal length, each
        preceded by the last bytes of the strip before it, and one step moves the automaton by a byte in all strips.
        """
        joined = np.frombuffer(_SEPARATOR.join(data), np.uint8)
        width = max(_MAX_FEATURE_BYTES, math.isqrt(len(joined)))
        strips = -(-len(joined) // width)
        padded = np.full(_MAX_FEATURE_BYTES + strips * width, _SEPARATOR[0], np.uint8)
        padded[_MAX_FEATURE_BYTES : _MAX_FEATURE_BYTES + len(joined)] = joined
        states = np.zeros((_MAX_FEATURE_BYTES + width, strips), np.uint32)
        state = states[0]
        for step in range(len(states)):
            state = self._next.take(self._row_starts.take(state) + padded[step::width][:strips], out=states[step])
        features = self._features.take(states[_MAX_FEATURE_BYTES:].T.ravel()[: len(joined)])
        owners = np.repeat(np.arange(len(data)), [len(each) + 1 for each in data])[:-1]
        found = features >= 0
        keys, counts = np.unique(owners[found] * len(self._table) + features[found], return_counts=True)
        return *np.divmod(keys, len(self._table)), counts


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFC", text.lower() if text.isupper() else text)


@cache
def _model() -> _Model:
    return _Model()

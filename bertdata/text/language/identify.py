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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import writing

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
_MAX_SEQUENCE_BYTES, _SCALE = 6, 1024  # of the model
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
    return identify_all([text])[0]


def identify_all(texts: Sequence[str]) -> list[Guess]:
    """Identify the languages of texts. Many short texts in one call take a fifth of the time of one call each.

    >>> [guess.language for guess in identify_all(["The tea is hot.", "Der Tee ist nicht da.", "茶树原产于中国。"])]
    ['en', 'de', 'zh']
    """
    guesses = _identify([_sample(text, _FIRST_LOOK_CHARS) if len(text) > 2 * _FIRST_LOOK_CHARS else "" for text in texts])
    unclear = [number for number, guess in enumerate(guesses) if not guess.sure]
    again = _identify([_sample(texts[number], _WINDOW_CHARS, end=True) for number in unclear])
    for number, guess in zip(unclear, again, strict=True):
        guesses[number] = guess
    return guesses


def _sample(text: str, length: int, end: bool = False) -> str:
    """Return characters of the beginning, the middle and, on request, the end of a text."""
    if len(text) <= (2 + end) * length:
        return text
    middle = (len(text) - length) // 2
    return " ".join([text[:length], text[middle : middle + length], *([text[-length:]] if end else [])])


def _identify(texts: Sequence[str]) -> list[Guess]:
    if not texts:
        return []
    guesses = [Guess(UNKNOWN, False)] * len(texts)
    shared: list[tuple[int, str, int, str]] = []  # texts in scripts that several languages share
    for number, counts in enumerate(writing.count_letters(texts)):
        letters, text = {name: count for name, count in counts.items() if count}, texts[number]
        if not letters:
            continue
        total, main = sum(letters.values()), max(letters, key=letters.__getitem__)
        if language := writing.language_of(letters):
            guesses[number] = Guess(language, total >= _SURE_LETTERS and letters[main] > 0.5 * total)
        else:
            shared.append((number, main, total, text if letters[main] == total else writing.keep_script(main, text)))
    results = _classify([text for *_, text in shared]) if shared else []
    for (number, main, total, _), (language, confidence, likelihood) in zip(shared, results, strict=True):
        if confidence >= _MIN_CONFIDENCE and likelihood >= _MIN_LIKELIHOOD.get(main, _MIN_OTHER):
            guesses[number] = Guess(language, language != UNKNOWN and confidence >= _SURE_CONFIDENCE and total >= _SURE_LETTERS)
    return guesses


class _Model(NamedTuple):
    """The automaton of py3langid, whose state after a byte is the longest sequence that ends there, and its probabilities."""

    following: npt.NDArray[np.uint32]  # the state after a state and a byte
    rows: npt.NDArray[np.uint32]  # the place of each state in `following`
    features: npt.NDArray[np.int32]  # of the states; -1 for none
    table: npt.NDArray[np.int16]  # log probabilities [features, columns]; integers convert to 64-bit floats several times faster
    priors: npt.NDArray[np.float64]
    languages: list[str]  # without those that are alike
    columns: npt.NDArray[np.intp]  # the number of the language of each column


@cache
def _model() -> _Model:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    library = LanguageIdentifier.from_model_file(MODEL_FILE)  # takes 1 s and 90 MB
    codes = [ALIKE.get(code, code) for code in library.nb_classes]
    languages = list(dict.fromkeys(codes))
    table = np.empty(library.nb_ptc.shape, np.int16)  # its 16-bit floats are multiples of 1/1024
    np.multiply(library.nb_ptc, _SCALE, out=table, casting="unsafe", dtype=np.float32)
    rows, features = np.array(library._rowbase, np.uint32), np.array(library.tk_output, np.int32)
    priors, columns = library.nb_pc.astype(np.float64), np.array([languages.index(code) for code in codes])
    return _Model(np.asarray(library.tk_nextmove), rows, features, table, priors, languages, columns)


def _classify(texts: Sequence[str]) -> list[tuple[str, float, float]]:
    """Return the most likely language of each text, its probability, and the mean log probability of the text's sequences.

    The library sums up 32-bit floats in an order that depends on the processor. This function uses 64 bits, so that the result is
    the same on each machine.
    """
    model = _model()
    plain = (unicodedata.normalize("NFC", text.lower() if text.isupper() else text) for text in texts)
    encoded = [text.encode("utf-8", "surrogatepass") + b"\xff" for text in plain]  # no sequence contains 0xff
    # A state depends on the last few bytes only. Each step moves the automata of all bytes of the texts by one byte.
    data = np.frombuffer(b"\xff" * (_MAX_SEQUENCE_BYTES - 1) + b"".join(encoded), np.uint8)
    states = np.zeros(len(data) - _MAX_SEQUENCE_BYTES + 1, np.uint32)
    for start in range(_MAX_SEQUENCE_BYTES):
        states = model.following.take(model.rows.take(states) + data[start : start + len(states)])
    features, sizes = model.features.take(states), np.array(list(map(len, encoded)))
    keys = np.repeat(np.arange(len(texts)), sizes) * len(model.table) + features
    keys, counts = np.unique(keys[features >= 0], return_counts=True)
    owners, features = np.divmod(keys, len(model.table))
    weights = np.log1p(counts)
    ends = np.cumsum(np.bincount(owners, minlength=len(texts))).tolist()
    scores = np.zeros((len(texts), len(model.priors)))
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):  # a text's part of the table fits into the cache
        scores[number] = weights[start:end] @ model.table.take(features[start:end], axis=0).astype(np.float64)
    scores = scores / _SCALE + model.priors
    highest = scores.max(axis=1)
    # As in the library, the square root makes up for related features.
    shares = np.exp((scores - highest[:, None]) / np.sqrt(sizes - 1)[:, None])
    by_language = np.zeros((len(texts), len(model.languages)))
    np.add.at(by_language.T, model.columns, shares.T)
    totals = np.bincount(owners, weights, len(texts))
    likelihoods = np.divide(highest, totals, where=totals > 0, out=np.full(len(texts), -math.inf))
    names = [model.languages[number] for number in by_language.argmax(axis=1).tolist()]
    return list(zip(names, (by_language.max(axis=1) / shares.sum(axis=1)).tolist(), likelihoods.tolist(), strict=True))

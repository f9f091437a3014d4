"""Detect the language of a text from its script, its most frequent words and its letters.

A script that only one language uses decides the language.  For Latin, Cyrillic, Arabic, Hebrew and Devanagari text the words
decide: each frequent word of a language adds to its score, in proportion to its frequency.  Nothing is downloaded.

300 characters each from the beginning and the middle are enough for most texts.  If the result is unclear, 1,000 characters
each from the beginning, the middle and the end decide together.
"""

# Measured on 29 languages: F1 of documents 1.0, rows 0.998, sentences 0.944. py3langid: 1.0, 1.0, 0.991, 2 to 5 times slower.

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from functools import cache, lru_cache
from typing import NamedTuple

from .common_words import ALIKE, LETTERS, WORDS

__all__ = ["UNKNOWN", "Guess", "among", "guess", "identify", "outside"]

UNKNOWN = "und"  # what BCP 47 calls a language that is not known
_GLANCE = 300  # characters looked at first, at the beginning and in the middle: a preface may be in another language
_WINDOW = 1000  # characters looked at where those leave a doubt, at the beginning, in the middle and at the end
_SCRIPTS = (  # where each range of letters begins, and whose they are; "" is nobody's
    (0x41, "Latin"), (0x2B0, ""), (0x370, "el"), (0x400, "Cyrillic"), (0x530, "hy"), (0x590, "Hebrew"), (0x600, "Arabic"),
    (0x700, ""), (0x750, "Arabic"), (0x780, ""), (0x8A0, "Arabic"), (0x900, "Devanagari"), (0x980, "bn"), (0xA00, "pa"),
    (0xA80, "gu"), (0xB00, "or"), (0xB80, "ta"), (0xC00, "te"), (0xC80, "kn"), (0xD00, "ml"), (0xD80, "si"), (0xE00, "th"),
    (0xE80, "lo"), (0xF00, "bo"), (0x1000, "my"), (0x10A0, "ka"), (0x1100, "ko"), (0x1200, "am"), (0x13A0, ""),
    (0x1780, "km"), (0x1800, ""), (0x1E00, "Latin"), (0x1F00, "el"), (0x2000, ""), (0x3040, "kana"), (0x3100, ""),
    (0x3400, "han"), (0xA000, ""), (0xAC00, "ko"), (0xD7B0, ""), (0xF900, "han"), (0xFB00, ""), (0x20000, "han"), (0x32000, ""),
)  # fmt: skip
_STARTS = [start for start, _ in _SCRIPTS]
_LEAST_OF_CJK, _LEAST_KANA = 0.3, 0.05  # minimum share of letters for Chinese, Japanese or Korean, and of kana for Japanese
_WORD = re.compile(r"[^\s\d!-/:-@\[-`{-~\u00a0-\u00bf\u2000-\u206f\u0589\u05be\u05f3\u060c\u061b\u061f\u06d4\u0964\u0965]+")
_OWN, _ALIEN = 0.7, -1.5  # score of a letter that the language uses, and of one that it does not use
_PRIOR = {"en": 2.0, "de": 1.0, "es": 1.0, "fr": 1.0, "pt": 1.0, "ru": 1.0}  # most text is in these languages
_MIN_SCORE = 4.0  # minimum score of a language: a word or two
_SURE, _SURE_WORDS = 12.0, 8  # minimum lead over the next language, and minimum number of known words
_CERTAIN, _CERTAIN_WORDS = 40.0, 16  # the same, after the first short sample


class Guess(NamedTuple):
    """A language, and whether the text leaves no doubt of it."""

    language: str
    sure: bool


def guess(text: str) -> str:
    """Return the language of a text, or `UNKNOWN`.

    >>> guess("茶树原产于中国。"), guess("お茶を飲む。"), guess("Tea is drunk."), guess("Der Tee ist nicht da."), guess("Tea")
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

    >>> outside("Il tè si beve in tazza. " * 5, "en", ("en", "de")), outside("Tea is drunk.", "en", ("en", "de"))
    ('it', '')
    """
    if not among(declared, languages):
        return declared
    guess = identify(text)
    wrong = guess.sure and _plain(declared) in _KNOWN and not among(guess.language, languages)
    return guess.language if wrong else ""


def _plain(code: str) -> str:
    main = re.split("[-_]", code.lower())[0]
    return ALIKE.get(main, main)


def identify(text: str) -> Guess:
    """Identify a text's language by a glance at its beginning and middle, and by more of it if that leaves a doubt."""
    if len(text) > 2 * _GLANCE:
        middle = (len(text) - _GLANCE) // 2
        found, is_certain = _identify(f"{text[:_GLANCE]} {text[middle : middle + _GLANCE]}")
        if is_certain:
            return found
    return _identify(_sample(text))[0]


def _identify(sample: str) -> tuple[Guess, bool]:
    """Identify the language of all of a sample; also return whether it is so clear that more of such text cannot change it."""
    if sample.isascii():  # the letters from a to z alone decide nothing
        return _by_words(sample, Counter(), "Latin") if sample.lower() != sample.upper() else (Guess(UNKNOWN, False), False)
    characters = Counter(sample)
    scripts: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            scripts[_script(character)] += count
    letters = scripts.total()
    if not letters:
        return Guess(UNKNOWN, False), False
    for language, count in (("ja", scripts["kana"] + scripts["han"]), ("ko", scripts["ko"]), ("zh", scripts["han"])):
        if count > _LEAST_OF_CJK * letters and (language != "ja" or scripts["kana"] > _LEAST_KANA * letters):
            return Guess(language, count > 0.5 * letters and letters >= 20), count > 0.9 * letters and letters >= 200
    script, count = max(scripts.items(), key=lambda item: (item[1], item[0]))
    if script in _LANGUAGES:
        return _by_words(sample, characters, script)
    of_script = count / letters if script else 0.0
    return Guess(script or UNKNOWN, of_script > 0.5 and letters >= 20), of_script > 0.9 and letters >= 200


@lru_cache(maxsize=1 << 14)
def _script(letter: str) -> str:
    """Return whose letter it is, as in `_SCRIPTS`."""
    return _SCRIPTS[bisect_right(_STARTS, ord(letter)) - 1][1]


def _sample(text: str) -> str:
    if len(text) <= 3 * _WINDOW:
        return text
    middle = (len(text) - _WINDOW) // 2
    return f"{text[:_WINDOW]} {text[middle : middle + _WINDOW]} {text[-_WINDOW:]}"


_LANGUAGES = {
    "Latin": tuple(WORDS)[: tuple(WORDS).index("ru")],
    "Cyrillic": ("ru", "uk", "be", "bg", "mk", "sr", "kk"),
    "Arabic": ("ar", "fa", "ur", "ps"),
    "Devanagari": ("hi", "mr", "ne"),
    "Hebrew": ("he", "yi"),
}
_KNOWN = {*WORDS, *(language for _, language in _SCRIPTS if len(language) == 2), "ja", "zh"}


Weights = dict[str, list[tuple[int, float]]]  # of a word or letter: languages, by their number in `_LANGUAGES`, and a weight each


@cache
def _tables(script: str) -> tuple[Weights, Weights]:
    """Return the weights of words and letters for and against the languages of a script."""
    words, languages = defaultdict[str, dict[int, float]](dict), _LANGUAGES[script]
    for number, language in enumerate(languages):
        for rank, word in enumerate(WORDS[language].split()):
            words[word].setdefault(number, math.log(1000 / (rank + 5)))
    telling = {letter for language in languages for letter in LETTERS.get(language, "")}
    letters = {
        letter: [(number, _OWN if letter in LETTERS.get(language, "") else _ALIEN) for number, language in enumerate(languages)]
        for letter in telling
    }
    return {word: list(weights.items()) for word, weights in words.items()}, letters


def _by_words(sample: str, characters: Counter[str], script: str) -> tuple[Guess, bool]:
    words, letters = _tables(script)
    languages = _LANGUAGES[script]
    scores = [_PRIOR.get(language, 0.0) for language in languages]
    words_of = [0] * len(languages)
    for word, times in Counter(_WORD.findall(sample.lower())).items():
        for number, weight in words.get(word, ()):
            scores[number] += weight * times
            words_of[number] += times
    for letter, times in characters.items():
        for number, weight in letters.get(letter.lower(), ()):
            scores[number] += weight * times
    best, second = sorted(range(len(languages)), key=lambda number: -scores[number])[:2]
    if scores[best] < _MIN_SCORE:
        return Guess(UNKNOWN, False), False
    margin, count = scores[best] - scores[second], words_of[best]
    sure = margin >= _SURE and count >= _SURE_WORDS
    return Guess(languages[best], sure), margin >= _CERTAIN and count >= _CERTAIN_WORDS

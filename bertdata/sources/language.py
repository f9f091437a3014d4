"""Guess a text's language from its script, where nothing names it: enough to know where its sentences end."""

from __future__ import annotations

import re

__all__ = ["guess"]

_SAMPLE = 20000  # characters looked at
_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]"), 0.05),  # kana between the characters
    ("ko", re.compile("[\uac00-\ud7af]"), 0.3),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"), 0.3),
    ("ru", re.compile("[\u0400-\u04ff]"), 0.5),
    ("ar", re.compile("[\u0600-\u06ff]"), 0.5),
    ("hi", re.compile("[\u0900-\u097f]"), 0.5),
    ("el", re.compile("[\u0370-\u03ff]"), 0.5),
    ("he", re.compile("[\u0590-\u05ff]"), 0.5),
    ("th", re.compile("[\u0e00-\u0e7f]"), 0.5),
)


def guess(text: str) -> str:
    """Return a language of the text's script; English for Latin letters.

    >>> guess("茶树原产于中国。"), guess("お茶を飲む。"), guess("Tea is drunk.")
    ('zh', 'ja', 'en')
    """
    sample = text[:_SAMPLE]
    letters = sum(map(str.isalpha, sample)) or 1
    for language, script, share in _SCRIPTS:
        if len(script.findall(sample)) > share * letters:
            return language
    return "en"

"""Compare amounts of text between languages by byte premiums, the bytes that a language needs for what English says in one byte.

Arnett, Chang and Bergen, "A Bit of a Problem: Measurement Disparities in Dataset Sizes Across Languages" (2024), measured them
in parallel texts. Two texts say about the same if their sizes in bytes, divided by the premiums of their languages, are equal:

    1,000,000 bytes of English / 1.0    1,967,000 bytes of Greek / 1.967    936,000 bytes of Chinese / 0.936
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import UsageError

__all__ = ["BABYBABELLM", "BYTES_PER_WORD", "premium"]

# Bytes of an English word with its space. BabyBabelLM (Jumelet et al. 2025) counts 543 MB of English as 100 million words.
BYTES_PER_WORD = 5.43
# The values of Arnett et al. (https://github.com/catherinearnett/byte-premium-tool) for the languages of BabyBabelLM, rounded.
# Chinese is that of simplified characters. For traditional ones, it is 0.989.
# fmt: off
BABYBABELLM = {
    "ace": 1.242, "af": 1.037, "ar": 1.465, "ban": 1.27, "bg": 1.812, "bug": 1.228, "ca": 1.093, "cs": 1.036,
    "cy": 1.027, "da": 1.021, "de": 1.054, "el": 1.967, "en": 1.0, "es": 1.084, "et": 0.968, "eu": 1.06,
    "fa": 1.597, "fr": 1.174, "ga": 1.975, "he": 1.356, "hr": 0.99, "hu": 1.02, "id": 1.179, "is": 1.154,
    "it": 1.067, "ja": 1.322, "jv": 1.147, "ko": 1.293, "lb": 1.225, "mak": 1.251, "mr": 2.479, "nl": 1.052,
    "no": 1.125, "nso": 1.116, "pl": 1.077, "pt": 1.098, "ro": 1.115, "ru": 1.823, "sl": 0.972, "sr": 1.425,
    "st": 1.166, "sv": 1.021, "ta": 2.729, "th": 2.742, "tn": 1.174, "tr": 1.044, "uk": 1.751, "xh": 1.199,
    "yue": 0.862, "zh": 0.936, "zu": 1.164,
}
# fmt: on


def premium(language: str, premiums: Mapping[str, float]) -> float:
    """Return the byte premium of a language, which may have a region or script. Raise UsageError if there is no value for it.

    >>> premium("zh-Hant", BABYBABELLM), premium("zh-Hant", {**BABYBABELLM, "zh-Hant": 0.989})
    (0.936, 0.989)
    """
    found = premiums.get(language) or premiums.get(language.split("-")[0])
    if not found:
        problem = f"`byte_premium`: no value for {language}, the language of a document. Add its value: {language}=1.2"
        raise UsageError(problem, field="byte_premium")
    return found

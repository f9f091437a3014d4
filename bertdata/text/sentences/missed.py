"""Ends that sentencex leaves out: after ellipses, smileys, answers, abbreviations and stops unknown to it; before figures."""

from __future__ import annotations

import re

from .starters import left_out

__all__ = ["NUMBER_STARTS", "missed"]

NUMBER_STARTS = {  # languages where sentencex never splits before a figure; abbreviations that take one
    language: re.compile(rf"\W(?:{words}|\w)[.]", re.IGNORECASE)
    for language, words in {
        "de": "nr|no|ca|abs|art|kap|bd|str|tel|vgl|usw|bzw|aufl|ziff|hrsg|jan|feb|apr|aug|sept?|okt|nov|dez|evtl|mio|mrd",
        "da": "nr|ca|kap|bd|tlf|jan|feb|mar|apr|aug|sept?|okt|nov|dec|mio|mia",
        "fi": "nro|ks|esim|noin|luku|puh|milj",
        "cs": "č|např|tzv|str|kap|roč|tel|mil|mld",
    }.items()
}
_BEFORE_NUMBER = re.compile(r"[.!?](?<=[^\W\d]{2}.)\s+(?=\d)")
_ELLIPSIS = re.compile(r"(?:…|\.\.\.)\s+(?=([^\W\d_]))")
_NO = re.compile(r"N(?<![\w,;] N)(?<!\wN)o\. \s*(?=[A-Z])")  # an answer, not a number
_KHMER = re.compile("[។៕]\\s+")
_CURRENCY = re.compile("৷(?!\\d)\\s*")  # the sign of a currency, typed for the danda
_CLOSED_SYLLABLES = "".join(chr(0xAC00 + 28 * syllable + 17) for syllable in range(19 * 21))  # Hangul that ends in -b
_KOREAN = re.compile(  # a polite form of the verb ends a sentence also without a stop, as in chats and reviews
    f"(?:[{_CLOSED_SYLLABLES}]니다|[가-힣](?:네|나|까|세|어|아|해|에|예|군|지|줘)요)[~^ㅎㅋㅜㅠ]*\\s+(?!(?:이?라고|이?라는|이?라며|이?라면|하고|하는|하며|하면|했|한다|할)|[,.!?~^)])(?=\\S)"
)
_SMILEY = re.compile(r"[:;]-?(?:\)+|[DP]\b)\s+(?=([^\W\d_]))")
_SMILE = re.compile(r"\)(?<=[:;-]\))")  # begins with a plain character: that is found much faster
_ALWAYS = {"en": _NO, "km": _KHMER, "bn": _CURRENCY, "as": _CURRENCY, "ko": _KOREAN}


def missed(text: str, masked: str, language: str, offsets: list[int]) -> list[int]:
    """Return the ends of sentences that are not among the offsets, in no order."""
    # Each rule first looks for a cheap sign, such as ")" or "…", because most paragraphs need none
    # of them, and this runs for every paragraph of a corpus.
    ends: list[int] = []
    if (")" in text and _SMILE.search(text)) or (language != "en" and ":D" in text):
        ends += [match.end() for match in _SMILEY.finditer(text) if match[1].isupper()]
    if "…" in masked or (language == "hy" and "..." in masked):
        ends += [match.end() for match in _ELLIPSIS.finditer(masked) if match[1].isupper()]
    if (always := _ALWAYS.get(language)) and always.search(masked):
        ends += [match.end() for match in always.finditer(masked)]
    if abbreviation := NUMBER_STARTS.get(language):
        for match in _BEFORE_NUMBER.finditer(masked):
            if not abbreviation.search(masked, max(0, match.start() - 8), match.end()):
                ends.append(match.end())
    if language != "en":
        ends += left_out(masked, language, frozenset(offsets))
    return ends

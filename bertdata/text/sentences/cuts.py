"""Where the sentence ends whose end sentencex sees: moved past what closes there, or nowhere, where the sentence goes on."""

from __future__ import annotations

import re

from .abbreviations import is_initial, is_open
from .missed import NUMBER_STARTS
from .quotation import opening_quotes, split_gap
from .starters import begins_sentence, is_listed, is_written_out

__all__ = ["cut"]

_ENUMERATOR = re.compile(r"\W*(?:\d{1,3}|[IVXLC]+|[a-z])\W*\s*")  # "3." or "IV." or "b)" alone is not a sentence
_FIRST_ITEM = re.compile(r":\s+1[.]$")  # "You need: 1. Tea"
_FOOTNOTE = re.compile(  # a footnote's number after the end of a sentence: "as they say. 4 Even so …"
    r"\d{1,3}(?:\s+(?=(?:The|A|An|In|At|On|It|He|She|We|They|This|That|These|Those|There|But|And|For|As|If|When|While|Although"
    r"|However|Even|Such|Some|Since|Because|Thus|By|From|To|With|What|Who|I|You|His|Her|Its|Their|Our|According)\b)|\s*$)"
)
_SAID = re.compile(  # '"Stop!" Anna cried' is one sentence
    r"(?:\w{1,99}\.?\s{1,99}){1,3}?(?:said|says|asked|cried|replied|answered|exclaimed|shouted|called|whispered|thought|returned|added"
    r"|continued|demanded|inquired|murmured|muttered|observed|remarked|repeated|screamed|snapped|yelled)\b"
)
_VERBS = {  # of saying, in the past, in languages whose verb comes last: "“Who?” the boy asked." is one sentence
    "bn": "বলল|বললেন|জিজ্ঞেস করল|জিজ্ঞাসা করল|জিজ্ঞাসা করলেন",
    "hi": "कहा|पूछा|बोला|बोली|बोले|चिल्लाया",
    "mr": "म्हणाल[ाेी]|म्हणाल्या|म्हणतो|म्हणते|विचारले|बोलल[ाेी]|ओरडल[ाेी]|सुचविले|सांगितले",
    "ne": "भन्यो|भने|भनिन्|सोध्यो",
}
_PARTICLES = {  # words that continue a sentence after a quotation
    "kn": "ಎಂದು|ಎಂಬ|ಎನ್ನು|ಅಂತ",
    "ko": r"(?:이?라고|이?라는|이?라며|하고|고)\s",
    "ml": "എന്ന",
    "mr": r"(?:असे|असं|अशी|असा|म्हणून)\s",
    "ne": "भनेर|भन्ने|भन्दै|भनी",
    "ta": "என்று|என்ற|என்றா|எனக்|என ",
    "te": "అని|అనే|అన్నా",
}
_VERB_SEARCH_CHARS = 200  # characters after a quotation that are searched for a verb of saying
_TOOK_UP = {
    language: re.compile(
        rf"{_PARTICLES.get(language, '(?!)')}|(?:[^\s.!?।]+\s+){{1,4}}(?:{_VERBS.get(language, '(?!)')})\s*(?:[.।]|$)"
    )
    for language in _VERBS.keys() | _PARTICLES.keys()
}
_UNSPACED = re.compile(  # the end of a word in a script without capitals, and one that follows
    r"(?:(?<=[\s(])[^\s.\d!-~]{3,}[.](?=[^\s.!-~]{3})|[^\s.\d!-~]{6}[.](?=[^\s.\d!-~]))(?![^\s.]+[.])"
)
_DASHES = frozenset("—–-")
_DASHED = re.compile(r"(?:--+|[—–-])\s*([\w,;:]?)")
_DATE = re.compile(r"\W{0,99}\d{1,2}[.]? (?:de )?[^\W\d_]{3,10}(?: (?:de )?\d{4})?[.]")  # "7 de junio. - El rey …": a heading
_CARRIES_ON = frozenset(",;:/")
_ITEM = re.compile(r"[.!?]\W*\s(\d{1,2}\.$)")  # "… paid. 2. The tenant …": the number is the next sentence's
_ORDINALS = {  # "im 6. Stock", "der 35. Tag", "am 3. Mai": pattern before, and pattern after
    "de": (
        re.compile(
            r"\b(?i:[ai]m|[zv]om|zum|zur|de[rsmn]|die|das|dies\w+|jede\w*|seine?\w?|ihre?\w?|beim|eine?\w?|ab|bis|seit|und|oder)"
            r"\s+(?:\w+\s+)?\d{1,3}\.$"
        ),
        re.compile(
            r"(?:Jahrhundert|Jh\b|Stock|Etage|Platz|Mal\b|Tag|Kapitel|Jan|Jän|Feb|März|Apr|Mai\b|Jun|Jul|Aug|Sept|Okt|Nov|Dez)"
        ),
    ),
}
_NO_NOUN = re.compile(  # "am 12. Er ging": a word that never follows an ordinal
    r"\s+(?:Er|Sie|Es|Wir|Ich|Ihr|Man|Der|Die|Das|Den|Dem|Dies\w*|Eine?|Im|In|Am|An|Auf|Mit|Nach|Bei|Von|Zu|Und|Aber|Doch|Dann|Da|So)\b"
)
_ROMAN = {"hu": re.compile(r"(?<!\w)[IVXLC]+[.]$")}  # an ordinal before a name: "IV. Béla"
# Languages without capitals, where "…" may be a pause.
_ELLIPSIS_PAUSES = frozenset(("ar", "arz", "ckb", "fa", "he", "ps", "sd", "ug", "ur", "yi"))


def cut(text: str, masked: str, start: int, end: int, language: str) -> int:
    """Return where the sentence from `start` that sentencex ends at `end` ends, or 0 where it goes on.

    Args:
        text: The paragraph.
        masked: The paragraph with its quotation marks and brackets blanked.
        start: Where the sentence begins.
        end: Where sentencex ends it, behind the whitespace.
        language: ISO 639 code.
    """
    # `last` is the end of the words, and `after` the start of the next ones. Between them, `gap`
    # has the whitespace and the marks that were blanked in `masked`:
    #
    #   text     He said: "Stop!" Then he left.
    #   masked   He said:  Stop!  Then he left.
    #                           ^last
    #                             ^after             gap = '" '
    last = after = end
    while last > start and masked[last - 1].isspace():
        last -= 1
    if last - start < 9 and _ENUMERATOR.fullmatch(masked, start, last):
        return 0
    while after < len(masked) and masked[after].isspace():
        after += 1
    gap = text[last:after]
    quoted = not gap.isspace()
    following = masked[after : after + 1]
    if _goes_on(masked, last, after, language, gap):
        return 0
    if following in _DASHES and after > last and _DATE.fullmatch(masked, start, last):
        return 0
    # "as they say. 4 Even so": the 4 is a footnote's mark and belongs to the sentence before it.
    if following.isdigit() and (note := _FOOTNOTE.match(masked, after)):
        return note.end() if note.end() < len(masked) else 0
    item = _ITEM.search(masked, max(start, last - 12), last) if language in NUMBER_STARTS else None
    if item and not is_open(masked, item.start() + 1, language):
        return item.start(1)
    if language in _ORDINALS and masked[last - 2 : last - 1].isdigit() and _is_ordinal(masked, last, language):
        return 0
    if not quoted:
        return end
    # '"Stop!" Anna cried': the mark ends the quotation and not the sentence.
    if masked[last - 1] in "!?" and _SAID.match(masked, after):
        return 0
    if (spaced := gap.find(' " ')) >= 0 and last + spaced + 1 in opening_quotes(text):
        return last + spaced + 1
    return last + split_gap(gap)


def _goes_on(masked: str, last: int, after: int, language: str, gap: str) -> bool:
    """Return True if the mark before `last` ends no sentence: in "J.-P.", ".NET", "“Who?” — he asked", or an abbreviation."""
    following = masked[after : after + 1]
    mark = masked[last - 1]
    if following in _CARRIES_ON:
        return True
    if following in _DASHES and (dashed := _DASHED.match(masked, after)):
        return dashed[1].islower() or dashed[1] in (",", ";", ":") or (after == last and following == "-")
    quoted = not gap.isspace()
    if following.islower() and (quoted or mark in ".…"):
        written_out = mark == "." and is_written_out(masked, last, language)  # then a small letter may begin a sentence
        if not written_out or (quoted and split_gap(gap)):
            return True
    if (
        (quoted or mark in "!?")
        and (took_up := _TOOK_UP.get(language))
        and took_up.match(masked, after, after + _VERB_SEARCH_CHARS)
    ):
        return True
    if mark != ".":
        return mark == "…" and language in _ELLIPSIS_PAUSES
    if after == last:
        if masked[last - 2 : last - 1].isspace() and following.isalnum():
            return True
        if not _is_unspaced(masked, last):
            return True
    if masked.startswith("..", last - 3) and language in _ELLIPSIS_PAUSES:
        return True
    return _is_abbreviated(masked, last, after, language)


def _is_unspaced(masked: str, last: int) -> bool:
    """Return True if a full stop without whitespace after it ends a sentence: not in numbers, names of files, "a.C."."""
    following, before = masked[last : last + 2], masked[max(0, last - 6) : last].rstrip(".")[-3:]
    if following[:1].isupper():  # "left in May.Then he …"
        return following[1:].islower() and len(before) == 3 and before[1:].islower() and before.isalpha()
    unspaced = _UNSPACED.search(masked, max(0, last - 8), last + 24)
    return unspaced is not None and unspaced.end() == last


def _is_abbreviated(masked: str, last: int, after: int, language: str) -> bool:
    """Return True if the full stop before `last` belongs to an abbreviation or ordinal that the next word continues."""
    if language == "en" and masked[after : after + 1].isupper():  # sentencex knows English titles
        return False
    if language in _ROMAN and _ROMAN[language].search(masked, max(0, last - 8), last) and masked[after : after + 1].isupper():
        return not begins_sentence(masked, after, language)
    if _FIRST_ITEM.search(masked, max(0, last - 6), last):
        return True
    if not is_open(masked, last, language):
        return False
    return not (is_initial(masked, last) and (begins_sentence(masked, after, language) or is_listed(masked, last)))


def _is_ordinal(masked: str, last: int, language: str) -> bool:
    before, after = _ORDINALS[language]
    number = before.search(masked, max(0, last - 40), last)
    return (number is not None or after.match(masked, last + 1) is not None) and not _NO_NOUN.match(masked, last)

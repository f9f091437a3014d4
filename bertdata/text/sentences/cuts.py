"""Sentence ends: those that sentencex leaves out, and for each, where it is after closing marks, or that the sentence goes on."""

from __future__ import annotations

import re

from .quotation import opening_quotes, split_gap
from .words import begins_sentence, is_initial, is_listed, is_open, is_written_out, left_out, table

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
_VERBS, _PARTICLES = table("verbs"), table("particles")
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
# German ordinals: "im 6. Stock", "mein 1. Hauptfach" and "der große 3. Tag" by the words before them, "am 3. Mai" by those after.
_ORDINAL = re.compile(
    r"\b(?i:[ai]m|vom|beim|ums|aufs|fürs|ans|ins|durchs|[üu]\w{1,3}erm|hinterm|[vf]orm|zum|zur|de[rsmn]|die|das|(?:irgend|d)?ein\w*|mein\w*|sein\w*|kein\w*|ihr\w*|unser\w*|eue?r\w*|dies\w*|jede\w*"
    r"|jene\w*|(?:irgend)?welch\w*|manch\w*|solch\w*|alle\w*|beide\w*|ab|bis|seit|und|oder|dessen|deren)"
    r"\s+(?:\w+\s+)?\d{1,3}\.$"
)
_AFTER_ORDINAL = re.compile(
    r"(?:Jahrhundert|Jahrtausend|Jh\b|Stock|Etage|Platz|Mal\b|Tag|Kapitel|Jan|Jän|Feb|März|Apr|Mai\b|Jun|Jul|Aug|Sept?\b|September"
    r"|Okt|Nov|Dez)"
)
_NO_NOUN = re.compile(  # "am 12. Er ging": a word that never follows an ordinal
    r"\s+(?:Er|Sie|Es|Wir|Ich|Ihr|Man|Der|Die|Das|Den|Dem|Dies\w*|Eine?|Im|In|Am|An|Auf|Mit|Nach|Bei|Von|Zu|Und|Aber|Doch|Dann|Da|So"
    r"|Mein\w*|Sein\w*|Unser\w*|Kein\w*)\b"
)
_ROMAN = {"hu": re.compile(r"(?<!\w)[IVXLC]+[.]$")}  # an ordinal before a name: "IV. Béla"
# Languages without capitals, where "…" may be a pause.
_ELLIPSIS_PAUSES = frozenset(("ar", "arz", "ckb", "fa", "he", "ps", "sd", "ug", "ur", "yi"))


_NUMBER_STARTS = {  # languages where sentencex never splits before a figure; abbreviations that take one
    language: re.compile(rf"\W(?:{words}|\w)[.]", re.IGNORECASE) for language, words in table("numbered").items()
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
    if abbreviation := _NUMBER_STARTS.get(language):
        for match in _BEFORE_NUMBER.finditer(masked):
            if not abbreviation.search(masked, max(0, match.start() - 8), match.end()):
                ends.append(match.end())
    if language != "en":
        ends += left_out(masked, language, frozenset(offsets))
    return ends


def cut(text: str, masked: str, start: int, end: int, language: str) -> int:
    """Return where the sentence from `start` that sentencex ends at `end`, behind the whitespace, ends, or 0 where it goes on.

    ``masked`` is the paragraph with its quotation marks and brackets blanked.
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
    item = _ITEM.search(masked, max(start, last - 12), last) if language in _NUMBER_STARTS else None
    if item and not is_open(masked, item.start() + 1, language):
        return item.start(1)
    if language == "de" and masked[last - 2 : last - 1].isdigit() and _is_ordinal(masked, last):
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


def _is_ordinal(masked: str, last: int) -> bool:
    """Return True if the number before `last` is a German ordinal."""
    number = _ORDINAL.search(masked, max(0, last - 40), last)
    return (number is not None or _AFTER_ORDINAL.match(masked, last + 1) is not None) and not _NO_NOUN.match(masked, last)

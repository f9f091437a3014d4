"""Paragraphs become sentences, in any language, and nothing but white space is lost.

The library `sentencex` knows the abbreviations and the sentence ends of some 240 languages, but keeps a quotation or a
bracket in one piece.  So it is given the paragraph with quotation marks, brackets and reference marks blanked; each end it
finds is then looked at in the paragraph itself, by the rules below.  Chinese and Japanese, which have marks that end
sentences and nothing else, are split by those marks alone.

    >>> split_sentences('"Is the tea ready? I am cold." Dr. Ames sat down.')
    ['"Is the tea ready?', 'I am cold."', 'Dr. Ames sat down.']
    >>> split_sentences("茶好了。“请坐！喝茶。”他说。", "zh")
    ['茶好了。', '“请坐！', '喝茶。”他说。']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from sentencex import segment

from .abbreviations import LANGUAGES, is_open

__all__ = ["split_sentences"]

_PLAIN = frozenset(("en", "fr", "es", "it", "pt", "nl"))  # codes that need no tidying
_BLANKED_ASCII = '"()[]{}`\n\r'  # sentencex looks for pairs of them, in quadratic time
_BLANKED = _BLANKED_ASCII + "“”„‟«»‹›‘「」『』《》（）【】"
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")  # breaks sentencex: "plan B\xa0."
_SINGLE = {quote: re.compile(f"{quote}(?:{quote}|(?<=[.!? ].))") for quote in "'’"}  # quotation marks, not apostrophes
_SURE = frozenset((". ", "! ", "? "))  # between letters and a capital; no rule moves such an end
_WINDOW = 2000  # characters given to sentencex at a time; most paragraphs are shorter
_APOSTROPHES = 2000  # more of them in one paragraph are not writing; sentencex would look for pairs
_OPENERS = "“„«‘([{「『《（【`"
_NOTE = re.compile(r"\[(?:\d{1,3}(?:[,;–-] ?\d{1,3})*|[a-z]|\.\.\.|…|(?:note|nb|n) \d+|[a-z]+ needed|sic)\]")
_ROUND = re.compile(r"\([^()]*\)")
_BRACKET = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")

_ENUMERATOR = re.compile(r"\W*(?:\d{1,3}|[IVXLC]+|[a-z])\W*\s*")  # "3." or "IV." or "b)" alone is no sentence
_FOOTNOTE = re.compile(  # a footnote's number after the end of a sentence: "as they say. 4 Even so …"
    r"\d{1,3}(?:\s+(?=(?:The|A|An|In|At|On|It|He|She|We|They|This|That|These|Those|There|But|And|For|As|If|When|While|Although"
    r"|However|Even|Such|Some|Since|Because|Thus|By|From|To|With|What|Who|I|You|His|Her|Its|Their|Our|According)\b)|\s*$)"
)
_SAID = re.compile(  # '"Stop!" Anna cried' is one sentence
    r"(?:\w+\.?\s+){1,3}?(?:said|says|asked|cried|replied|answered|exclaimed|shouted|called|whispered|thought|returned|added"
    r"|continued|demanded|inquired|murmured|muttered|observed|remarked|repeated|screamed|snapped|yelled)\b"
)
_NUMBER_STARTS = {  # languages where sentencex never splits before a figure; abbreviations that take one
    language: re.compile(rf"\W(?:{words}|\w)[.]", re.IGNORECASE)
    for language, words in {
        "de": "nr|no|ca|abs|art|kap|bd|str|tel|vgl|usw|bzw|aufl|ziff|hrsg|jan|feb|apr|aug|sept?|okt|nov|dez|evtl|mio|mrd",
        "da": "nr|ca|kap|bd|tlf|jan|feb|mar|apr|aug|sept?|okt|nov|dec|mio|mia",
        "fi": "nro|ks|esim|noin|luku|puh|milj",
        "cs": "č|např|tzv|str|kap|roč|tel|mil|mld",
    }.items()
}
_ELLIPSIS = re.compile(r"…\s+(?=([^\W\d_]))")
_NO = re.compile(r"N(?<![\w,;] N)(?<!\wN)o\. \s*(?=[A-Z])")  # an answer, not a number
_KHMER = re.compile("[។៕]\\s+")
_SMILEY = re.compile(r"[:;]-?\)+\s+(?=([^\W\d_]))")
_SMILE = re.compile(r"\)(?<=[:;-]\))")  # begins with a plain character: that is found much faster
_ALWAYS = {"en": _NO, "km": _KHMER}
_DASHES = frozenset("—–-")
_DASHED = re.compile(r"[—–-]\s*(\w?)")
_BEFORE_NUMBER = re.compile(r"[.!?](?<=[^\W\d]{2}.)\s+(?=\d)")
_ITEM = re.compile(r"[.!?]\W*\s(\d{1,2}\.$)")  # "… paid. 2. The tenant …": the number is the next sentence's
_ORDINALS = {  # "im 6. Stock", "der 35. Tag", "am 3. Mai": what stands before, and what after
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
_NO_NOUN = re.compile(  # "am 12. Er ging": a word that no ordinal stands before
    r"\s+(?:Er|Sie|Es|Wir|Ich|Ihr|Man|Der|Die|Das|Den|Dem|Dies\w*|Eine?|Im|In|Am|An|Auf|Mit|Nach|Bei|Von|Zu|Und|Aber|Doch|Dann|Da|So)\b"
)
_CJK = frozenset(("zh", "ja", "yue", "wuu", "gan", "lzh", "hak"))
_CJK_CHARACTER = re.compile("[\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_CJK_END = re.compile("(?:[。！？｡]|(?<=[\u3040-\u9fff”」』）])[!?])[。！？｡!?]*(?:[”’」』）)】》〉\"']+[。！？｡]?)*")
_CJK_GOES_ON = {  # after a closed quotation the sentence goes on with these
    "ja": re.compile(
        "[”’」』）)】》〉\"']\\s*(?!しかし|だから|でも、|では、|なお|なぜ|もし|もちろん|はい|やがて|はじめ|かつて|もう)[とをにがはものでへやかなだしまよ、，・（「『]|[！？!?]と[^こ]|》|〉"
    ),
    "zh": re.compile("[”’」』）)】》〉\"']\\s*(?:[的地、，；：,的和与及等]|[^，。！？“”]{0,6}[说說道问問答喊叫嚷笑曰云])|》|〉"),
}
_CJK_BRACKET = re.compile("（[^（）]*）|\\([^()]*\\)|《[^《》]*》|【[^【】]*】")


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    """Split a paragraph into its sentences, stripped, none empty; joined, they are the paragraph but for white space.

    `language` is an ISO 639 code, with or without a region; an unknown one is split by the rules that most share.
    """
    code = language if language in _PLAIN else language.lower().replace("_", "-").partition("-")[0]
    cjk = code in _CJK and _CJK_CHARACTER.search(paragraph)
    ends = _cjk_ends(paragraph, "ja" if code == "ja" else "zh") if cjk else _ends(paragraph, code)
    sentences, start = [], 0
    for end in ends:
        if sentence := paragraph[start:end].strip():
            sentences.append(sentence)
        start = end
    return sentences


def _ends(text: str, language: str) -> list[int]:
    """Return where sentences end, in order: the offsets of sentencex that the rules leave, each moved where it belongs."""
    masked = _mask(text)
    offsets = _offsets(masked, language or "en")
    if not offsets or offsets.pop() != len(text):
        return [len(text)]
    if missed := _missed(text, masked, language):
        offsets = sorted({*offsets, *missed})
    brackets = _brackets(text)
    ends, start = [], 0
    quick = language == "en" or language not in LANGUAGES
    for offset in offsets:
        sure = quick and text[offset - 2 : offset] in _SURE and offset - start > 9 and text[offset : offset + 1].isupper()
        cut = offset if sure and not text[offset - 3].isdigit() else _cut(text, masked, start, offset, language)
        while brackets and brackets[-1][1] <= offset:
            brackets.pop()
        if cut > start and not (brackets and _is_inside(text, start, cut, brackets[-1])):
            ends.append(cut)
            start = cut
    ends.append(len(text))
    return ends


def _offsets(masked: str, language: str) -> list[int]:
    """Return where the sentences of sentencex end; it takes quadratic time on some texts, so by windows.

    A window is taken up again at its last end but one; without an end in it, the sentence goes on into the next.
    """
    if len(masked) <= _WINDOW:
        return _segment_ends(language, masked)
    offsets: list[int] = []
    at = 0
    while len(masked) - at > _WINDOW:
        ends = _segment_ends(language, masked[at : at + _WINDOW])[:-1]
        offsets.extend(at + end for end in ends)
        at += ends[-1] if ends and ends[-1] else _WINDOW
    offsets.extend(at + end for end in _segment_ends(language, masked[at:]))
    return offsets


def _segment_ends(language: str, text: str) -> list[int]:
    """Return where sentencex's sentences end; where it breaks down, as it did on some white space, the text is one."""
    try:
        return list(accumulate(map(len, segment(language, text))))
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a fault in Rust becomes, and no Exception
            raise
        return [len(text)]


def _brackets(text: str) -> list[tuple[int, int]]:
    """Return where the brackets of a text begin and end, the last one first."""
    if "[" not in text and "(" not in text:
        return []
    return [match.span() for match in (_BRACKET if "[" in text else _ROUND).finditer(text)][::-1]


def _is_inside(text: str, start: int, cut: int, bracket: tuple[int, int]) -> bool:
    """Tell whether `cut` is inside a bracket that opens in the middle of the sentence from `start`."""
    return bracket[0] < cut < bracket[1] - 1 and not text[start : bracket[0]].isspace() and start < bracket[0]


def _cut(text: str, masked: str, start: int, end: int, language: str) -> int:
    """Return where the sentence from `start` that sentencex ends at `end` ends, or 0 where it goes on."""
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
    if _goes_on(masked, last, after, language) or (following.islower() and (quoted or masked[last - 1] in ".…")):
        return 0
    if following.isdigit() and (note := _FOOTNOTE.match(masked, after)):
        return note.end() if note.end() < len(masked) else 0
    item = _ITEM.search(masked, max(start, last - 12), last) if language in _NUMBER_STARTS else None
    if item and not is_open(masked, item.start() + 1, language):
        return item.start(1)
    if language in _ORDINALS and masked[last - 2 : last - 1].isdigit() and _is_ordinal(masked, last, language):
        return 0
    if not quoted:
        return end
    if masked[last - 1] in "!?" and _SAID.match(masked, after):
        return 0
    return last + _split_gap(gap)


def _goes_on(masked: str, last: int, after: int, language: str) -> bool:
    """Tell whether the mark before `last` ends nothing: in "J.-P.", ".NET", "“Who?” — he asked", and after an abbreviation."""
    following = masked[after : after + 1]
    if following in _DASHES and (dashed := _DASHED.match(masked, after)):
        return dashed[1].islower() or (after == last and following == "-")
    if masked[last - 1] != ".":
        return False
    if after == last and following.isalnum() and masked[last - 2 : last - 1].isspace():
        return True
    return (language != "en" or not following.isupper()) and is_open(masked, last, language)  # sentencex knows English titles


def _split_gap(gap: str) -> int:
    """Return how much of the white space, quotation marks and notes between two sentences is the first one's.

    >>> _split_gap('" ("'), _split_gap("[4] “")
    (1, 3)
    """
    cut = 0
    for token in re.finditer(r"\S+", _NOTE.sub(lambda note: "]" * len(note.group()), gap)):
        if token.end() < len(gap) or token.start() == 0:
            opener = next((at for at, mark in enumerate(token.group()) if mark in _OPENERS and (at or token.start())), None)
            if opener is None:
                cut = token.end()
                continue
            if token.start() == 0:
                cut = opener
        break
    return cut


def _is_ordinal(masked: str, last: int, language: str) -> bool:
    before, after = _ORDINALS[language]
    number = before.search(masked, max(0, last - 40), last)
    return (number is not None or after.match(masked, last + 1) is not None) and not _NO_NOUN.match(masked, last)


def _missed(text: str, masked: str, language: str) -> list[int]:
    """Return the ends that sentencex leaves out: after an ellipsis, a smiley, an answer; before figures in some languages."""
    found: list[int] = []
    if ")" in text and _SMILE.search(text):
        found += [match.end() for match in _SMILEY.finditer(text) if match[1].isupper()]
    if "…" in masked:
        found += [match.end() for match in _ELLIPSIS.finditer(masked) if match[1].isupper()]
    if (always := _ALWAYS.get(language)) and always.search(masked):
        found += [match.end() for match in always.finditer(masked)]
    if abbreviation := _NUMBER_STARTS.get(language):
        for match in _BEFORE_NUMBER.finditer(masked):
            if not abbreviation.search(masked, max(0, match.start() - 8), match.end()):
                found.append(match.end())
    return found


def _mask(text: str) -> str:
    """Blank what sentencex takes for pairs; the result has the length of the text."""
    if "[" in text:
        text = _NOTE.sub(_blank, text)
    blanked = _BLANKED_ASCII
    if not text.isascii():
        blanked = _BLANKED
        text = text if text.isprintable() else _WIDE_SPACE.sub(" ", text)
    for mark in blanked:
        if mark in text:
            text = text.replace(mark, " ")
    for quote, single in _SINGLE.items():
        if quote in text:
            text = single.sub(_blank, text)
    if len(text) > _APOSTROPHES < text.count("'"):
        text = text.replace("'", " ")
    return text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _cjk_ends(text: str, language: str) -> Iterator[int]:
    """Yield where Chinese or Japanese sentences end: after 。！？ and what closes there, not inside brackets."""
    goes_on = _CJK_GOES_ON[language]
    brackets = [match.span() for match in _CJK_BRACKET.finditer(text)]
    brackets.reverse()
    start = 0
    for match in _CJK_END.finditer(text):
        end = match.end()
        while brackets and brackets[-1][1] <= end:
            brackets.pop()
        inside = brackets and brackets[-1][0] < end < brackets[-1][1] and text[start : brackets[-1][0]].strip()
        if not inside and not goes_on.match(text, end - 1):
            yield end
            start = end
    yield len(text)

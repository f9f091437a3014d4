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
from collections.abc import Callable, Iterable, Iterator
from typing import cast

__all__ = ["split_sentences"]

_BLANKED = "\"“”„‟«»‹›‘()[]{}`「」『』《》（）【】\n\r"  # sentencex looks for pairs of them, in quadratic time
_SINGLE = (".'", "!'", "?'", " '", ".’", "!’", "?’", "''")  # single quotation marks that are no apostrophe
_APOSTROPHES = 2000  # more of them in one paragraph are not writing; sentencex would look for pairs
_OPENERS = "“„«‘([{「『《（【`"
_CLOSERS = "\"”’'»›)]}」』》）】“"  # “ closes in German
_NOTE = re.compile(r"\[(?:\d{1,3}(?:[,;–-] ?\d{1,3})*|[a-z]|\.\.\.|…|(?:note|nb|n) \d+|[a-z]+ needed|sic)\]")
_BRACKET = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")

_ENUMERATOR = re.compile(r"\W*(?:\d{1,3}|[IVXLC]+|[a-z])\W*\s*")  # "3." or "IV." or "b)" alone is no sentence
_LOWER = re.compile(r"\s*[^\W\dA-Z_]")
_FOOTNOTE = re.compile(  # a footnote's number after the end of a sentence: "as they say. 4 Even so …"
    r"\d{1,3}(?:\s+(?=(?:The|A|An|In|At|On|It|He|She|We|They|This|That|These|Those|There|But|And|For|As|If|When|While|Although"
    r"|However|Even|Such|Some|Since|Because|Thus|By|From|To|With|What|Who|I|You|His|Her|Its|Their|Our|According)\b)|\s*$)"
)
_SAID = re.compile(  # '"Stop!" Anna cried' is one sentence
    r"(?:\w+\.?\s+){1,3}?(?:said|says|asked|cried|replied|answered|exclaimed|shouted|called|whispered|thought|returned|added"
    r"|continued|demanded|inquired|murmured|muttered|observed|remarked|repeated|screamed|snapped|yelled)\b"
)
_NUMBER_STARTS = {  # languages where sentencex never splits before a figure; abbreviations that take one
    "de": r"nr|no|ca|abs|art|kap|bd|str|tel|vgl|usw|bzw|aufl|ziff|hrsg|jan|feb|apr|aug|sept?|okt|nov|dez|evtl|mio|mrd",
    "da": r"nr|ca|kap|bd|tlf|jan|feb|mar|apr|aug|sept?|okt|nov|dec|mio|mia",
    "fi": r"nro|ks|esim|noin|luku|puh|milj",
    "cs": r"č|např|tzv|str|kap|roč|tel|mil|mld",
}
_ORDINALS = {  # "im 6. Stock", "der 35. Tag", "am 3. Mai": what stands before, and what after
    "de": (
        r"\b(?:[ai]m|[zv]om|zum|zur|de[rsmn]|die|das|dies\w+|jede\w*|sein\w*|ihr\w*|ihre\w*|beim|ein\w*|ab|bis|seit|und|oder|–)"
        r"\s+(?:\w+\s+)?\d{1,3}\.\s*$",
        r"\s*(?:Jahrhundert|Jh\b|Stock|Etage|Platz|Mal\b|Tag|Kapitel|Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August"
        r"|September|Oktober|November|Dezember)",
    ),
}
_CJK = frozenset("zh ja yue wuu gan lzh hak cdo ii".split())
_CJK_CHARACTER = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_CJK_END = re.compile("(?:[。！？｡]|(?<=[\u3040-\u9fff”」』）])[!?])[。！？｡!?]*[”’」』）)】》〉\"']*")
_CJK_GOES_ON = {  # after a closed quotation the sentence goes on with these
    "ja": re.compile("[”’」』）)】》〉\"']\\s*[とをにがはものでへやかなだしまよ、，・（「『]|[！？!?]と[^こ]|》|〉"),
    "zh": re.compile("[”’」』）)】》〉\"']\\s*(?:[的地、，；：,的和与及等]|[^，。！？“”]{0,6}[说說道问問答喊叫嚷笑曰云])|》|〉"),
}
_CJK_BRACKET = re.compile("（[^（）]*）|\\([^()]*\\)|《[^《》]*》|【[^【】]*】")

_segment: Callable[[str, str], list[str]] | None = None


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    """Split a paragraph into its sentences, stripped, none empty; joined, they are the paragraph but for white space.

    `language` is an ISO 639 code, with or without a region; an unknown one is split by the rules that most share.
    """
    code = language.lower().replace("_", "-").partition("-")[0]
    if code in _CJK and _CJK_CHARACTER.search(paragraph):
        ends: Iterable[int] = _cjk_ends(paragraph, "ja" if code == "ja" else "zh")
    else:
        ends = _ends(paragraph, code)
    sentences, start = [], 0
    for end in (*ends, len(paragraph)):
        sentence = paragraph[start:end].strip()
        if sentence:
            sentences.append(sentence)
        start = end
    return sentences


def _ends(text: str, language: str) -> Iterator[int]:
    """Yield where sentences end, in order: the offsets of sentencex that the rules leave, each moved where it belongs."""
    masked = _mask(text)
    at = 0
    ends = [at := at + len(part) for part in _library()(language or "en", masked)]
    if not ends or ends[-1] != len(text):
        return
    ends.pop()
    if language in _NUMBER_STARTS or "…" in masked:
        ends = sorted({*ends, *_missed(masked, language)})
    brackets = [match.span() for match in _BRACKET.finditer(text)] if "(" in text or "[" in text else []
    start = 0
    for end in ends:
        while brackets and brackets[0][1] <= end:
            brackets.pop(0)
        cut = _cut(text, masked, start, end, language)
        if cut and not (brackets and brackets[0][0] < cut < brackets[0][1] - 1 and text[start : brackets[0][0]].strip()):
            yield cut
            start = cut


def _cut(text: str, masked: str, start: int, end: int, language: str) -> int:
    """Return where the sentence from `start` that sentencex ends at `end` ends, or 0 where it goes on."""
    part = masked[start:end]
    stripped = part.rstrip()
    if len(stripped) < 9 and _ENUMERATOR.fullmatch(stripped):
        return 0
    last = start + len(stripped)
    after = end
    while after < len(masked) and masked[after].isspace():
        after += 1
    gap = text[last:after]
    quoted = not gap.isspace()
    following = masked[after : after + 1]
    if following.islower() and (quoted or masked[last - 1] in ".…"):
        return 0
    if following.isdigit() and (note := _FOOTNOTE.match(masked, after)):
        return note.end() if note.end() < len(masked) else 0
    if language in _ORDINALS and masked[last - 2 : last - 1].isdigit() and _is_ordinal(masked, last, language):
        return 0
    if not quoted:
        return end
    if masked[last - 1] in "!?" and _SAID.match(masked, after):
        return 0
    return last + _split_gap(gap)


def _split_gap(gap: str) -> int:
    """Return how much of the white space, quotation marks and notes between two sentences is the first one's.

    >>> _split_gap('." ("'[1:]), _split_gap("[4] “")
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
    return re.search(before, masked[max(0, last - 40) : last]) is not None or re.match(after, masked[last : last + 20]) is not None


def _missed(masked: str, language: str) -> Iterator[int]:
    """Yield the ends that sentencex leaves out: before figures in some languages, after an ellipsis character."""
    if "…" in masked:
        yield from (match.end() for match in re.finditer(r"…\s+(?=[A-ZÀ-ÞА-Я])", masked))
    if language in _NUMBER_STARTS:
        abbreviation = re.compile(rf"\W(?:{_NUMBER_STARTS[language]}|\w)[.]", re.IGNORECASE)
        for match in re.finditer(r"[^\W\d]{2}[.!?]\s+(?=\d)", masked):
            if not abbreviation.search(masked, max(0, match.start() - 6), match.end()):
                yield match.end()


def _mask(text: str) -> str:
    """Blank what sentencex takes for pairs; the result has the length of the text."""
    if "[" in text:
        text = _NOTE.sub(lambda note: " " * len(note.group()), text)
    for mark in _BLANKED:
        if mark in text:
            text = text.replace(mark, " ")
    if "'" in text or "’" in text:
        for pair in _SINGLE:
            text = text.replace(pair, "  " if pair[0] in "' " else pair[0] + " ")
        if text.count("'") > _APOSTROPHES:
            text = text.replace("'", " ")
    return text


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


def _library() -> Callable[[str, str], list[str]]:
    global _segment
    if _segment is None:
        from sentencex import segment

        _segment = cast("Callable[[str, str], list[str]]", segment)
    return _segment

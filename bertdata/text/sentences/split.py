"""Split paragraphs into sentences in any language. Only whitespace is lost.

The library `sentencex` knows the abbreviations and the sentence ends of some 240 languages, but keeps a quotation or a
bracket in one piece.  So it is given the paragraph with quotation marks, brackets and reference marks blanked; the ends
it leaves out are added (`missed`), and each is then looked at in the paragraph itself (`cut`).  Chinese and Japanese, which have
marks that end sentences and nothing else, are split by those marks alone; Thai, which has none, at spaces between clauses.

    >>> split_sentences('"Is the tea ready? I am cold." Dr. Ames sat down.')
    ['"Is the tea ready?', 'I am cold."', 'Dr. Ames sat down.']
    >>> split_sentences("茶好了。“请坐！喝茶。”他说。", "zh")
    ['茶好了。', '“请坐！', '喝茶。”他说。']
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate

from sentencex import segment

from . import chinese_japanese, thai
from .cuts import cut as cut_at
from .cuts import missed
from .lower_case import capitalized, is_lower_cased
from .quotation import OPENERS, is_inside, mask
from .quotation import brackets as find_brackets
from .words import LANGUAGES

_PLAIN = frozenset(("en", "fr", "es", "it", "pt", "nl"))  # codes that need no tidying
_OWN_MARKS = dict.fromkeys(chinese_japanese.LANGUAGES, chinese_japanese) | dict.fromkeys(thai.LANGUAGES, thai)
_SURE_ENDS = frozenset((". ", "! ", "? "))  # between letters and a capital; no rule moves such an end
_WINDOW_CHARS = 2000  # characters given to sentencex at a time; most paragraphs are shorter
_STOPS = dict.fromkeys(("as", "bho", "bn", "hi", "mai", "ne", "or", "pa", "sa"), "।") | {"am": "።", "ti": "።", "ur": "۔"}
_SPACED_STOP = re.compile(r"(?<=\s[.!?])\s+")
_OPENING = OPENERS + '"'
_MAX_SHORT_CHARS = 12  # a piece of so few characters may have no letter


def split_sentences(paragraph: str, language: str = "en", *, lower_cased: bool = False) -> list[str]:
    """Split a paragraph into stripped, non-empty sentences. Joined, they equal the paragraph except for whitespace.

    Args:
        paragraph: The text.
        language: An ISO 639 code, with or without a region. An unknown one is split by the rules that most share.
        lower_cased: Whether the text of which this is a paragraph has no capitals, so that small letters begin sentences. A
            paragraph without any capital but with two stops is always read so.
    """
    code = language if language in _PLAIN else language.lower().replace("_", "-").partition("-")[0]
    # The way of a paragraph:
    #
    # 1. Chinese, Japanese and Thai: their own rules, and nothing of what follows.
    # 2. `capitalized`: in text without capitals, write one at the start of each sentence. Offsets stay valid.
    # 3. `mask`: blank quotation marks, brackets and reference marks, because sentencex keeps a quotation in one piece.
    # 4. `_offsets`: ask sentencex for the ends in the masked text.
    # 5. `missed`: add ends that sentencex doesn't find.
    # 6. `cut`: move each end behind the closing quotation marks, or reject it.
    script = _OWN_MARKS.get(code)
    if script and script.WRITTEN.search(paragraph):
        return _cut(paragraph, script.ends(paragraph, code))
    if not lower_cased and not (paragraph.islower() and is_lower_cased(paragraph)):
        return _cut(paragraph, _ends(paragraph, code))
    # A stop between spaces, as of tokenized text, is never that of an abbreviation.
    pieces = _SPACED_STOP.split(paragraph)
    return [sentence for piece in pieces if piece for sentence in _cut(piece, _ends(capitalized(piece), code))]


def _cut(paragraph: str, ends: Iterable[int]) -> list[str]:
    sentences, start = [], 0
    for end in ends:
        if sentence := paragraph[start:end].strip():
            sentences.append(sentence)
        start = end
    return sentences


def _ends(text: str, language: str) -> list[int]:
    """Return where sentences end, in order: the offsets of sentencex that the rules leave, each moved where it belongs."""
    masked = mask(text, language)
    offsets = _offsets(masked, language or "en")
    if not offsets or offsets.pop() != len(text):
        return [len(text)]
    if language in _STOPS and masked.count(_STOPS[language]) > masked.count(". "):  # a full stop is an abbreviation's then
        offsets = [offset for offset in offsets if "." not in masked[max(0, offset - 2) : offset]]
    if missing := missed(text, masked, language, offsets):
        offsets = sorted({*offsets, *missing})
    if not offsets:
        return [len(text)]
    brackets = find_brackets(text)
    ends: list[int] = []
    start = 0
    # Most ends are "letter, full stop, space, capital", far from the start of the sentence. No rule
    # changes such an end, so skip the rules.
    quick = language == "en" or language not in LANGUAGES
    for offset in offsets:
        sure = quick and offset - start > 9 and text[offset - 2 : offset] in _SURE_ENDS and text[offset : offset + 1].isupper()
        if sure and not text[offset - 3].isdigit():
            cut = offset
        else:
            cut = cut_at(text, masked, start, offset, language)
            # A piece without a word is not a sentence. Join it to the sentence before, unless it opens
            # a quotation, which belongs to the next one.
            if start < cut < start + _MAX_SHORT_CHARS and _has_no_word(text[start:cut]):  # "…" or "?!"
                if ends and text[start:cut].lstrip()[:1] not in _OPENING:
                    ends[-1] = start = cut
                continue
        # `brackets` is sorted with the next one last, so those that are passed are popped. An end
        # inside a bracket counts only if the bracket itself contains complete sentences
        # (`is_inside`).
        while brackets and brackets[-1][1] <= offset:
            brackets.pop()
        if cut > start and not (brackets and is_inside(text, start, cut, brackets[-1])):
            ends.append(cut)
            start = cut
    if ends and len(text) < start + _MAX_SHORT_CHARS and _has_no_word(text[start:]):
        ends.pop()
    ends.append(len(text))
    return ends


def _has_no_word(text: str) -> bool:
    return not any(map(str.isalnum, text))


def _offsets(masked: str, language: str) -> list[int]:
    """Return where the sentences of sentencex end; it takes quadratic time on some texts, so by windows.

    A window is taken up again at its last end but one; without an end in it, the sentence goes on into the next.
    """
    if len(masked) <= _WINDOW_CHARS:
        return _segment_ends(language, masked)
    offsets: list[int] = []
    at = 0
    # The last end in a window is only where the window ends. Drop it, and begin the next window at
    # the end before it, so that the sentence there is seen with what follows it.
    while len(masked) - at > _WINDOW_CHARS:
        ends = _segment_ends(language, masked[at : at + _WINDOW_CHARS])[:-1]
        offsets.extend(at + end for end in ends)
        at += ends[-1] if ends and ends[-1] else _WINDOW_CHARS
    offsets.extend(at + end for end in _segment_ends(language, masked[at:]))
    return offsets


def _segment_ends(language: str, text: str) -> list[int]:
    """Return where sentencex's sentences end; where it breaks down, as it did on some whitespace, the text is one."""
    try:
        return list(accumulate(map(len, segment(language, text))))
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a fault in Rust becomes, and no Exception
            raise
        return [len(text)]

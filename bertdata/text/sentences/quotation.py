"""Quotation marks, brackets and reference marks: blanked for sentencex, and shared out between two sentences.

sentencex keeps the text between a pair of marks together, and searches for pairs in quadratic time.

    >>> mask("« Oui. » (Non.)[1]", "fr")
    '  Oui.    Non.    '
    >>> split_gap('" ("'), split_gap("[4] “"), split_gap(" [...] "), split_gap(" ,,")
    (1, 3, 0, 0)
"""

from __future__ import annotations

import functools
import re

_BLANKED_ASCII = '"()[]{}`\n\r'
_BLANKED = _BLANKED_ASCII + "“”„‟«»‹›‘「」『』《》（）【】"
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")  # breaks sentencex: "plan B\xa0."
_SINGLE = {quote: re.compile(f"{quote}(?:{quote}|(?<=[.!? ].))") for quote in "'’"}  # quotation marks, not apostrophes
_MAX_APOSTROPHES = 2000  # more of them in one paragraph are not writing; sentencex would look for pairs
OPENERS = "“„«‘([{「『《（【`"
_NOTE = re.compile(r"\[(?:\d{1,3}(?:[,;–-] ?\d{1,3})*|[a-z]|(?:note|nb|n) \d+|[a-z]+ needed|sic)\]")
_NOTE_OR_OMISSION = re.compile(rf"{_NOTE.pattern}|\[(?:\.\.\.|…)\]")
_REMARK = re.compile(r"\((?:\.\.\.|…|[!?]{1,3})\)")  # ends nothing; after an end, the next sentence begins with it
_ROUND = re.compile(r"\([^()]*\)")
_BRACKET = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")


def mask(text: str, language: str) -> str:
    """Blank what sentencex takes for pairs; the result has the length of the text."""
    if "[" in text:
        text = _NOTE_OR_OMISSION.sub(_blank, text)
    if language != "en":  # English writes neither; the search takes time
        text = _REMARK.sub(_blank, text).replace(",,", "  ")
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
    if len(text) > _MAX_APOSTROPHES < text.count("'"):
        text = text.replace("'", " ")
    return text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


@functools.lru_cache(maxsize=1)
def opening_quotes(text: str) -> frozenset[int]:
    """Return where the quotation marks " of a text open: the first one, the third, the fifth …."""
    return frozenset(match.start() for match in list(re.finditer('"', text))[::2])


def split_gap(gap: str) -> int:
    """Return how much of the whitespace, quotation marks and notes between two sentences is the first one's."""
    cut = 0
    filled = _NOTE.sub(lambda note: "]" * len(note.group()), gap).replace(",,", "„„")
    for token in re.finditer(r"\S+", filled):
        if token.end() < len(gap) or token.start() == 0:
            opener = next((at for at, mark in enumerate(token.group()) if mark in OPENERS and (at or token.start())), None)
            if opener is None:
                cut = token.end()
                continue
            if token.start() == 0:
                cut = opener
        break
    return cut


def brackets(text: str) -> list[tuple[int, int]]:
    """Return where the brackets of a text begin and end, the last one first."""
    if "[" not in text and "(" not in text:
        return []
    return [match.span() for match in (_BRACKET if "[" in text else _ROUND).finditer(text)][::-1]


def is_inside(text: str, start: int, cut: int, bracket: tuple[int, int]) -> bool:
    """Return True if `cut` is inside a bracket that opens in the middle of the sentence from `start`."""
    return bracket[0] < cut < bracket[1] - 1 and not text[start : bracket[0]].isspace() and start < bracket[0]

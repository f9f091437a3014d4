"""Resolve or drop bracketed notation for symbols that plain text lacks: accents, musical signs, scores and meter."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .blocks import Block

__all__ = ["drop_music", "resolve_signs"]

# Distributed Proofreaders' Proofreading Guidelines, "Diacritical Marks": a mark before a letter is placed above it.
_ACCENTS = {
    "=": "\u0304", ":": "\u0308", ".": "\u0307", "`": "\u0300", "'": "\u0301", "^": "\u0302", ")": "\u0306", "v": "\u030c",
    "~": "\u0303",
}  # fmt: skip
_SIGNS = {
    "oe": "œ", "OE": "Œ", "Oe": "Œ", "flat": "♭", "sharp": "♯", "natural": "♮", "double-flat": "♭♭", "double-sharp": "𝄪",
    "c,": "ç", "C,": "Ç", "s,": "ş", "S,": "Ş",
}  # fmt: skip
_SIGN = re.compile(
    rf"\[(?:({'|'.join(map(re.escape, _SIGNS))})|([=:.`^)~])([^\W\d_])"
    r"|(')([aceinoruwyzæøACEINORUWYZ])|(v)([cdegklnrstzCDEGKLNRSTZ]))\]"  # not ['s], [vi]
)
_BRACKETS = re.compile(r" ?(?:\((\[[^\[\]()]*\])\)|(\[[^\[\]]*\]))")
_MAX_SCORE_CHARACTERS = 500  # characters
_STAFF = re.compile(r"[A-Z]\d?:\s")  # the clef, before the notes
_STROKE = re.compile(r"['’|\\/<>^_]|-(?!\w)")  # of notes, bars and syllables
_NUMBERS = re.compile(r"\d+\.?(?:\s+(?:\|\s+)?\d+\.?){2,}")  # note lengths
# A line of LilyPond: a command, a setting, braces, or notes by name (`fis''4.`). Source: LilyPond Notation Reference.
_NOTE = r"[\[({~|<>]*[a-hrs](?:is|es){0,2}[',]*\d*\.*[\])}~|<>\[(]*"
_CODE = re.compile(rf"\s*(?:[{{}}\s]*\\[A-Za-z].*|.*=\s*\\?#.*|[{{}}\[\]()\s]+|(?:{_NOTE}\s+){{2,}}{_NOTE}(?:\s+\\.*)?)")
_MIN_CODE_SHARE = 0.5  # of a block's lines


def resolve_signs(lines: list[str]) -> list[str]:
    """Replace bracketed marks with the letters and signs that they represent.

    >>> resolve_signs(["Shint[=o] in B[flat], man[oe]uvre [A]"])
    ['Shintō in B♭, manœuvre [A]']
    """
    return [_SIGN.sub(_sign, line) if "[" in line else line for line in lines]


def drop_music(blocks: list[Block]) -> Iterator[Block]:
    """Remove scores, in LilyPond or in brackets, and the meter of verse.

    >>> [block.lines for block in drop_music([Block(["The horn [G: c' d'' e''] calls ([- ' -]) [at once]."], 1, 1)])]
    [['The horn calls [at once].']]
    """
    for block in blocks:
        text = "\n".join(block.lines)
        if ("\\" in text or "{" in text or "}" in text or "'" in text) and _is_code(block):
            continue
        if "[" in text and (rest := _BRACKETS.sub(_without_score, text)) != text:
            block = block._replace(lines=[line for line in rest.split("\n") if line.strip()])
        if block.lines:
            yield block


def _sign(match: re.Match[str]) -> str:
    if match[1]:
        return _SIGNS[match[1]]
    # [=o] is o with a macron: append the combining accent, then compose both to one character
    # (NFC). Without such a character the brackets stay.
    mark, letter = next(pair for pair in ((match[2], match[3]), (match[4], match[5]), (match[6], match[7])) if pair[0])
    shown = unicodedata.normalize("NFC", letter + _ACCENTS[mark])
    return shown if len(shown) == 1 else match[0]


def _without_score(brackets: re.Match[str]) -> str:
    return "" if _is_score((brackets[1] or brackets[2])[1:-1]) else brackets[0]


def _is_score(text: str) -> bool:
    """Return True for notes and meter: strokes or note lengths, and no two adjacent letters."""
    if len(text) > _MAX_SCORE_CHARACTERS or " " not in text or re.search(r"[^\W\d_]{2}", text):
        return False
    return _STAFF.match(text) is not None or len(_STROKE.findall(text)) > 1 or _NUMBERS.fullmatch(text.strip()) is not None


def _is_code(block: Block) -> bool:
    code = sum(_CODE.fullmatch(line[:_MAX_SCORE_CHARACTERS]) is not None for line in block.lines)
    return code >= _MIN_CODE_SHARE * len(block.lines) and any(map(str.isalnum, "".join(block.lines)))

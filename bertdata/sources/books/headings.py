"""Detect headings by their words (CHAPTER IV, Erstes Kapitel, 第一回) and by their layout on the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import dropwhile
from pathlib import Path
from typing import Any

from ...config import read_toml
from ..lines import fold_case
from .blocks import Block

TABLES: dict[str, Any] = read_toml(Path(__file__).with_name("words.toml"))


def words(name: str) -> str:
    """Return a pattern of the words of a list of words.toml, or of a table by language."""
    table = TABLES[name]
    return "|".join(table if isinstance(table, list) else [word for words in table.values() for word in words])


_NUMBER = r"(?:[ivxlcdm]+|\d{1,4})(?:st|nd|rd|th|e|er|º|ª|°)?"
_SPELLED = f"(?:the )?(?:{words('spelled')})"
_WORD = words("divisions")
_CHAPTER = re.compile(
    rf"(?i:(?:{_WORD})\b\.?\s+{_NUMBER})(?=[\W_]*$|[.:,;)\]—–-]|\s+[^a-z\s])"  # not "Book I sent you"
    rf"|(?i:(?:{_WORD})\s+{_SPELLED}|{_SPELLED}\s+(?:{_WORD}))(?=[\W_]*$|[.:,;—–-])"
    r"|[第卷][\d０-９零〇一二三四五六七八九十百千兩两廿卅上中下]{1,7}\s*(?:[章回卷節节部篇幕集折齣出]|$)"
)
_CHAPTER_STARTS = {word[:3] for word in re.findall(r"[^\W\d_]{3,}", f"{_WORD}|{_SPELLED}")} | {"第", "卷"}  # of `_CHAPTER`
# The next four match what `fold_case` returns.
_APPARATUS_LINE = re.compile(rf"(?:{words('apparatus')})[\s.:!]*")
_CONTENTS_LINE = re.compile(rf"(?:{words('contents')})[\s.:]*")
_NOTES_LINE = re.compile(rf"(?:{words('transcribers')})(?P<text>\W{{0,3}}:)?|(?P<file>{words('files')})\b")
_SCENE = re.compile(rf"\W{{0,99}}(?:{words('scenes')})\b")
_NUMERAL = re.compile(r"[\[(§_=]*(?:[IVXLCDM]+|\d{1,3})[\])_=]*[.:]?[_=]*")
_NUMBERED = re.compile(r"(?:[IVXLC]+|\d{1,3})(?:[.:]|\.?[-—]+|\s[-—])\s*\S")
_ENDS = re.compile(r"[.!?:…。！？][_*=)\]’”\"']{0,99}$")  # of a sentence
_MARKS = "_*=+~# \t"
_QUOTES = "\"“”'‘«»„「『"
_MAX_HEADING_CHARACTERS = 150  # with its subtitle
_MAX_TITLE_CHARACTERS = 75  # of a heading detected by its position only
_MAX_NAME_WORDS = 3  # words of a speaker's name


def is_chapter(line: str) -> bool:
    """Return True if a line begins like the heading of a numbered part, in any of the languages above."""
    line = line.strip(_MARKS)
    # The pattern has hundreds of alternatives, so look at three letters first.
    start = fold_case(line[:7]).removeprefix("the ")[:3]
    return (start in _CHAPTER_STARTS or start[:1] in _CHAPTER_STARTS) and _CHAPTER.match(line) is not None


def is_contents(line: str) -> bool:
    """Return True if a line is the heading of a table of contents or a list of illustrations."""
    return _CONTENTS_LINE.fullmatch(fold_case(line.strip(_MARKS))) is not None


def begins_notes(line: str) -> str:
    """Return ``heading`` for the heading of a transcriber's notes, ``note`` for the first line of a note, otherwise ``""``."""
    line = fold_case(line.strip(_MARKS + "[]:."))
    match = _NOTES_LINE.match(line)
    return "" if match is None else "heading" if match.end() == len(line) else "note" if match.lastgroup else ""


def is_heading(block: Block, previous: str) -> bool:
    """Return True if a block is a heading; `previous` is the line before it, ``""`` after a heading or the title page."""
    # From sure to unsure: a number or a known word alone, a numbered part, then only the layout.
    text = " ".join(map(str.strip, block.lines)).strip(_MARKS)
    if len(block.lines) > 4 or len(text) > _MAX_HEADING_CHARACTERS:
        return False
    if _is_part(text):
        return len(block.lines) <= 3 or not is_chapter(text)
    goes_on = previous[-1:] == "," or previous[-1:].isalpha()  # the signature of a letter
    if text[:1] in _QUOTES or text.endswith((",", "--", "—")) or (goes_on and block.before == 1):
        return False
    apart = block.before >= 2 or not previous
    if text.upper() == text and text.lower() != text and sum(map(str.isalpha, text)) >= 2:
        return apart or (block.after < 2 and len(text) > 3)
    if not apart or len(block.lines) > 2 or len(text) > _MAX_TITLE_CHARACTERS:
        return False
    if block.before >= 2 and _NUMBERED.match(text):
        return True
    return not _ENDS.search(text) or (not previous and title_case(text) and not any(map(str.isdigit, text)))


def title_case(text: str) -> bool:
    """Return True if all long words of a line are capitalized, or all its words if none is long."""
    words = re.findall(r"[^\W\d_]+", text)
    return all(word[0].isupper() for word in [word for word in words if len(word) > 3] or words)


def speakers(blocks: Iterable[Block]) -> set[str]:
    """Return the names of a play's speakers, as `plain_name` writes them: lines that look like headings, but are repeated.

    A name that occurs once counts if it has the same blank lines around it as most other names.
    """
    lines = ((block, block.lines[0].strip(_MARKS)) for block in blocks if len(block.lines) == 1)
    short = [
        (block, text, _SCENE.match(fold_case(text)) is not None) for block, text in lines if len(text) <= _MAX_TITLE_CHARACTERS
    ]
    candidates = [
        (plain_name(block), (block.before, block.after))
        for block, text, is_scene in dropwhile(lambda line: not line[2], short)
        if not is_scene and len(text.split()) <= _MAX_NAME_WORDS and not _is_part(text) and is_heading(block, "")
    ]
    names = Counter(name for name, _ in candidates)
    if sum(times > 1 for times in names.values()) < 2:
        return set()
    gaps = Counter(around for name, around in candidates if names[name] > 1)
    usual = max(gaps, key=gaps.__getitem__)
    return {name for name, around in candidates if names[name] > 1 or (around == usual and "  " not in name)}


def _is_part(text: str) -> bool:
    """Return True if the words of a heading identify it, not its position."""
    return any((_NUMERAL.fullmatch(text), _APPARATUS_LINE.fullmatch(fold_case(text)), is_chapter(text), is_contents(text)))


def plain_name(block: Block) -> str:
    """Return the only line of a block without marks and the final period, in lowercase; ``""`` if it has several lines."""
    return block.lines[0].strip(_MARKS + ".:").lower() if len(block.lines) == 1 else ""

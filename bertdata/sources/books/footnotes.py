"""Footnotes of a book, in any layout that transcribers use, and their reference marks in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..lines import fold_case
from .blocks import PART_GAP_LINES, Block, margin
from .headings import is_chapter, words

_NOTE_WORDS = words("footnotes")
_MARK = r"(?:\d{1,4}|[A-Za-z]|[*†‡§¹²³]{1,3})"
# [Footnote 1: text], also within a block, and with brackets in it.
_BRACKETED = re.compile(
    rf"\[\s*_?(?:(?:{_NOTE_WORDS}|note(?=\s*\d))(?:\s*({_MARK}))?|(\d{{1,4}}))\s*_?:((?:[^\[\]]|\[[^\[\]]*\])*)\]", re.IGNORECASE
)
_OPENS = re.compile(rf"\s*\[\s*_?(?:{_NOTE_WORDS}|note(?=\s*\d))(?:\s*({_MARK}))?\s*_?[:.]?\s", re.IGNORECASE)
_DEFINITION = re.compile(rf"\s*\[_?({_MARK})_?\][.:]?\s+(?=\S)")
_REFERENCE = re.compile(rf"(?<=[^\s\[(]) ?\[_?({_MARK})_?\]")
_HEADING = re.compile(rf"[\W_]{{0,99}}(?:{_NOTE_WORDS})[\W_]{{0,99}}")  # after `fold_case`
_NUMBERED = re.compile(rf"\s{{0,99}}(?:[\[(]?{_MARK}[\])]|\d{{1,4}}\.?)\s{{0,99}}\S")
_MAX_NOTE_BLOCKS = 40  # blocks of a note; an unclosed bracket drops only its own block


def read_footnotes(blocks: list[Block], *, keep: bool) -> list[Block]:
    """Remove the reference marks of footnotes from the text, and either the notes too or, with `keep`, their marks and brackets.

    A note is text in brackets after a word such as "Footnote", a block that begins with a mark that the text refers to, or a
    block under a heading for notes, up to a wide gap or the next part.
    """
    if not any("[" in line or _HEADING.fullmatch(fold_case(line)) for block in blocks for line in block.lines):
        return blocks
    references = {mark for block in blocks for line in block.lines for mark in _REFERENCE.findall(line)}
    marks: set[str] = set()  # of the notes: "[2]" in "It is [2] late" is none unless there is a note with this mark
    read: list[Block] = []
    left, at, inset, is_section = (
        margin(blocks),
        0,
        0,
        False,
    )  # `inset`: indent of the current note, if it differs from the text's
    while at < len(blocks):
        block, first, start = blocks[at], blocks[at].lines[0], at
        indent = len(first) - len(first.lstrip())
        at += 1
        if inset and indent >= inset and not is_chapter(first):  # another paragraph of the note
            read += _notes([block], 0, keep)
            continue
        inset = 0
        if opening := _OPENS.match(first):
            marks.add(opening[1] or "")
            at = _end_of_note(blocks, start)
            read += _notes(blocks[start:at], opening.end(), keep, closing="]")
        elif (definition := _DEFINITION.match(first)) and definition[1] in references:
            marks.add(definition[1])
            inset = indent if indent > left else 0
            read += _notes([block], definition.end(), keep)
        elif is_notes_heading(block):
            is_section = not keep
        elif not is_section or is_chapter(first) or (block.before >= PART_GAP_LINES and not _NUMBERED.match(first)):
            is_section = False
            read += _bracketed_inside(block, marks, keep)
    return [_without_marks(block, marks) for block in read] if marks else read


def is_note(block: Block) -> bool:
    """Return True if a block begins a note, or is the heading of notes."""
    first = block.lines[0]
    return first.lstrip().startswith("[") or _NUMBERED.match(first) is not None or is_notes_heading(block)


def is_notes_heading(block: Block) -> bool:
    """Return True if a block is the heading of notes."""
    return len(block.lines) == 1 and _HEADING.fullmatch(fold_case(block.lines[0])) is not None


def _end_of_note(blocks: list[Block], start: int) -> int:
    """Return the index of the first block after a bracketed note."""
    depth = 0
    for at in range(start, min(len(blocks), start + _MAX_NOTE_BLOCKS)):
        depth += sum(line.count("[") - line.count("]") for line in blocks[at].lines)
        if depth <= 0:
            return at + 1
    return start + 1


def _notes(blocks: list[Block], opening: int, keep: bool, closing: str = "") -> list[Block]:
    """Return a note at the margin, because short lines that are set in would be verse, without its mark and last bracket."""
    if not keep:
        return []
    lines = [[line.lstrip() for line in block.lines] for block in blocks]
    lines[0][0] = blocks[0].lines[0][opening:].lstrip()
    lines[-1][-1] = lines[-1][-1].removesuffix(closing)
    return [block._replace(lines=part) for block, part in zip(blocks, lines, strict=True) if any(part)]


def _bracketed_inside(block: Block, marks: set[str], keep: bool) -> Iterator[Block]:
    """Remove bracketed notes from a block, and with `keep` yield them after it."""
    text = "\n".join(block.lines)
    notes = list(_BRACKETED.finditer(text)) if "[" in text else []
    if not notes:
        yield block
        return
    marks.update(note[1] or note[2] or "" for note in notes)
    for part in (_BRACKETED.sub("", text), *(note[3].strip() for note in notes if keep)):
        if lines := [line for line in part.split("\n") if line.strip()]:
            yield block._replace(lines=lines)


def _without_marks(block: Block, marks: set[str]) -> Block:
    """Remove the marks of notes from a block."""
    if not any("[" in line for line in block.lines):
        return block
    return block._replace(lines=[_REFERENCE.sub(lambda mark: "" if mark[1] in marks else mark[0], line) for line in block.lines])

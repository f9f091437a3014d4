"""Footnotes of a book, in any layout that transcribers use, and their reference marks in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..lines import fold_case
from .blocks import PART_GAP_LINES, Block, margin
from .headings import is_chapter

_NOTE_WORDS = (
    "foot-?notes?|endnotes?|fu(?:ß|ss)noten?|voetnoo?te?n?|notes? de bas de page|notas? (?:al|a) pie"
    "|notas? de rodapé|not[ae] a piè|fotnot(?:er)?|fodnoter?|alaviit(?:e|teet)"
)
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
    block under a heading for notes.
    """
    if not any("[" in line or _HEADING.fullmatch(fold_case(line)) for block in blocks for line in block.lines):
        return blocks
    # "[2]" in "It is [2] late" is a mark if a note with this mark is found.
    marks: set[str] = set()
    references = {mark for block in blocks for line in block.lines for mark in _REFERENCE.findall(line)}
    read = list(_read_notes(blocks, references, marks, keep))
    read = [block for block in read if not is_notes_heading(block)] if keep else list(_without_sections(read))
    return [_without_marks(block, marks) for block in read] if marks else read


def is_note(block: Block) -> bool:
    """Return True if a block begins a note, or is the heading of notes."""
    first = block.lines[0]
    return first.lstrip().startswith("[") or _NUMBERED.match(first) is not None or is_notes_heading(block)


def is_notes_heading(block: Block) -> bool:
    """Return True if a block is the heading of notes."""
    return len(block.lines) == 1 and _HEADING.fullmatch(fold_case(block.lines[0])) is not None


def _read_notes(blocks: list[Block], references: set[str], marks: set[str], keep: bool) -> Iterator[Block]:
    """Yield the blocks that are not notes, and with `keep` the text of notes. Add the marks of the notes to `marks`."""
    left = margin(blocks)
    at, inset = 0, 0  # `inset`: indent of the current note, if it differs from the text's
    while at < len(blocks):
        block = blocks[at]
        first, start = block.lines[0], at
        indent = len(first) - len(first.lstrip())
        at += 1
        # A note of several paragraphs: those that follow are indented as far as its first one.
        if inset and indent >= inset and not is_chapter(first):
            if keep:
                yield _without_indent(block)
            continue
        inset = 0
        if opening := _OPENS.match(first):
            marks.add(opening[1] or "")
            at = _end_of_note(blocks, start)
            if keep:
                yield from map(_without_indent, _unbracketed(blocks[start:at], opening.end()))
        elif (definition := _DEFINITION.match(first)) and definition[1] in references:
            marks.add(definition[1])
            inset = indent if indent > left else 0
            if keep:
                yield _without_indent(block._replace(lines=[first[definition.end() :], *block.lines[1:]]))
        else:
            yield from _bracketed_inside(block, marks, keep)


def _end_of_note(blocks: list[Block], start: int) -> int:
    """Return the index of the first block after a bracketed note."""
    depth = 0
    for at in range(start, min(len(blocks), start + _MAX_NOTE_BLOCKS)):
        depth += sum(line.count("[") - line.count("]") for line in blocks[at].lines)
        if depth <= 0:
            return at + 1
    return start + 1


def _unbracketed(note: list[Block], opening: int) -> list[Block]:
    """Remove the first `opening` characters of a note, and the bracket that closes it."""
    first, last = note[0].lines[0][opening:], note[-1].lines[-1].rstrip()
    note[0] = note[0]._replace(lines=[first, *note[0].lines[1:]])
    last = note[-1].lines[-1].rstrip()
    note[-1] = note[-1]._replace(lines=[*note[-1].lines[:-1], last.removesuffix("]")])
    return [block for block in note if any(map(str.strip, block.lines))]


def _without_indent(block: Block) -> Block:
    """Move a note to the margin. Notes are set in, which would make short ones verse."""
    return block._replace(lines=[line.lstrip() for line in block.lines])


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


def _without_sections(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks that are not under a footnotes heading; such a section ends at a wide gap or the next part."""
    inside = False
    for block in blocks:
        if is_notes_heading(block):
            inside = True
        # The notes below the heading may already be removed, so a chapter or wide gap right after it also ends the section.
        elif inside and (is_chapter(block.lines[0]) or (block.before >= PART_GAP_LINES and not _NUMBERED.match(block.lines[0]))):
            inside = False
        if not inside:
            yield block


def _without_marks(block: Block, marks: set[str]) -> Block:
    """Remove the marks of notes from a block."""
    if not any("[" in line for line in block.lines):
        return block
    return block._replace(lines=[_REFERENCE.sub(lambda mark: "" if mark[1] in marks else mark[0], line) for line in block.lines])

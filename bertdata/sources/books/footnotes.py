"""Footnotes of a book, in any layout that transcribers use, and their reference marks in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..lines import fold_case
from .account import size
from .blocks import Block, is_paragraph, margin
from .headings import is_chapter

__all__ = ["drop_footnotes", "is_note", "keep_prose_notes"]

_NOTE_WORDS = (
    "foot-?notes?|endnotes?|fu(?:ß|ss)noten?|voetnoo?te?n?|notes? de bas de page|notas? (?:al|a) pie"
    "|notas? de rodapé|not[ae] a piè|fotnot(?:er)?|fodnoter?|alaviit(?:e|teet)"
)
_MARK = r"(?:\d{1,4}|[A-Za-z]|[*†‡§¹²³]{1,3})"
# [Footnote 1: text], also within a block, and with brackets in it.
_BRACKETED = re.compile(
    rf"\[\s*_?(?:(?:{_NOTE_WORDS}|note(?=\s*\d))(?:\s*({_MARK}))?|(\d{{1,4}}))\s*_?:(?:[^\[\]]|\[[^\[\]]*\])*\]", re.IGNORECASE
)
_OPENS = re.compile(rf"\s*\[\s*_?(?:{_NOTE_WORDS}|note(?=\s*\d))(?:\s*({_MARK}))?\s*_?[:.]?\s", re.IGNORECASE)
_DEFINITION = re.compile(rf"\s*\[_?({_MARK})_?\][.:]?\s+\S")
_REFERENCE = re.compile(rf"(?<=[^\s\[(]) ?\[_?({_MARK})_?\]")
_HEADING = re.compile(rf"[\W_]{{0,99}}(?:{_NOTE_WORDS})[\W_]{{0,99}}")  # after `fold_case`
_NUMBERED = re.compile(rf"\s{{0,99}}(?:[\[(]?{_MARK}[\])]|\d{{1,4}}\.?)\s{{0,99}}\S")
_MAX_NOTE_BLOCKS = 40  # blocks of a note; an unclosed bracket drops only its own block
_PART_GAP_LINES = 3  # blank lines before a new part of the book
_MIN_PROSE_NOTE_CHARACTERS = 200  # without whitespace: about 40 words; shorter notes are mostly sources and translations
_NOTE_MARK = re.compile(rf"(?:\[_?{_MARK}_?\]|\d{{1,4}}\.?)[.:]?\s")


def drop_footnotes(blocks: list[Block]) -> list[Block]:
    """Remove footnotes and their reference marks.

    A note is text in brackets after a word such as "Footnote", a block that begins with a mark that the text refers to, or a
    block under a heading for notes.

    >>> text = [["Tea[1] is hot[A]."], ["[Footnote 1: Or coffee.]"], ["[A] Or [2] warm."], ["It is [2] late."]]
    >>> [block.lines for block in drop_footnotes([Block(lines, 1, 1) for lines in text])]
    [['Tea is hot.'], ['It is [2] late.']]
    """
    if not any("[" in line or _HEADING.fullmatch(fold_case(line)) for block in blocks for line in block.lines):
        return blocks
    # Two passes, because only removed notes may lose their marks: "[2]" in "It is [2] late" can be
    # a mark, or part of the text. It is a mark if a note with this mark was found and removed.
    removed: set[str] = set()
    kept = list(_without_sections(_without_notes(blocks, _references(blocks), removed)))
    return [_without_marks(block, removed) for block in kept] if removed else kept


def keep_prose_notes(before: list[Block], after: list[Block]) -> list[Block]:
    """Put long notes of running text back where they were, without their marks and brackets.

    `before` are the blocks with notes, and `after` those without them.

    >>> note = Block(["[Footnote 1: " + "The tea came by the river, and " * 9 + "was late.]"], 1, 1, 0)
    >>> [block.lines[0][:23] for block in keep_prose_notes([note, Block(["[Footnote 2: Ibid.]"], 1, 1, 1)], [])]
    ['The tea came by the riv']
    """
    kept = {block.at for block in after}
    notes = [_without_brackets(block) for block in before if block.at not in kept]
    prose = [note for note in notes if is_paragraph(note) and sum(map(size, note.lines)) >= _MIN_PROSE_NOTE_CHARACTERS]
    return sorted(after + prose, key=lambda block: block.at)


def is_note(block: Block) -> bool:
    """Return True if a block begins a note, or is the heading of notes."""
    first = block.lines[0]
    return first.lstrip().startswith("[") or _NUMBERED.match(first) is not None or _is_notes_heading(block)


def _is_notes_heading(block: Block) -> bool:
    return len(block.lines) == 1 and _HEADING.fullmatch(fold_case(block.lines[0])) is not None


def _references(blocks: Iterable[Block]) -> set[str]:
    return {mark for block in blocks for line in block.lines if "[" in line for mark in _REFERENCE.findall(line)}


def _without_notes(blocks: list[Block], references: set[str], removed: set[str]) -> Iterator[Block]:
    """Yield the blocks that are not notes; add the marks of the notes to `removed`."""
    left = margin(blocks)
    at, inset = 0, 0  # `inset`: indent of the current note, if it differs from the text's
    while at < len(blocks):
        block = blocks[at]
        at += 1
        first = block.lines[0]
        indent = len(first) - len(first.lstrip())
        # A note of several paragraphs: those that follow are indented as far as its first one.
        if inset and indent >= inset and not is_chapter(first):
            continue
        inset = 0
        if not any("[" in line for line in block.lines):
            yield block
            continue
        if opening := _OPENS.match(first):
            removed.add(opening[1] or "")
            at = _end_of_note(blocks, at - 1)
        elif (definition := _DEFINITION.match(first)) and definition[1] in references:
            removed.add(definition[1])
            inset = indent if indent > left else 0
        else:
            yield from _without_bracketed(block, removed)


def _end_of_note(blocks: list[Block], start: int) -> int:
    """Return the index of the first block after a bracketed note."""
    # Notes may contain brackets. Count them up and down until the first one is closed.
    depth = 0
    for at in range(start, min(len(blocks), start + _MAX_NOTE_BLOCKS)):
        depth += sum(line.count("[") - line.count("]") for line in blocks[at].lines)
        if depth <= 0:
            return at + 1
    return start + 1


def _without_bracketed(block: Block, removed: set[str]) -> Iterator[Block]:
    """Remove bracketed notes from a block."""
    text = "\n".join(block.lines)
    notes = list(_BRACKETED.finditer(text))
    if not notes:
        yield block
        return
    removed.update(note[1] or note[2] or "" for note in notes)
    if lines := [line for line in _BRACKETED.sub("", text).split("\n") if line.strip()]:
        yield block._replace(lines=lines)


def _without_brackets(note: Block) -> Block:
    """Remove the mark of a note, and the brackets around it."""
    first, rest = note.lines[0].lstrip(), note.lines[1:]
    opening = _OPENS.match(first) or _NOTE_MARK.match(first)
    lines = [first[opening.end() :].lstrip() if opening else first, *rest]
    # A note of several blocks has its closing bracket in the last one.
    last = lines[-1].rstrip()
    if last.endswith("]") and "".join(lines).count("[") < "".join(lines).count("]"):
        lines[-1] = last[:-1]
    return note._replace(lines=lines)


def _without_sections(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks that are not under a footnotes heading; such a section ends at a wide gap or the next part."""
    inside = False
    for block in blocks:
        if _is_notes_heading(block):
            inside = True
        # The notes below the heading may already be removed, so a chapter or wide gap right after it also ends the section.
        elif inside and (is_chapter(block.lines[0]) or (block.before >= _PART_GAP_LINES and not _NUMBERED.match(block.lines[0]))):
            inside = False
        if not inside:
            yield block


def _without_marks(block: Block, removed: set[str]) -> Block:
    """Remove the marks of removed notes from a block."""
    if not any("[" in line for line in block.lines):
        return block
    lines = [_REFERENCE.sub(lambda mark: "" if mark[1] in removed else mark[0], line) for line in block.lines]
    return block._replace(lines=lines)

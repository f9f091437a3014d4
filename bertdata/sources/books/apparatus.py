"""Remove the parts of a printed book that are not its text: contents, pictures, page numbers, footnotes, transcriber's notes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..lines import fold_case
from .blocks import PART_GAP_LINES, Block, indent, is_paragraph, is_prose, margin
from .headings import begins_notes, is_chapter, is_contents, is_heading, words

_MARK = r"(?:\d{1,4}|[A-Za-z]|[*†‡§¹²³]{1,3})"
_NOTE = rf"(?:{words('footnotes')}|note(?=\s*\d))(?:\s*({_MARK}))?"
_GONE = rf"(?P<gone>(?:{words('pictures')}|{words('transcribers')})\b)"
_OPENS = re.compile(rf"\s*\[\s*_?(?:{_GONE}|{_NOTE}\s*_?[:.]?\s)", re.IGNORECASE)
# [Illustration: caption] and [Footnote 1: text], also within a block, and with brackets in it.
_BRACKETED = re.compile(rf"\[\s*_?(?:{_GONE}|(?:{_NOTE}|(\d{{1,4}}))\s*_?:)(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]", re.IGNORECASE)
_DEFINITION = re.compile(rf"\s*\[_?({_MARK})_?\][.:]?\s+(?=\S)")
_REFERENCE = re.compile(rf"(?<=[^\s\[(]) ?\[_?({_MARK})_?\]")
_FOOTNOTES_HEADING = re.compile(rf"[\W_]{{0,99}}(?:{words('footnotes')})[\W_]{{0,99}}")  # after `fold_case`
_NUMBERED_NOTE = re.compile(rf"\s{{0,99}}(?:\[|\(?{_MARK}[\])]|\d{{1,4}}\.?\s{{0,99}}\S)")
_PAGE_NUMBER = re.compile(  # not page numbers of an index, which follow a comma
    r"\s?(?:[\[{](?!sic\b)(?:pg|page|p|pag|pagina|seite|s|blz|bladz|pág|#)[. ]*(?:\d{1,4}|[ivxlc]{1,7})[\]}]|\{\d{1,4}\}"
    r"|(?<![,;]\s)\[\d{3}\]|^\s{0,99}[-—–]\s?(?:\d{1,4}|[ivxlc]{1,7})\s?[-—–]$)",
    re.IGNORECASE,
)
_PAGE_AT_END = re.compile(r"(?<![\s.])[\s.]*(?:\b(?:\d{1,4}|[ivxlc]+)\.?)?$", re.IGNORECASE)
_MAX_BRACKET_BLOCKS = 40  # blocks of a note or caption; an unclosed bracket drops only its own block
_MAX_LOST_CHARACTERS = 200 * 6  # 200 words


def drop_page_numbers(lines: list[str]) -> Iterator[str]:
    """Remove ``[Pg 12]`` and ``{12}`` inside lines, and lines that contain only a page number."""
    for line in lines:
        without = _PAGE_NUMBER.sub("", line) if line[-1:] in "-—–" or "[" in line or "{" in line else line
        if without.strip() or not line.strip():
            yield without


def drop_apparatus(blocks: list[Block], *, keep_notes: bool) -> list[Block]:
    """Remove pictures, the transcriber's notes, contents and footnotes, but keep running prose that no section names.

    With `keep_notes`, footnotes stay without their marks and brackets.
    """
    marks: set[str] = set()  # of the notes found; "[2]" in "It is [2] late" stays unless a note has this mark
    blocks = list(_read_brackets(blocks, marks, keep_notes))
    kept: list[Block] = []
    end = 0
    for at, block in enumerate(blocks):
        if at < end:
            continue
        end = _section_end(blocks, at, keep_notes)
        if end == at:
            kept.append(block)
        elif _is_footnotes_heading(block):
            marks.update(note[1] for note in map(_DEFINITION.match, (note.lines[0] for note in blocks[at:end])) if note)
    kept = list(_read_definitions(kept, marks, keep_notes))
    if not marks:
        return kept
    drop = lambda mark: "" if mark[1] in marks else mark[0]  # noqa: E731
    return [block._replace(lines=[_REFERENCE.sub(drop, line) for line in block.lines]) for block in kept]


def _read_brackets(blocks: list[Block], marks: set[str], keep_notes: bool) -> Iterator[Block]:
    """Remove captions in brackets, and move notes in brackets behind their block; both may go on in the next blocks."""
    at = 0
    while at < len(blocks):
        block, text = blocks[at], "\n".join(blocks[at].lines)
        at, notes = at + 1, list[str]()
        if "[" not in text:
            yield block
            continue
        if opening := _OPENS.match(text):
            end, closed, lost = at, text, 0
            while end < min(len(blocks), at + _MAX_BRACKET_BLOCKS) and closed.count("[") > closed.count("]"):
                closed += "\n\n" + "\n".join(blocks[end].lines)
                lost += blocks[end].size if is_paragraph(blocks[end]) else 0
                end += 1
            is_kept = keep_notes and not opening["gone"]
            is_closed = closed.count("[") <= closed.count("]") and (is_kept or lost <= _MAX_LOST_CHARACTERS)
            text, at = (closed, end) if is_closed else (text, at)
            if not opening["gone"]:
                marks.add(opening[2] or "")
                text, notes = "", [text[opening.end() :].removesuffix("]")]
            elif not is_closed:
                continue

        def take(bracket: re.Match[str], notes: list[str] = notes) -> str:
            if not bracket["gone"]:
                marks.add(bracket[2] or bracket[3] or "")
                notes.append(bracket["text"])
            return ""

        parts = _BRACKETED.sub(take, text).split("\n\n")
        # A note is at the margin, because short lines that are set in would be verse.
        parts += [re.sub("(?m)^ +", "", part) for note in notes if keep_notes for part in note.split("\n\n")]
        for part in parts:
            if lines := [line for line in part.split("\n") if line.strip()]:
                yield block._replace(lines=lines)


def _read_definitions(blocks: list[Block], marks: set[str], keep_notes: bool) -> Iterator[Block]:
    """Remove the marks of notes that begin with a mark that the text refers to, or the notes."""
    references = {mark for block in blocks for line in block.lines if "[" in line for mark in _REFERENCE.findall(line)}
    left, inset = margin(blocks), 0  # `inset`: indent of the current note, if it differs from the text's
    for block in blocks:
        first = block.lines[0]
        if (definition := _DEFINITION.match(first)) and definition[1] in references:
            marks.add(definition[1])
            inset = indent(first) if indent(first) > left else 0
            first = first[definition.end() :]
        elif not inset or indent(first) < inset or is_chapter(first):  # not another paragraph of the note
            inset = 0
            yield block
            continue
        if keep_notes:
            yield block._replace(lines=[first.lstrip(), *map(str.lstrip, block.lines[1:])])


def _section_end(blocks: list[Block], at: int, keep_notes: bool) -> int:
    """Return the end of the contents, transcriber's notes or footnotes that begin at a block, or `at` if none do.

    A section goes to a heading or gap, and if that is missing, it would take a chapter. So more than 200 words of prose after
    the last block that names the section (its heading, or an entry of its form) are kept, with all that follows.
    """
    first, later = blocks[at].lines[0], range(at + 2, len(blocks))  # a gap right after the heading does not end a section
    notes = begins_notes(first)
    if is_contents(first):
        end = _contents_end(blocks, at)
    elif notes == "heading":
        # Notes in the first half of a book without a later gap are the heading and the block below it.
        rest = at + 2 if at < len(blocks) // 2 else len(blocks)
        end = next((n for n in later if blocks[n].before >= PART_GAP_LINES), rest)
    elif not keep_notes and _is_footnotes_heading(blocks[at]):
        end = next((n for n in later if _ends_footnotes(blocks[n])), len(blocks))
    else:
        return at + 1 if notes else at
    prose, begin = 0, end  # characters of prose after the last block that names the section, and where they begin
    for number in range(at, min(end, len(blocks))):
        if _names_section(blocks[number]):
            prose, begin = 0, end
        elif is_paragraph(blocks[number]):
            prose, begin = prose + blocks[number].size, min(begin, number)
            if prose > _MAX_LOST_CHARACTERS:
                return begin
    return end


def _names_section(block: Block) -> bool:
    first = block.lines[0]
    is_entry = is_contents(first) or is_chapter(first) or _ends_with_number(block.lines[-1])
    return bool(is_entry or _NUMBERED_NOTE.match(first) or begins_notes(first) or _is_footnotes_heading(block))


def _is_footnotes_heading(block: Block) -> bool:
    return len(block.lines) == 1 and _FOOTNOTES_HEADING.fullmatch(fold_case(block.lines[0])) is not None


def _ends_footnotes(block: Block) -> bool:
    return is_chapter(block.lines[0]) or (block.before >= PART_GAP_LINES and not _NUMBERED_NOTE.match(block.lines[0]))


def _contents_end(blocks: list[Block], start: int) -> int:
    """Return the index of the first block after the contents whose heading is block `start`."""
    # It ends where its first entry ("I. The Ferry ... 3") occurs again, as the heading of the first chapter ("I. THE FERRY"), at
    # the first block that is running text, or at a wide gap behind an entry with a page.
    at = start + 1
    entry = _entry([*blocks[start].lines[1:], *(line for block in blocks[at : at + 1] for line in block.lines), ""][0])
    while at < len(blocks) and not _is_text(blocks[at]):
        if entry and at > start + 1 and _entry(blocks[at].lines[0]) == entry:
            return at
        is_apart = blocks[at].before >= PART_GAP_LINES and not _ends_with_number(blocks[at].lines[-1])
        if is_apart and _ends_with_number(blocks[at - 1].lines[-1]):
            return at
        at += 1
    # A first paragraph of one short line looks like an entry. Keep it in the text.
    while at > start + 1 and _is_sentence(blocks[at - 1]):
        at -= 1
    return at


def _entry(line: str) -> str:
    """Reduce a heading or a contents entry to its letters and digits, without the page number."""
    return "".join(re.findall(r"\w", _PAGE_AT_END.sub("", re.split(r"\s{3,}|\.{3,}", line.strip())[0]))).lower()


def _ends_with_number(line: str) -> bool:
    """Return True if a line ends with a number, such as the page of a contents entry."""
    return line.rstrip("_ ")[-1:].isdigit()


def _is_sentence(block: Block) -> bool:
    """Return True if a block is a short first paragraph, not an entry: it ends as a sentence and is mostly lowercase."""
    text = " ".join(block.lines).strip("_ ")
    return text[-1:] in '.!?”"' and len(re.findall(r"\b[^\W\d_A-Z][^\W\d_]*", text)) >= 4 and not _NUMBERED_NOTE.match(text)


def _is_text(block: Block) -> bool:
    """Return True if a block is the first running text after a table of contents."""
    if not is_prose(block) or is_chapter(block.lines[0]) or is_heading(block, "."):
        return False
    entries = sum(_PAGE_AT_END.fullmatch(line[-6:]) is not None for line in block.lines)
    return not _ends_with_number(block.lines[-1]) and entries < 2 and block.lines[0].count("--") < 2

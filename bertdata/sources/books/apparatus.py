"""Remove the parts of a printed book that are not its text: contents, pictures, page numbers, footnotes, transcriber's notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ..lines import fold_case
from .blocks import PART_GAP_LINES, Block, is_paragraph, is_prose, margin
from .headings import TRANSCRIBER, begins_notes, is_chapter, is_contents, is_heading, is_notes, words

_KINDS = f"{words('pictures')}|{TRANSCRIBER}"
_PICTURE = re.compile(rf"\[\s*_?(?:{_KINDS})\b(?:[^\[\]]|\[[^\[\]]*\])*\]", re.IGNORECASE)
_PICTURE_OPENS = re.compile(rf"\[\s*_?(?:{_KINDS})\b", re.IGNORECASE)
_MAX_CAPTION_BLOCKS = 12  # blocks in a bracketed caption; an unclosed bracket drops only its own block
_PAGE_NUMBER = re.compile(  # not page numbers of an index, which follow a comma
    r"\s?(?:[\[{](?!sic\b)(?:pg|page|p|pag|pagina|seite|s|blz|bladz|pág|#)[. ]*(?:\d{1,4}|[ivxlc]{1,7})[\]}]|\{\d{1,4}\}"
    r"|(?<![,;]\s)\[\d{3}\])",
    re.IGNORECASE,
)
_PAGE_LINE = re.compile(r"\s{0,99}[-—–]\s?(?:\d{1,4}|[ivxlc]{1,7})\s?[-—–]")
_PAGE_AT_END = re.compile(r"(?<![\s.])[\s.]*(?:\b(?:\d{1,4}|[ivxlc]+)\.?)?$", re.IGNORECASE)
_NUMBERED = re.compile(r"\W{0,99}(?:\d|[IVXLC]{1,20}\b)")
_MAX_CONTENTS_BLOCKS = 500
_MIN_PAGES = 3  # entries with a page number
_WORD_CHARACTERS = 6  # with the space after it
_MAX_LOST_CHARACTERS = 200 * _WORD_CHARACTERS
_MAX_UNNAMED_SHARE = 0.02  # of a book
_NOTE_WORDS = words("footnotes")
_MARK = r"(?:\d{1,4}|[A-Za-z]|[*†‡§¹²³]{1,3})"
# [Footnote 1: text], also within a block, and with brackets in it.
_BRACKETED = re.compile(
    rf"\[\s*_?(?:(?:{_NOTE_WORDS}|note(?=\s*\d))(?:\s*({_MARK}))?|(\d{{1,4}}))\s*_?:((?:[^\[\]]|\[[^\[\]]*\])*)\]", re.IGNORECASE
)
_NOTE_OPENS = re.compile(rf"\s*\[\s*_?(?:{_NOTE_WORDS}|note(?=\s*\d))(?:\s*({_MARK}))?\s*_?[:.]?\s", re.IGNORECASE)
_DEFINITION = re.compile(rf"\s*\[_?({_MARK})_?\][.:]?\s+(?=\S)")
_REFERENCE = re.compile(rf"(?<=[^\s\[(]) ?\[_?({_MARK})_?\]")
_FOOTNOTES_HEADING = re.compile(rf"[\W_]{{0,99}}(?:{_NOTE_WORDS})[\W_]{{0,99}}")  # after `fold_case`
_NUMBERED_NOTE = re.compile(rf"\s{{0,99}}(?:[\[(]?{_MARK}[\])]|\d{{1,4}}\.?)\s{{0,99}}\S")
_MAX_NOTE_BLOCKS = 40  # blocks of a note; an unclosed bracket drops only its own block


def drop_page_numbers(lines: list[str]) -> Iterator[str]:
    """Remove ``[Pg 12]`` and ``{12}`` inside lines, and lines that contain only a page number."""
    for line in lines:
        without = _PAGE_NUMBER.sub("", line) if "[" in line or "{" in line else line
        if (without.strip() or not line.strip()) and not _PAGE_LINE.fullmatch(without):
            yield without


def _drop_pictures(blocks: list[Block]) -> Iterator[Block]:
    """Remove ``[Illustration: …]`` and similar captions, inside a block or across several."""
    at = 0
    while at < len(blocks):
        start, text = at, "\n".join(blocks[at].lines)
        at += 1
        if _opens_picture(text):  # a long caption goes on in the next blocks until its bracket closes
            while at < min(len(blocks), start + 1 + _MAX_CAPTION_BLOCKS) and text.count("[") > text.count("]"):
                text += "\n" + "\n".join(blocks[at].lines)
                at += 1
            if text.count("[") > text.count("]"):
                at = start + 1
                continue
        if lines := [line for line in _PICTURE.sub("", text).split("\n") if line.strip()]:
            yield blocks[at - 1]._replace(lines=lines, before=blocks[start].before)


def drop_apparatus(blocks: list[Block], *, keep_notes: bool) -> list[Block]:
    """Remove pictures, the transcriber's notes, contents and footnotes, but keep running prose that no section names.

    A step that drops everything up to the next heading or gap can drop a chapter if that heading or gap is missing. So look at
    each run of removed blocks. More than 200 words of prose after the last block that names a section (its heading, or an entry
    of its form) are kept, with all that follows. A run of more than 2 % of the book without such a block is kept.
    """
    blocks = [block._replace(at=at) for at, block in enumerate(blocks)]
    after = _drop_contents(_read_footnotes(list(_drop_notes(list(_drop_pictures(blocks)))), keep=keep_notes))
    kept = {block.at for block in after}
    max_unnamed = _MAX_UNNAMED_SHARE * sum(block.size for block in blocks)
    for is_removed, group in groupby(blocks, key=lambda block: block.at not in kept):
        run = list(group) if is_removed else []
        prose, is_named, first = 0, False, len(run)  # characters of prose after the last name, which begin at `first`
        for at, block in enumerate(run):
            if _names_section(block):
                prose, is_named, first = 0, True, len(run)
            elif is_paragraph(block):
                prose, first = prose + block.size, min(first, at)
                if prose > _MAX_LOST_CHARACTERS:
                    break
        if prose > _MAX_LOST_CHARACTERS:
            after += run[first:]
        elif not is_named and sum(block.size for block in run) > max_unnamed:
            after += run
    return sorted(after, key=lambda block: block.at)


def _names_section(block: Block) -> bool:
    first, last = block.lines[0], block.lines[-1]
    if _opens_picture(first) or _is_note(block) or is_notes(first) or begins_notes(first):
        return True
    return is_contents(first) or is_chapter(first) or _ends_with_number(last)


def _opens_picture(line: str) -> bool:
    """Return True if a line begins like the caption of a picture."""
    return _PICTURE_OPENS.match(line.strip()) is not None


def _drop_notes(blocks: list[Block]) -> Iterator[Block]:
    """Remove a transcriber's notes: the heading and everything up to a wide gap. A note without a heading is one block.

    Notes in the first half of a book without a later gap are the heading and the block below it.
    """
    inside, end = False, len(blocks)
    last_gap = max((at for at, block in enumerate(blocks) if block.before >= PART_GAP_LINES), default=0)
    for number, block in enumerate(blocks):
        if is_notes(block.lines[0]):
            inside = True
            end = number + 2 if last_gap <= number < len(blocks) // 2 else len(blocks)
        elif inside and (block.before >= PART_GAP_LINES or number >= end):
            # A gap right after the heading does not end the notes. Compare `after`: blocks in between may already be removed.
            above = blocks[number - 1]
            inside = is_notes(above.lines[0]) and above.after >= PART_GAP_LINES
        if not inside and not begins_notes(block.lines[0]):
            yield block


def _drop_contents(blocks: list[Block]) -> list[Block]:
    """Remove tables of contents: the heading and the entries, up to the heading that matches the first entry."""
    kept: list[Block] = []
    end = 0
    for at, block in enumerate(blocks):
        if at >= end and is_contents(block.lines[0]):
            end = _contents_end(blocks, at)
        elif at >= end:
            kept.append(block)
    return kept


def _contents_end(blocks: list[Block], start: int) -> int:
    """Return the index of the first block after the contents whose heading is block `start`."""
    first = blocks[start].lines[1:] or (blocks[start + 1].lines if start + 1 < len(blocks) else [])
    if not first:
        return start + 1
    # It ends where its first entry ("I. The Ferry ... 3") occurs again, as the heading of the first chapter ("I. THE FERRY"), or
    # else at the first block that is running text.
    entry = _entry(first[0])
    for at in range(start + 2, min(len(blocks), start + _MAX_CONTENTS_BLOCKS)):
        if entry and _entry(blocks[at].lines[0]) == entry:
            return at
        if _is_text(blocks[at], blocks[at - 1]):
            break
    at, pages = start + 1, 0
    while at < len(blocks) and not _is_text(blocks[at], blocks[at - 1]):
        paged = sum(map(_ends_with_number, blocks[at].lines))
        if pages >= _MIN_PAGES and not paged and blocks[at].before >= PART_GAP_LINES:
            break  # entries with pages end at a wide gap
        at, pages = at + 1, pages + paged
    # A first paragraph of one short line looks like an entry. Keep it in the text.
    while at > start + 1 and _is_sentence(blocks[at - 1]):
        at -= 1
    return at


def _ends_with_number(line: str) -> bool:
    """Return True if a line ends with a number, such as the page of a contents entry."""
    return line.rstrip("_ ")[-1:].isdigit()


def _is_sentence(block: Block) -> bool:
    """Return True if a block is a short first paragraph, not an entry: it ends as a sentence and is mostly lowercase."""
    text = " ".join(block.lines).strip("_ ")
    return text[-1:] in '.!?”"' and len(re.findall(r"\b[^\W\d_A-Z][^\W\d_]*", text)) >= 4 and not _NUMBERED.match(text)


def _is_text(block: Block, previous: Block) -> bool:
    """Return True if a block is the first running text after a table of contents."""
    if not is_prose(block) or is_chapter(block.lines[0]) or is_heading(block, "."):
        return False
    entries = sum(_PAGE_AT_END.fullmatch(line[-6:]) is not None for line in block.lines)
    return not _ends_with_number(block.lines[-1]) and entries < 2 and block.lines[0].count("--") < 2


def _entry(line: str) -> str:
    """Reduce a heading or a contents entry to its letters and digits, without the page number."""
    return "".join(re.findall(r"\w", _PAGE_AT_END.sub("", re.split(r"\s{3,}|\.{3,}", line.strip())[0]))).lower()


def _read_footnotes(blocks: list[Block], *, keep: bool) -> list[Block]:
    """Remove the reference marks of footnotes from the text, and either the notes too or, with `keep`, their marks and brackets.

    A note is text in brackets after a word such as "Footnote", a block that begins with a mark that the text refers to, or a
    block under a heading for notes, up to a wide gap or the next part.
    """
    if not any("[" in line or _FOOTNOTES_HEADING.fullmatch(fold_case(line)) for block in blocks for line in block.lines):
        return blocks
    references = {mark for block in blocks for line in block.lines for mark in _REFERENCE.findall(line)}
    marks: set[str] = set()  # of the notes found; "[2]" in "It is [2] late" stays unless a note has this mark
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
            read += _note([block], 0, keep)
            continue
        inset = 0
        if opening := _NOTE_OPENS.match(first):
            marks.add(opening[1] or "")
            at = _end_of_note(blocks, start)
            read += _note(blocks[start:at], opening.end(), keep, closing="]")
        elif (definition := _DEFINITION.match(first)) and definition[1] in references:
            marks.add(definition[1])
            inset = indent if indent > left else 0
            read += _note([block], definition.end(), keep)
        elif _is_footnotes_heading(block):
            is_section = not keep
        elif not is_section or is_chapter(first) or (block.before >= PART_GAP_LINES and not _NUMBERED_NOTE.match(first)):
            is_section = False
            read += _bracketed_inside(block, marks, keep)
    return [_without_marks(block, marks) for block in read] if marks else read


def _is_note(block: Block) -> bool:
    """Return True if a block begins a note, or is the heading of notes."""
    first = block.lines[0]
    return first.lstrip().startswith("[") or _NUMBERED_NOTE.match(first) is not None or _is_footnotes_heading(block)


def _is_footnotes_heading(block: Block) -> bool:
    """Return True if a block is the heading of notes."""
    return len(block.lines) == 1 and _FOOTNOTES_HEADING.fullmatch(fold_case(block.lines[0])) is not None


def _end_of_note(blocks: list[Block], start: int) -> int:
    """Return the index of the first block after a bracketed note."""
    depth = 0
    for at in range(start, min(len(blocks), start + _MAX_NOTE_BLOCKS)):
        depth += sum(line.count("[") - line.count("]") for line in blocks[at].lines)
        if depth <= 0:
            return at + 1
    return start + 1


def _note(blocks: list[Block], opening: int, keep: bool, closing: str = "") -> list[Block]:
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

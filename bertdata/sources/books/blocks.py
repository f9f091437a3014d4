"""Group a book's lines into blocks at blank lines, and classify blocks as prose, verse, table or list by their shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from ..lines import fold_case

PART_GAP_LINES = 3  # blank lines before a new part of the book, or a new page
_LEADERS = r"\.{4,}\s*\d+\W*$|\.{8,}|(?:\. ){6}"  # leader dots before a page or a name; "wait...." is prose
_GAP_INSIDE = re.compile(rf"\S {{3,}}\S|{_LEADERS}")
_LEADER = re.compile(_LEADERS)
_STANZA_NUMBER = re.compile(r"(?:\d{1,3}|[IVXL]{1,6})[.)] +(?=\S)")
_ITEM = re.compile(r"\s*(?:\(?(?:\d{1,3}|[a-z]|[ivxlcIVXLC]{1,7})[.)]|[-*•·])\s+\S")
_QUOTED_OR_DATED = re.compile(r"^[_(\"“„»«]|\d[.\])]*$")  # a motto, a stage direction, the place and day of a letter
_OPENING = "\"'“‘«»„([_*—-¿¡` "
_MIN_PROSE_CHARACTERS = 45  # a prose line that continues is longer than this
_MIN_PARAGRAPH_CHARACTERS = 75
_SENTENCE_MARKS = frozenset(".!?…。！？।؟۔")
_MAX_WRAPPED_WIDTH = 120  # a longer line was not wrapped
_MIN_UNWRAPPED_SHARE = 0.2  # minimum share of such lines for a book with one paragraph per line; 0 in wrapped books
_MAX_MEAN_BLOCK_LINES = 20  # mean lines between blank lines; above this, blank lines do not separate paragraphs
_SIGNATURE_INDENT = 20  # columns from the margin to the signature of a letter
_MAX_VERSE_CHARACTERS = 60  # a line of verse is not longer, except one or two per stanza
_MAX_LOWERCASE_VERSE_CHARACTERS = 50  # the same for verse whose lines begin in lower case


class Block(NamedTuple):
    """Consecutive nonblank lines, the number of blank lines before and after them, and the block's number in the book."""

    lines: list[str]
    before: int
    after: int
    at: int = -1

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(map(len, self.lines))


def filled_runs(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of lines that are not blank."""
    start = 0
    for is_filled, run in groupby(lines, key=lambda line: line.strip() != ""):
        stop = start + sum(1 for _ in run)
        if is_filled:
            yield start, stop
        start = stop


def split_blocks(lines: list[str]) -> list[Block]:
    """Group lines into blocks."""
    runs = list(filled_runs(lines))
    stops, starts = [0, *(stop for _, stop in runs)], [*(start for start, _ in runs[1:]), len(lines)]
    return [
        Block([line.expandtabs().rstrip() for line in lines[start:stop]], start - last, after - stop)
        for (start, stop), last, after in zip(runs, stops, starts, strict=False)
    ]


def margin(blocks: Iterable[Block]) -> int:
    """Return the indent of most long lines, which is the book's left margin."""
    indents = Counter(_indent(line) for block in blocks for line in block.lines if len(line) > _MIN_PROSE_CHARACTERS)
    return min(indents, key=lambda indent: (-indents[indent], indent), default=0)


def split_unparted(blocks: list[Block]) -> Iterator[Block]:
    """Split paragraphs without blank lines between them: one paragraph per line, or by first-line indents.

    A line is a paragraph if it and its neighbors are too long to be wrapped, or if most lines of the book are that long, as in
    the output of EPUB converters.
    """
    left = margin(blocks)
    lengths = [len(line) for block in blocks for line in block.lines]
    unwrapped = sum(length for length in lengths if length > _MAX_WRAPPED_WIDTH) >= _MIN_UNWRAPPED_SHARE * max(1, sum(lengths))
    parted = len(lengths) < _MAX_MEAN_BLOCK_LINES * len(blocks)
    for block in blocks:
        lines = block.lines
        if len(lines) == 1:
            yield block
            continue
        starts = [0]
        if unwrapped or max(map(len, lines)) > _MAX_WRAPPED_WIDTH:
            starts = list(range(len(lines)))
        elif not parted or lines[-1].startswith("\u3000"):
            starts += (at for at in range(1, len(lines)) if _is_indented(lines, at, left))
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            before, after = block.before if start == 0 else 1, block.after if end == len(lines) else 1
            yield Block(lines[start:end], before, after)


def is_verse(block: Block, left: int) -> bool:
    """Return True if an indented block is verse: its lines end before the right margin."""
    if not block.lines[-1].startswith(" "):
        return False
    lines = _without_number(block.lines)
    if any(_indent(line) <= left for line in lines):
        return False
    texts = [line.strip() for line in lines]
    if len(lines) == 1:
        return len(texts[0]) <= _MAX_VERSE_CHARACTERS and _indent(lines[0]) < left + 12 and not _QUOTED_OR_DATED.search(texts[0])
    if len(lines) <= 3 and min(map(_indent, lines)) >= left + _SIGNATURE_INDENT:
        return False
    firsts = [text.lstrip(_OPENING)[:1] for text in texts]
    capitals = sum(map(str.isupper, firsts))
    width = max(map(len, texts))
    # Prose that was wrapped raggedly: its lines go on in lower case, and are longer than those of modern or Spanish verse.
    if width > _MAX_LOWERCASE_VERSE_CHARACTERS and sum(map(str.islower, firsts[1:])) >= 0.8 * (len(lines) - 1):
        return False
    # A line of prose ends because the next word does not fit. In verse it would have fit: count these lines. The width is that
    # of the longest line, because the margin of the print is unknown.
    broken = sum(_broken(text, after, width) for text, after in zip(texts, texts[1:], strict=False))
    if len(lines) == 2:
        return capitals == 2 and width <= _MAX_VERSE_CHARACTERS
    if capitals == len(lines) and width <= _MAX_VERSE_CHARACTERS:
        return True
    return broken > 0.25 * (len(lines) - 1) or (broken > 0 and capitals >= 0.8 * len(lines))


def _without_number(lines: list[str]) -> list[str]:
    """Replace a stanza number, to the left of the lines, with spaces."""
    number = _STANZA_NUMBER.match(lines[0].lstrip(" ")) if len(lines) > 2 else None
    start = _indent(lines[0])
    if number is None or _indent(lines[1]) != start + number.end():
        return lines
    return [" " * _indent(lines[1]) + lines[0][start + number.end() :], *lines[1:]]


def is_table(block: Block) -> bool:
    """Return True if most lines have columns: two words far apart, or leader dots before a number."""
    if len(block.lines) == 1:
        line = block.lines[0]
        return ("...." in line or ". . " in line) and _LEADER.search(line) is not None
    columns = sum(map(_has_columns, block.lines))
    return columns >= max(2, 0.5 * len(block.lines))


def is_list(block: Block) -> bool:
    """Return True if every line is a list item: ``1. Tea``, ``2. Cake``, ``3. Bread``."""
    return len(block.lines) >= 3 and all(map(_ITEM.match, block.lines))


def has_items(block: Block) -> bool:
    """Return True if a block has several list items, which may continue on other lines."""
    return sum(_ITEM.match(line) is not None for line in block.lines) >= max(2, 0.25 * len(block.lines))


def is_prose(block: Block) -> bool:
    """Return True if a block is running text: two or more lines, with every line except the last filled."""
    lines = block.lines
    return len(lines) >= 2 and all(len(line) > _MIN_PROSE_CHARACTERS for line in lines[:-1]) and not is_table(block)


def is_paragraph(block: Block) -> bool:
    """Return True if a block is a paragraph of sentences, not a list: most of its words are not capitalized."""
    text = " ".join(block.lines)
    if len(text) < _MIN_PARAGRAPH_CHARACTERS or not _SENTENCE_MARKS.intersection(text) or has_items(block):
        return False
    words = [word for word in text.split() if not word[0].isdigit()]
    return sum(word == fold_case(word) or word[0].islower() for word in words) >= 0.5 * len(words)


def _has_columns(line: str) -> bool:
    text = line.strip()
    if (text[:1] in ("|", "+") and text[-1] == text[0]) or text.startswith("{ "):
        return True
    return ("   " in text or "...." in text or ". . " in text) and _GAP_INSIDE.search(text) is not None


def _broken(line: str, after: str, width: int) -> bool:
    """Return True if the first word of the next line would have fit on the line."""
    return len(line) + 1 + len(after.split(" ", 1)[0]) <= width


def _is_indented(lines: list[str], at: int, left: int) -> bool:
    """Return True if line `at` begins a paragraph: indented, after a line that ends a sentence at the margin."""
    if lines[at].startswith("\u3000"):
        return True
    if not _is_first(lines[at], left):
        return False
    around = [_indent(line) for line in (lines[at - 1], *lines[at + 1 : at + 2]) if not _is_first(line, left)]
    return set(around) <= {left} and lines[at - 1].rstrip('_"”’»)')[-1:] in ".!?:"


def _is_first(line: str, left: int) -> bool:
    return left < _indent(line) <= left + 8


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))

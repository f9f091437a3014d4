"""Group a book's lines into blocks at blank lines, and classify blocks as prose, verse, table or list by their shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from ..lines import fold_case

PART_GAP_LINES = 3  # blank lines before a new part of the book, or a new page
_LEADERS = r"\.{4,}\s*\d+\W*$|\.{8,}|(?:\. ){6}"  # leader dots before a page or a name; "wait...." is prose
_LEADER, _COLUMNS = re.compile(_LEADERS), re.compile(rf"\S {{3,}}\S|{_LEADERS}|^([|+]).*\1$|^{{ ")
_STANZA_NUMBER = re.compile(r"(?:\d{1,3}|[IVXL]{1,6})[.)] +(?=\S)")
_ITEM = re.compile(r"\s*(?:\(?(?:\d{1,3}|[a-z]|[ivxlcIVXLC]{1,7})[.)]|[-*•·])\s+\S")
_QUOTED_OR_DATED = re.compile(r"^[_(\"“„»«]|\d[.\])]*$")  # a motto, a stage direction, the place and day of a letter
_OPENING = "\"'“‘«»„([_*—-¿¡` "
MIN_PROSE_CHARACTERS = 45  # a prose line that continues is longer than this
_MIN_PARAGRAPH_CHARACTERS = 75
_SENTENCE_MARKS = frozenset(".!?…。！？।؟۔")
_MAX_WRAPPED_WIDTH = 120  # a longer line was not wrapped
_MIN_UNWRAPPED_SHARE = 0.2  # minimum share of such lines for a book with one paragraph per line; 0 in wrapped books
_MAX_MEAN_BLOCK_LINES = 20  # mean lines between blank lines; above this, blank lines do not separate paragraphs
_SIGNATURE_INDENT = 20  # columns from the margin to the signature of a letter
_MAX_VERSE_CHARACTERS = 60  # a line of verse is not longer, except one or two per stanza
_MAX_LOWERCASE_VERSE_CHARACTERS = 50  # the same for verse whose lines begin in lower case


class Block(NamedTuple):
    """Consecutive nonblank lines, and the number of blank lines before and after them."""

    lines: list[str]
    before: int
    after: int

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(map(len, self.lines))


def split_blocks(lines: list[str]) -> list[Block]:
    """Group lines into blocks."""
    runs = [list(run) for _, run in groupby(lines, key=lambda line: line.strip() == "")]
    if lines and lines[0].strip():
        runs.insert(0, [])
    gaps = [len(blank) for blank in runs[::2]] + [0]
    filled = ([line.expandtabs().rstrip() for line in run] for run in runs[1::2])
    return [Block(run, before, after) for run, (before, after) in zip(filled, pairwise(gaps), strict=False)]


def indent(line: str) -> int:
    """Return the number of spaces before a line."""
    return len(line) - len(line.lstrip(" "))


def margin(blocks: Iterable[Block]) -> int:
    """Return the indent of most long lines, which is the book's left margin."""
    indents = Counter(indent(line) for block in blocks for line in block.lines if len(line) > MIN_PROSE_CHARACTERS)
    return min(indents, key=lambda columns: (-indents[columns], columns), default=0)


def split_unparted(blocks: list[Block]) -> Iterator[Block]:
    """Split paragraphs without blank lines between them: one paragraph per line, or by first-line indents.

    A line is a paragraph if it or a neighbor is too long to be wrapped, or if most lines of the book are that long, as in the
    output of EPUB converters.
    """
    left = margin(blocks)
    lengths = [len(line) for block in blocks for line in block.lines]
    unwrapped = sum(length for length in lengths if length > _MAX_WRAPPED_WIDTH) >= _MIN_UNWRAPPED_SHARE * max(1, sum(lengths))
    parted = len(lengths) < _MAX_MEAN_BLOCK_LINES * len(blocks)
    for block in blocks:
        lines = block.lines
        if unwrapped or max(map(len, lines)) > _MAX_WRAPPED_WIDTH:
            starts = list(range(len(lines)))
        elif not parted or lines[-1].startswith("\u3000"):
            starts = [0, *(at for at in range(1, len(lines)) if _begins_paragraph(lines, at, left))]
        else:
            starts = [0]
        for start, end in pairwise([*starts, len(lines)]):
            yield Block(lines[start:end], 1 if start else block.before, 1 if end < len(lines) else block.after)


def _begins_paragraph(lines: list[str], at: int, left: int) -> bool:
    """Return True if line `at` begins a paragraph: indented, after a line that ends a sentence at the margin."""
    if lines[at].startswith("\u3000"):
        return True
    is_indented = left < indent(lines[at]) <= left + 8 and indent(lines[at - 1]) == left
    return is_indented and lines[at - 1].rstrip('_"”’»)')[-1:] in ".!?:"


def is_verse(block: Block, left: int) -> bool:
    """Return True if an indented block is verse: its lines end before the right margin."""
    lines, texts = block.lines, [line.strip() for line in block.lines]
    indents = [indent(line) for line in lines]
    if len(lines) > 2 and (number := _STANZA_NUMBER.match(texts[0])) and indents[1] == indents[0] + number.end():
        texts[0], indents[0] = texts[0][number.end() :], indents[1]
    if min(indents) <= left:
        return False
    if len(lines) == 1:
        return len(texts[0]) <= _MAX_VERSE_CHARACTERS and indents[0] < left + 12 and not _QUOTED_OR_DATED.search(texts[0])
    if len(lines) <= 3 and min(indents) >= left + _SIGNATURE_INDENT:
        return False
    firsts = [text.lstrip(_OPENING)[:1] for text in texts]
    capitals = sum(map(str.isupper, firsts))
    width = max(map(len, texts))
    # Prose that was wrapped raggedly: its lines go on in lower case, and are longer than those of modern or Spanish verse.
    if width > _MAX_LOWERCASE_VERSE_CHARACTERS and sum(map(str.islower, firsts[1:])) >= 0.8 * (len(lines) - 1):
        return False
    if capitals == len(lines) and width <= _MAX_VERSE_CHARACTERS:
        return True
    # A line of prose ends because the next word does not fit. In verse it would have fit: count these lines. The width is that
    # of the longest line, because the margin of the print is unknown.
    broken = sum(len(text) + 1 + len(after.split(" ", 1)[0]) <= width for text, after in pairwise(texts))
    return len(lines) > 2 and (broken > 0.25 * (len(lines) - 1) or (broken > 0 and capitals >= 0.8 * len(lines)))


def is_table(block: Block) -> bool:
    """Return True if most lines have columns: two words far apart, or leader dots before a number."""
    lines = block.lines
    pattern, least = (_COLUMNS, max(2, 0.5 * len(lines))) if len(lines) > 1 else (_LEADER, 1)
    texts = (line for line in map(str.strip, lines) if "   " in line or "...." in line or ". . " in line or line[0] in "|+{")
    return sum(pattern.search(text) is not None for text in texts) >= least


def is_list(block: Block, share: float = 1.0) -> bool:
    """Return True if every line is a list item: ``1. Tea``, ``2. Cake``, ``3. Bread``; or a `share` of them."""
    return sum(_ITEM.match(line) is not None for line in block.lines) >= max(2 + (share == 1), share * len(block.lines))


def is_prose(block: Block) -> bool:
    """Return True if a block is running text: two or more lines, with every line except the last filled."""
    lines = block.lines
    return len(lines) >= 2 and all(len(line) > MIN_PROSE_CHARACTERS for line in lines[:-1]) and not is_table(block)


def is_paragraph(block: Block) -> bool:
    """Return True if a block is a paragraph of sentences, not a list: most of its words are not capitalized."""
    text = " ".join(block.lines)
    if len(text) < _MIN_PARAGRAPH_CHARACTERS or not _SENTENCE_MARKS.intersection(text) or is_list(block, 0.25):
        return False
    words = [word for word in text.split() if not word[0].isdigit()]
    return sum(word == fold_case(word) or word[0].islower() for word in words) >= 0.5 * len(words)

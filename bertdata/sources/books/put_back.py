"""Limit what a rule may remove from a book, for all rules: put back running prose that a section does not name.

A rule that drops everything up to the next heading or gap can drop a chapter if that heading or gap is missing. After each rule,
`put_back` checks every run of removed blocks. If more than 200 words of prose follow the section's heading or last entry, it puts
this prose and all after it back. A run of more than 2 % of the book without a heading or an entry is put back completely.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from .account import size
from .apparatus import ends_with_number, opens_picture
from .back import is_about_author, is_advertisement, is_imprint, is_index
from .blocks import Block, is_paragraph
from .footnotes import is_note
from .headings import begins_notes, is_chapter, is_contents, is_notes

__all__ = ["MAX_PROSE_CHARACTERS", "put_back"]

_CHARACTERS_PER_WORD = 5  # per word, without whitespace
MAX_PROSE_CHARACTERS = 200 * _CHARACTERS_PER_WORD
_MAX_UNNAMED = 0.02  # share of a book

# The blocks that name a section: its heading, or an entry that has its form. Other rules judge each block on its own lines.
_NAMES: dict[str, Callable[[Block], bool]] = {
    "pictures": lambda block: opens_picture(block.lines[0]),
    "transcribers' notes": lambda block: is_notes(block.lines[0]) or begins_notes(block.lines[0]),
    "footnotes": is_note,
    "about the author": is_about_author,
    "advertisements": is_advertisement,
    "index": is_index,
    "imprint": lambda block: any(map(is_imprint, block.lines)),
    "contents": lambda block: is_contents(block.lines[0]) or is_chapter(block.lines[0]) or ends_with_number(block.lines[-1]),
}


def put_back(rule: str, before: list[Block], after: list[Block], characters: int) -> tuple[list[Block], int]:
    """Return the blocks that a rule may leave of the numbered blocks `before`, and the number of characters that were put back.

    `after` is what the rule left, and `characters` the size of the book.

    >>> heading, note = Block(["FOOTNOTES:"], 3, 1, 0), Block(["[1] Or coffee."], 1, 1, 1)
    >>> chapter = [Block(["The ferry left the harbour, and nobody on the quay had seen the miller come aboard."], 1, 1, 2)] * 20
    >>> blocks, count = put_back("footnotes", [heading, note, *chapter], [], 10_000)
    >>> blocks == chapter, count
    (True, 1360)
    """
    kept = {block.at for block in after}
    if rule not in _NAMES or len(kept) == len(before):
        return after, 0
    returned: list[Block] = []
    for is_removed, group in groupby(before, key=lambda block: block.at not in kept):
        if is_removed:
            run = list(group)
            returned += run[_lawful(run, _NAMES[rule], characters) :]
    if not returned:
        return after, 0
    return sorted(after + returned, key=lambda block: block.at), sum(map(_size, returned))


def _lawful(run: list[Block], names: Callable[[Block], bool], characters: int) -> int:
    """Return how many blocks at the beginning of a run may be removed."""
    # Walk through the removed run. A heading or an entry of the section resets the count of prose,
    # as the section evidently goes on. More than 200 words of prose after the last of them were not
    # meant: put back everything from the first of these paragraphs on.
    #
    #   removed     heading  note  note  prose 90  note  prose 120  prose 150  prose 80
    #   prose             0     0     0        90     0        120        270  -> put back from here
    #                                                    ^ first
    prose = first = 0
    is_named = False
    for at, block in enumerate(run):
        if names(block):
            is_named, prose = True, 0
        elif is_paragraph(block):
            first = first if prose else at
            prose += _size(block)
            if prose > MAX_PROSE_CHARACTERS:
                return first
    return len(run) if is_named or sum(map(_size, run)) <= _MAX_UNNAMED * characters else 0


def _size(block: Block) -> int:
    return sum(map(size, block.lines))

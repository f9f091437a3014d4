"""The text of a book becomes paragraphs: licence and apparatus dropped, lines unwrapped.

The steps, each in a file of its own: `gutenberg` (licence), `blocks` (lines -> blocks), `apparatus` (page numbers, pictures,
contents, notes), `headings`, and `unwrap` (blocks -> paragraphs).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..encodings import decode
from ..lines import unify_newlines
from .apparatus import drop_contents, drop_notes, drop_page_numbers, drop_pictures
from .blocks import Block, blocks, is_list, is_table, is_verse, margin, split_unparted
from .gutenberg import Parts, is_credit, strip_licence
from .headings import is_heading
from .unwrap import hyphenated, join_signatures, unwrap

__all__ = ["clean", "clean_parts", "read_paragraphs"]

_FRONT = 40  # blocks after the header among which typists are thanked and printers named


def read_paragraphs(path: str) -> list[str]:
    """Read the paragraphs of a book's ``.txt`` file."""
    return clean(decode(Path(path).read_bytes()))


def clean(text: str) -> list[str]:
    r"""Return the paragraphs of a book: its prose, without licence, headings, contents, pictures, verse and tables.

    A book that is mostly verse keeps it, a line a paragraph.  Footnotes stay.

    >>> clean("CHAPTER I\n\n\nThe kettle sang\nall day.\n\n[Illustration]\n\nNo one came.\n")
    ['The kettle sang all day.', 'No one came.']
    """
    return clean_parts(strip_licence(unify_newlines(text).split("\n")))


def clean_parts(parts: Parts) -> list[str]:
    """Return the paragraphs of a book whose licence is set apart."""
    found = list(split_unparted(list(blocks(drop_page_numbers(parts.body)))))
    front = [block for block in found[:_FRONT] if not is_credit(block.lines[0].strip(" _["))]
    found = drop_contents(list(drop_notes(list(drop_pictures(front + found[_FRONT:])))))
    kept = list(_running_text(found, title_page=bool(parts.header)))
    keep_verse = sum(_size(block) if verse else -_size(block) for block, verse in kept) > 0
    words = hyphenated(block.lines for block, _ in kept)
    paragraphs: list[str] = []
    for block, verse in kept:
        if not verse:
            paragraphs.append(unwrap(block.lines, words))
        elif keep_verse:
            paragraphs.extend(map(str.strip, block.lines))
    return paragraphs if keep_verse else join_signatures(paragraphs)


def _running_text(found: list[Block], title_page: bool) -> Iterator[tuple[Block, bool]]:
    """Yield the blocks that are prose or verse, and whether they are verse."""
    left, previous = margin(found), "" if title_page else "."
    for block in found:
        if not any(map(str.isalnum, "".join(block.lines))):
            continue
        if is_heading(block, previous):
            previous = ""
        elif not (is_table(block) or is_list(block)):
            previous = block.lines[-1]
            yield block, is_verse(block, left)


def _size(block: Block) -> int:
    return sum(map(len, block.lines))

"""Turn the text of a book into paragraphs: drop its license and apparatus, and unwrap its lines.

The steps are in separate files: `gutenberg` (license), `blocks` (lines -> blocks), `apparatus` (page numbers, pictures,
contents, notes), `footnotes`, `headings`, and `unwrap` (blocks -> paragraphs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import NamedTuple

from ..lines import one_line, unify_newlines
from .apparatus import drop_contents, drop_notes, drop_page_numbers, drop_pictures, ends_with_number, guarded, opens_picture
from .blocks import PART_GAP_LINES, Block, is_list, is_table, is_verse, margin, split_blocks, split_unparted
from .footnotes import is_note, read_footnotes
from .gutenberg import Parts, header_field, is_credit, language_code, strip_licence
from .headings import begins_notes, is_chapter, is_contents, is_heading, is_notes, is_short, plain_name, speakers
from .unwrap import drop_marks, hyphenated, join_signatures, set_dashes, unwrap

_FRONT_BLOCKS = 40  # blocks after the header that may credit transcribers and printers, or be the title page


class Reading(NamedTuple):
    """How to read books: handling of verse and footnotes (see `clean`), and the encoding, ``""`` to detect it."""

    verse: str = "auto"
    encoding: str = ""
    footnotes: str = "keep"


class _Text(NamedTuple):
    """A block of running text, whether it is verse, and the number of headings before it."""

    block: Block
    verse: bool
    section: int


def clean(text: str, verse: str = "auto", footnotes: str = "keep") -> list[str]:
    r"""Return the paragraphs of a book: its prose, without license, headings, contents, pictures and tables.

    A stanza is one paragraph.  `verse`: ``keep`` all; ``drop`` all; or ``auto``: keep a book or section that is mostly verse,
    such as a poem or a play, and drop lines quoted in prose.
    `footnotes`: ``keep`` the text of notes without marks and brackets, or ``drop`` it. The reference marks are always dropped.

    >>> clean("CHAPTER I\n\n\nThe kettle sang\nall day.\n\n[Illustration]\n\nNo one came.\n")
    ['The kettle sang all day.', 'No one came.']
    """
    return clean_parts(strip_licence(unify_newlines(text).split("\n")), Reading(verse, "", footnotes))


def clean_parts(parts: Parts, reading: Reading) -> list[str]:
    """Return the paragraphs of a book without its license."""
    blocks = list(split_unparted(list(split_blocks(drop_page_numbers(parts.body)))))
    front = [block for block in blocks[:_FRONT_BLOCKS] if not is_credit(block.lines[0].strip(" _["))]
    blocks = front + blocks[_FRONT_BLOCKS:]
    blocks = guarded(drop_pictures, lambda block: opens_picture(block.lines[0]), blocks)
    blocks = guarded(drop_notes, lambda block: is_notes(block.lines[0]) or begins_notes(block.lines[0]), blocks)
    if reading.footnotes == "keep":
        blocks = read_footnotes(blocks, keep=True)
    else:
        blocks = guarded(partial(read_footnotes, keep=False), is_note, blocks)
    blocks = guarded(drop_contents, _is_entry, blocks)
    names = set() if reading.verse == "drop" else speakers(blocks)
    texts = list(_running_text(blocks, names, title_page=bool(parts.header)))
    kept = list(_choose(texts, reading.verse))
    return _paragraphs(kept, names, language_code(header_field(parts.header, "Language")))


def _is_entry(block: Block) -> bool:
    return is_contents(block.lines[0]) or is_chapter(block.lines[0]) or ends_with_number(block.lines[-1])


def _paragraphs(kept: list[_Text], names: set[str], language: str) -> list[str]:
    """Turn blocks into paragraphs, without the hyphens and marks of the printed page."""
    words = hyphenated(text.block.lines for text in kept)
    paragraphs: list[str] = []
    for is_poem, texts in groupby(kept, key=lambda text: text.verse):
        if is_poem and names:
            paragraphs.extend(line.strip() for text in texts for line in text.block.lines)
        elif is_poem:
            paragraphs.extend(" ".join(map(str.strip, text.block.lines)) for text in texts)
        else:
            paragraphs.extend(join_signatures([unwrap(text.block.lines, words) for text in texts]))
    return [text for paragraph in paragraphs if (text := one_line(set_dashes(drop_marks(paragraph), language)))]


def _running_text(blocks: list[Block], names: set[str], title_page: bool) -> Iterator[_Text]:
    """Yield blocks of prose or verse; `names` are the speakers of a play."""
    # `previous` is the last line before a block, "" after a heading: then another heading (a subtitle) is likely.
    left, previous, section, verse = margin(blocks), "" if title_page else ".", 0, False
    front: list[_Text] | None = [] if title_page else None  # the title page, if a heading or a new page follows

    for block in blocks:
        if not any(map(str.isalnum, "".join(block.lines))):
            continue
        if plain_name(block) not in names and is_heading(block, previous):
            front = [] if front else front
            section += previous != ""
            previous, verse = "", False
        elif not is_table(block) and not is_list(block):
            previous = block.lines[-1]
            verse = is_verse(block, left) or (verse and _is_source(block, left))
            text = _Text(block, verse, section)
            # A title page has short lines, then a heading or a wide gap. Hold them until it is clear.
            if front is not None and is_short(block) and len(front) < _FRONT_BLOCKS:
                front.append(text)
                continue
            if front and max(front[-1].block.after, block.before) >= PART_GAP_LINES:
                front = None
            yield from front or ()
            front = None
            yield text
    yield from front or ()


def _is_source(block: Block, left: int) -> bool:
    """Return True if a block is the line below a poem that names its author."""
    return len(block.lines) == 1 and block.lines[0].startswith(" " * (left + 1))


def _choose(texts: list[_Text], verse: str) -> Iterable[_Text]:
    """Drop unwanted verse."""
    if verse == "keep":
        return texts
    if verse == "drop":
        return (text for text in texts if not text.verse)
    # A poem in a novel is a quotation, but a novel with one chapter of ballads keeps that chapter: decide by section.
    balance: Counter[int] = Counter()  # verse characters minus prose characters, by section
    for text in texts:
        size = sum(map(len, text.block.lines))
        balance[text.section] += size if text.verse else -size
    poems = sum(balance.values()) > 0
    return (text for text in texts if poems or not text.verse or balance[text.section] > 0)

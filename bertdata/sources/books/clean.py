"""Turn the text of a book into paragraphs: drop its license and apparatus, and unwrap its lines.

The steps are in separate files: `gutenberg` (license), `blocks` (lines -> blocks), `apparatus` (page numbers, pictures,
contents, notes), `headings`, and `unwrap` (blocks -> paragraphs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from ..lines import one_line, unify_newlines
from .account import Account
from .apparatus import drop_contents, drop_notes, drop_page_numbers, drop_pictures
from .back import drop_about_author, drop_advertisements, drop_index
from .blocks import Block, is_list, is_table, is_verse, margin, split_blocks, split_unparted
from .footnotes import drop_footnotes, keep_prose_notes
from .gutenberg import Parts, header_field, is_credit, language_code, strip_licence
from .headings import is_heading, is_short, plain_name, signers, speakers
from .notation import drop_music, resolve_signs
from .put_back import put_back
from .unwrap import drop_marks, hyphenated, join_signatures, set_dashes, unwrap

__all__ = ["Reading", "clean", "clean_parts"]

_STEPS: dict[str, Callable[[list[Block]], Iterable[Block]]] = {  # by the kind of text that they remove
    "music": drop_music,
    "pictures": drop_pictures,
    "transcribers' notes": drop_notes,
    "footnotes": drop_footnotes,
    "about the author": drop_about_author,
    "advertisements": drop_advertisements,
    "index": drop_index,
    "contents": drop_contents,
}
_NEW_PAGE = 3  # blank lines
_FRONT_BLOCKS = 40  # blocks after the header that may credit transcribers and printers, or be the title page


class Reading(NamedTuple):
    """How to read books: handling of verse and footnotes (see `clean`), and the encoding, ``""`` to detect it.

    `counts` collects the characters that each step removed, and `put_back` those that were kept after all: see `Account`.
    """

    verse: str = "auto"
    encoding: str = ""
    footnotes: str = "prose"
    counts: Counter[str] | None = None
    put_back: Counter[str] | None = None


class _Text(NamedTuple):
    """A block of running text, whether it is verse, and the number of headings before it."""

    block: Block
    verse: bool
    section: int


def clean(text: str, verse: str = "auto", footnotes: str = "prose") -> list[str]:
    r"""Return the paragraphs of a book: its prose, without license, headings, contents, pictures and tables.

    A stanza is one paragraph.  `verse`: ``keep`` all; ``drop`` all; or ``auto``: keep a book or section that is mostly verse,
    such as a poem or a play, and drop lines quoted in prose.
    `footnotes`: ``prose`` drops notes and their reference marks, but keeps notes of about 40 words or more of running text;
    ``drop`` removes all notes and marks; ``keep`` keeps them.

    >>> clean("CHAPTER I\n\n\nThe kettle sang\nall day.\n\n[Illustration]\n\nNo one came.\n")
    ['The kettle sang all day.', 'No one came.']
    """
    return clean_parts(strip_licence(unify_newlines(text).split("\n")), Reading(verse, "", footnotes))


def clean_parts(parts: Parts, reading: Reading, characters: int = 0) -> list[str]:
    """Return the paragraphs of a book without its license; `characters` is the size of the book, without whitespace."""
    # From lines to paragraphs. First whole lines (license, page numbers), then blocks of lines,
    # because most apparatus has blank lines around it, and last the wrapped lines, which can only
    # be joined when no caption or page number is left between them.
    account = Account(reading.counts, reading.put_back, characters)
    body = account.lines("page numbers", drop_page_numbers(account.lines("licence", parts.body)))
    body = account.lines("marks", resolve_signs(body))
    blocks = list(split_unparted(list(split_blocks(body))))
    front = [block for block in blocks[:_FRONT_BLOCKS] if not is_credit(block.lines[0].strip(" _["))]
    blocks = [block._replace(at=at) for at, block in enumerate(front + blocks[_FRONT_BLOCKS:])]
    blocks = account.blocks("credits", blocks)
    for name, step in _STEPS.items():
        if name != "footnotes" or reading.footnotes != "keep":
            # No rule is trusted completely: `put_back` returns prose that a rule should not have
            # removed.
            rest, characters = put_back(name, blocks, list(step(blocks)), account.characters)
            if name == "footnotes" and reading.footnotes == "prose":
                rest = keep_prose_notes(blocks, rest)
            blocks = account.blocks(name, rest)
            account.put_back(name, characters)
    names = set() if reading.verse == "drop" else speakers(blocks)
    texts = list(_running_text(blocks, names, account, title_page=bool(parts.header)))
    kept = list(_choose(texts, reading.verse))
    account.blocks("verse", [text.block for text in kept])
    return account.kept(_paragraphs(kept, names, language_code(header_field(parts.header, "Language")), account))


def _paragraphs(kept: list[_Text], names: set[str], language: str, account: Account) -> list[str]:
    """Turn blocks into paragraphs, without the hyphens and marks of the printed page."""
    # "to-" at the end of a line and "day" on the next: "today" or "to-day"? The book answers it, if
    # the word occurs elsewhere in the middle of a line.
    words = hyphenated(text.block.lines for text in kept)
    paragraphs: list[str] = []
    for is_poem, texts in groupby(kept, key=lambda text: text.verse):
        if is_poem and names:
            paragraphs.extend(line.strip() for text in texts for line in text.block.lines)
        elif is_poem:
            paragraphs.extend(" ".join(map(str.strip, text.block.lines)) for text in texts)
        else:
            paragraphs.extend(join_signatures([unwrap(text.block.lines, words) for text in texts]))
    cleaned = [one_line(set_dashes(drop_marks(paragraph), language)) for paragraph in account.lines("hyphens", paragraphs)]
    return [paragraph for paragraph in account.lines("marks", cleaned) if paragraph]


def _running_text(blocks: list[Block], names: set[str], account: Account, title_page: bool) -> Iterator[_Text]:
    """Yield blocks of prose or verse; `names` are the speakers of a play."""
    # `previous` is the last line before a block. "" means that a heading came before, which makes
    # another heading likely (a subtitle) and a paragraph in title case unlikely.
    left, previous, section, verse = margin(blocks), "" if title_page else ".", 0, False
    signed = signers(blocks)
    front: list[_Text] | None = [] if title_page else None  # the title page, if a heading or a new page follows

    def drop_front() -> None:
        while front:
            account.drop("title page", front.pop().block)

    for block in blocks:
        if not any(map(str.isalnum, "".join(block.lines))):
            account.drop("ornaments", block)
            continue
        name = plain_name(block)
        if name not in names and not (block.before == 1 and name in signed) and is_heading(block, previous):
            drop_front()
            account.drop("headings", block)
            section += previous != ""
            previous, verse = "", False
        elif is_table(block) or is_list(block):
            account.drop("tables and lists", block)
        else:
            previous = block.lines[-1]
            verse = is_verse(block, left) or (verse and _is_source(block, left))
            text = _Text(block, verse, section)
            # A title page: short lines, then a heading or a wide gap. Hold them until it is clear
            # which.
            if front is not None and is_short(block) and len(front) < _FRONT_BLOCKS:
                front.append(text)
                continue
            if front and max(front[-1].block.after, block.before) >= _NEW_PAGE:
                drop_front()
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
    # A poem in a novel is a quotation and breaks the prose. A book of poems has only verse.
    # Decide by section, so that a novel with one chapter of ballads keeps that chapter.
    balance: Counter[int] = Counter()  # verse characters minus prose characters, by section
    for text in texts:
        size = sum(map(len, text.block.lines))
        balance[text.section] += size if text.verse else -size
    poems = sum(balance.values()) > 0
    return (text for text in texts if poems or not text.verse or balance[text.section] > 0)

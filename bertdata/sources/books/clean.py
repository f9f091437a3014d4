"""Make paragraphs of the text of a book: drop its licence and apparatus, and unwrap its lines.

The steps, each in a file of its own: `gutenberg` (licence), `blocks` (lines -> blocks), `apparatus` (page numbers, pictures,
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
from .footnotes import drop_footnotes
from .gutenberg import Parts, header_field, is_credit, language_code, strip_licence
from .headings import is_heading, is_short, plain_name, signers, speakers
from .notation import drop_music, resolve_signs
from .unwrap import drop_marks, hyphenated, join_signatures, set_dashes, unwrap

__all__ = ["Reading", "clean", "clean_parts"]

_STEPS: dict[str, Callable[[list[Block]], Iterable[Block]]] = {  # what each leaves out
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
_FRONT = 40  # blocks after the header among which typists are thanked and printers named


class Reading(NamedTuple):
    """How books are read: what becomes of verse and footnotes (see `clean`), and their encoding, ``""`` to find it.

    `counts`, where given, gets what becomes of their text: see `Account`.
    """

    verse: str = "auto"
    encoding: str = ""
    footnotes: str = "drop"
    counts: Counter[str] | None = None


class _Text(NamedTuple):
    """A block of running text, whether it is verse, and how many headings stand before it."""

    block: Block
    verse: bool
    section: int


def clean(text: str, verse: str = "auto", footnotes: str = "drop") -> list[str]:
    r"""Return the paragraphs of a book: its prose, without licence, headings, contents, pictures and tables.

    A stanza is a paragraph.  `verse`: ``keep`` all of it; ``drop`` all of it; or ``auto``: keep a poem or a play, which
    is a book or a section that is mostly verse, and drop lines that are quoted in prose.
    `footnotes`: ``drop`` them and the marks that lead to them, or ``keep`` both.

    >>> clean("CHAPTER I\n\n\nThe kettle sang\nall day.\n\n[Illustration]\n\nNo one came.\n")
    ['The kettle sang all day.', 'No one came.']
    """
    return clean_parts(strip_licence(unify_newlines(text).split("\n")), Reading(verse, "", footnotes))


def clean_parts(parts: Parts, reading: Reading, characters: int = 0) -> list[str]:
    """Return the paragraphs of a book whose licence is set apart; it had so many `characters`, without whitespace."""
    account = Account(reading.counts, characters)
    body = account.lines("page numbers", drop_page_numbers(account.lines("licence", parts.body)))
    body = account.lines("marks", resolve_signs(body))
    blocks = list(split_unparted(list(split_blocks(body))))
    front = [block for block in blocks[:_FRONT] if not is_credit(block.lines[0].strip(" _["))]
    blocks = account.blocks("credits", front + blocks[_FRONT:])
    for name, step in _STEPS.items():
        if name != "footnotes" or reading.footnotes == "drop":
            blocks = account.blocks(name, list(step(blocks)))
    names = set() if reading.verse == "drop" else speakers(blocks)
    texts = list(_running_text(blocks, names, account, title_page=bool(parts.header)))
    kept = list(_choose(texts, reading.verse))
    account.blocks("verse", [text.block for text in kept])
    return account.kept(_paragraphs(kept, names, language_code(header_field(parts.header, "Language")), account))


def _paragraphs(kept: list[_Text], names: set[str], language: str, account: Account) -> list[str]:
    """Make paragraphs of blocks, without the hyphens and marks of the print."""
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
    """Yield the blocks that are prose or verse; `names` are those above the speeches of a play."""
    left, previous, section, verse = margin(blocks), "" if title_page else ".", 0, False
    signed = signers(blocks)
    front: list[_Text] | None = [] if title_page else None  # of the title page if a heading or a new page follows

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
            if front is not None and is_short(block):
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
    """Drop the verse that is not wanted."""
    if verse == "keep":
        return texts
    if verse == "drop":
        return (text for text in texts if not text.verse)
    balance: Counter[int] = Counter()  # characters of verse less those of prose, by section
    for text in texts:
        size = sum(map(len, text.block.lines))
        balance[text.section] += size if text.verse else -size
    poems = sum(balance.values()) > 0
    return (text for text in texts if poems or not text.verse or balance[text.section] > 0)

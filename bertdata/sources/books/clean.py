"""Turn the text of a book into paragraphs: drop its license and apparatus, and unwrap its lines.

The steps are in separate files: `gutenberg` (license), `blocks` (lines -> blocks), `apparatus` (page numbers, pictures,
contents, notes), `headings`, and here, from blocks to paragraphs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import groupby
from typing import NamedTuple

from ..lines import join_lines, one_line, unify_newlines
from .apparatus import drop_apparatus, drop_page_numbers
from .blocks import PART_GAP_LINES, Block, is_list, is_table, is_verse, margin, split_blocks, split_unparted
from .gutenberg import Parts, header_field, is_notice, language_code, strip_licence
from .headings import TABLES, is_heading, is_short, plain_name, speakers, title_case

_SPACED_DASHES = frozenset(("da", "de", "nl", "no", "sv"))  # spelling rules of Duden, Taalunie and the Nordic language councils
_BEFORE_MARK = re.compile(r"-- (?=[,;:.!?)\]])")
_EMPHASIS = re.compile(r"(?<!\w)_{1,2}(?=[^\s_])|(?<=[^\s_])_{1,2}(?!\w)")  # not the blank of "Mr. ____"
_OTHER_EMPHASIS = re.compile(r"(?<![\w=+#~])([=+#~])(?=[^\W\d_])([^=+#~]+)(?<=[^\s=+#~])\1(?![\w=+#~])")
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{1,6});")  # left over from an HTML version
_DASHES = ("--", "—", "–")
_MAX_CLOSE_CHARACTERS = 60  # of "I am, with esteem, your friend,"
_MAX_SIGNATURE_CHARACTERS = 60
_CLOSERS = "_*=)]’”\"' "
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
    blocks = list(split_unparted(split_blocks(list(drop_page_numbers(parts.body)))))
    blocks = [block for at, block in enumerate(blocks) if not is_notice("\n".join(block.lines[:9]), at < _FRONT_BLOCKS)]
    blocks = drop_apparatus(blocks, keep_notes=reading.footnotes == "keep")
    names = set() if reading.verse == "drop" else speakers(blocks)
    texts = list(_running_text(blocks, names, title_page=bool(parts.header)))
    texts = _without_title_page(texts) if parts.header else texts
    kept = list(_choose(texts, reading.verse))
    return _paragraphs(kept, names, language_code(header_field(parts.header, "Language")))


def _paragraphs(kept: list[_Text], names: set[str], language: str) -> list[str]:
    """Turn blocks into paragraphs, without the hyphens and marks of the printed page."""
    paragraphs: list[str] = []
    for is_poem, texts in groupby(kept, key=lambda text: text.verse):
        if is_poem and names:
            paragraphs.extend(line.strip() for text in texts for line in text.block.lines)
        elif is_poem:
            paragraphs.extend(" ".join(map(str.strip, text.block.lines)) for text in texts)
        else:
            paragraphs.extend(join_signatures([unwrap(text.block.lines) for text in texts]))
    return [text for paragraph in paragraphs if (text := one_line(set_dashes(drop_marks(paragraph), language)))]


def _running_text(blocks: list[Block], names: set[str], title_page: bool) -> Iterator[_Text]:
    """Yield blocks of prose or verse; `names` are the speakers of a play."""
    # `previous` is the last line before a block, "" after a heading: then another heading (a subtitle) is likely.
    left, previous, section, verse = margin(blocks), "" if title_page else ".", 0, False
    for block in blocks:
        if not any(map(str.isalnum, "".join(block.lines))):
            continue
        if plain_name(block) not in names and is_heading(block, previous):
            previous, section, verse = "", section + 1, False
        elif not is_table(block) and not is_list(block):
            previous = block.lines[-1]
            verse = is_verse(block, left) or (verse and _is_source(block, left))
            yield _Text(block, verse, section)


def _without_title_page(texts: list[_Text]) -> list[_Text]:
    """Drop the short lines at the beginning of a book if a heading or a wide gap follows them."""
    end = next((at for at, text in enumerate(texts) if not is_short(text.block)), 0)
    if not 0 < end <= _FRONT_BLOCKS:
        return texts
    is_page = max(texts[end - 1].block.after, texts[end].block.before) >= PART_GAP_LINES
    return [text for text in texts[:end] if text.section == texts[end].section and not is_page] + texts[end:]


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
        balance[text.section] += text.block.size if text.verse else -text.block.size
    poems = sum(balance.values()) > 0
    return (text for text in texts if poems or not text.verse or balance[text.section] > 0)


def unwrap(lines: list[str]) -> str:
    """Join the lines of a paragraph. A word goes on after a hyphen: ``Anglo-`` and ``Saxon``, ``1845-`` and ``1901``."""
    lines = [line.strip() for line in lines]
    parts: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        second = re.match(r"[\w-]+", after) if line.endswith("-") and line[-2:-1].isalnum() else None
        goes_on = second is not None and second.group().lower() not in TABLES["suspended"]
        parts.append(line if after and (goes_on or line.endswith(_DASHES) or after.startswith(_DASHES)) else line + "\n")
    return join_lines("".join(parts).split("\n"))


def drop_marks(paragraph: str) -> str:
    """Remove the marks for italics, bold and spaced letters in plain text, and decode entities."""
    if "&" in paragraph:
        paragraph = _ENTITY.sub(lambda entity: unescape(entity[0]), paragraph)
    if "_" in paragraph:
        paragraph = _EMPHASIS.sub("", paragraph)
    if "=" in paragraph or "+" in paragraph or "#" in paragraph or "~" in paragraph:
        paragraph = _OTHER_EMPHASIS.sub(r"\2", paragraph)
    return paragraph.strip()


def set_dashes(paragraph: str, language: str) -> str:
    """Put spaces around dashes if the language does, except before the punctuation that ends a sentence or clause.

    A transcriber's ``--`` has no spaces in any language, and a sentence that ends before one could not be split from the next.
    """
    if language not in _SPACED_DASHES or "--" not in paragraph:
        return paragraph
    return _BEFORE_MARK.sub("--", " -- ".join(map(str.strip, paragraph.split("--")))).replace("  ", " ").strip()


def join_signatures(paragraphs: list[str]) -> list[str]:
    """Join the close of a letter with the signature below it."""
    joined: list[str] = []
    for paragraph in paragraphs:
        if joined and _is_close(joined[-1]) and _is_signature(paragraph):
            joined[-1] += " " + paragraph
        else:
            joined.append(paragraph)
    return joined


def _is_close(text: str) -> bool:
    """Return True if a paragraph is the close of a letter, which a name follows."""
    if len(text) > _MAX_CLOSE_CHARACTERS or text.isupper():
        return False
    last = text.rstrip(_CLOSERS).rpartition(" ")[2]
    last = last if last.endswith("-") else last.replace("-", "")
    return text.endswith(",") or (last.isalpha() and (last.islower() or last == text))


def _is_signature(text: str) -> bool:
    """Return True if a paragraph can be a signature."""
    if len(text) > _MAX_SIGNATURE_CHARACTERS or any(map(str.isdigit, text)) or not text.lstrip("_\"“'‘")[:1].isupper():
        return False
    return text.rstrip(_CLOSERS)[-1:] not in ".!?:" or title_case(text)

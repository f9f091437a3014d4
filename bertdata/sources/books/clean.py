"""Turn the text of a book into paragraphs: drop its license and apparatus, and unwrap its lines.

The steps are in separate files: `gutenberg` (license), `blocks` (lines -> blocks), `apparatus` (page numbers, pictures,
contents, notes), `headings`, and here, from blocks to paragraphs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from itertools import groupby, pairwise
from typing import NamedTuple

from ..lines import join_lines, one_line, unify_newlines
from .apparatus import drop_apparatus, drop_page_numbers
from .blocks import Block, indent, is_list, is_table, is_verse, margin, split_blocks, split_unparted
from .gutenberg import Parts, header_field, is_notice, language_code, strip_licence
from .headings import TABLES, is_heading, plain_name, speakers, title_case

_SPACED_DASHES = frozenset(("da", "de", "nl", "no", "sv"))  # spelling rules of Duden, Taalunie and the Nordic language councils
_BEFORE_MARK = re.compile(r"-- (?=[,;:.!?)\]])")
_EMPHASIS = re.compile(r"(?<!\w)_{1,2}(?=[^\s_])|(?<=[^\s_])_{1,2}(?!\w)")  # not the blank of "Mr. ____"
_OTHER_EMPHASIS = re.compile(r"(?<![\w=+#~])([=+#~])(?=[^\W\d_])([^=+#~]+)(?<=[^\s=+#~])\1(?![\w=+#~])")
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{1,6});")  # left over from an HTML version
_DASHES = ("--", "—", "–")
_MAX_CLOSE_CHARACTERS = 60  # of "I am, with esteem, your friend,", and of the signature below it
_CLOSERS = "_*=)]’”\"' "
_FRONT_BLOCKS = 40  # blocks after the header that may credit transcribers and printers


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
    texts = _choose_verse(list(_running_text(blocks, names, title_page=bool(parts.header))), reading.verse)
    language = language_code(header_field(parts.header, "Language"))
    paragraphs: list[str] = []
    for is_poem, group in groupby(texts, key=lambda text: text.verse):
        lines = [text.block.lines for text in group]
        if is_poem:
            paragraphs += [line for stanza in lines for line in stanza] if names else map(" ".join, lines)
        else:
            paragraphs += _join_signatures(map(_unwrap, lines))
    return [text for paragraph in paragraphs if (text := one_line(_without_marks(paragraph, language)))]


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
            is_source = verse and len(block.lines) == 1 and indent(previous) > left  # the author of the poem above
            verse = is_verse(block, left) or is_source
            yield _Text(block, verse, section)


def _choose_verse(texts: list[_Text], verse: str) -> list[_Text]:
    """Drop unwanted verse."""
    # A poem in a novel is a quotation, but a novel with one chapter of ballads keeps that chapter: decide by section.
    balance: Counter[int] = Counter()  # verse characters minus prose characters, by section
    for text in texts:
        balance[text.section] += text.block.size if text.verse else -text.block.size
    keep = verse == "keep" or (verse == "auto" and sum(balance.values()) > 0)
    return [text for text in texts if keep or not text.verse or (verse == "auto" and balance[text.section] > 0)]


def _unwrap(lines: list[str]) -> str:
    """Join the lines of a paragraph. A word goes on after a hyphen: ``Anglo-`` and ``Saxon``, ``1845-`` and ``1901``."""
    text = ""
    for line, after in pairwise([*map(str.strip, lines), ""]):
        second = re.match(r"[\w-]+", after) if line.endswith("-") and line[-2:-1].isalnum() else None
        goes_on = second is not None and second.group().lower() not in TABLES["suspended"]
        text += line if after and (goes_on or line.endswith(_DASHES) or after.startswith(_DASHES)) else line + "\n"
    return join_lines(text.split("\n"))


def _without_marks(paragraph: str, language: str) -> str:
    """Remove the marks for italics and bold, decode entities, and put spaces around dashes if the language does.

    A transcriber's ``--`` has no spaces in any language, and a sentence that ends before one could not be split from the next.
    """
    if "&" in paragraph:
        paragraph = _ENTITY.sub(lambda entity: unescape(entity[0]), paragraph)
    if "_" in paragraph:
        paragraph = _EMPHASIS.sub("", paragraph)
    paragraph = _OTHER_EMPHASIS.sub(r"\2", paragraph)
    if language in _SPACED_DASHES and "--" in paragraph:
        paragraph = _BEFORE_MARK.sub("--", " -- ".join(map(str.strip, paragraph.split("--"))))
    return paragraph


def _join_signatures(paragraphs: Iterator[str]) -> list[str]:
    """Join the close of a letter with the signature below it."""
    joined: list[str] = []
    for text in paragraphs:
        if joined and max(len(joined[-1]), len(text)) <= _MAX_CLOSE_CHARACTERS and _is_close(joined[-1]) and _is_signature(text):
            joined[-1] += " " + text
        else:
            joined.append(text)
    return joined


def _is_close(text: str) -> bool:
    """Return True if a paragraph is the close of a letter, which a name follows."""
    last = text.rstrip(_CLOSERS).rpartition(" ")[2]
    last = last if last.endswith("-") else last.replace("-", "")
    return not text.isupper() and (text.endswith(",") or (last.isalpha() and (last.islower() or last == text)))


def _is_signature(text: str) -> bool:
    """Return True if a paragraph can be a signature."""
    if any(map(str.isdigit, text)) or not text.lstrip("_\"“'‘")[:1].isupper():
        return False
    return text.rstrip(_CLOSERS)[-1:] not in ".!?:" or title_case(text)

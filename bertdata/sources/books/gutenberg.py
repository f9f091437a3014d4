"""Remove the licenses of Project Gutenberg and its sisters: a book is the text between a header and a footer.

Thirty years of files mark the two in a dozen ways, listed in words.toml. The sites of Australia and Canada write a header of
fields without a marker at its end. In a file without any of this, every line belongs to the book.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from .blocks import split_blocks
from .headings import TABLES, words

_MARKER = re.compile(rf"(?P<start>{words('start')})|(?P<end>[\[*]{{0,4}}\s*(?:{words('end')}))", re.IGNORECASE)
_SISTER = re.compile(words("sisters"), re.IGNORECASE)
_HEADER_BLOCK = re.compile(words("header_blocks"), re.IGNORECASE | re.MULTILINE)
_NOTICE = re.compile(rf"[\W_]{{0,99}}(?:{words('notices')})", re.IGNORECASE | re.DOTALL)
_CREDIT = re.compile(rf"[\W_]{{0,99}}(?:{words('credits')})", re.IGNORECASE)
_MAX_LICENCE_LINES = 1000  # of a header or footer; the longest license has 400 lines
_MAX_HEADER_GAP = 3  # blocks of another kind inside a sister's header
_MAX_FOOTER_WORDS = 200  # words of a footer that does not mention Project Gutenberg, or once in 200 words
_FIELD_LINES = 60  # lines at the top of the header with its fields (Title:, Language:)


class Parts(NamedTuple):
    """The lines of a file: `header` is the license, `body` the book."""

    header: list[str]
    body: list[str]


def strip_licence(lines: list[str]) -> Parts:
    """Remove the license's header and footer, and licenses between the works of a file. Without a marker, everything is body."""
    marks = [(at, mark.lastgroup) for at, line in enumerate(lines) if (mark := _match_marker(line))]
    # The last start marker of the header counts, because old files have two: the "small print" and the title.
    header = 0
    for at, kind in marks:
        if at >= _MAX_LICENCE_LINES or (header and kind == "end"):
            break
        header = _after(lines, at) if kind == "start" else header
    at = header = header or _sister_header(lines)
    # An end marker ends the book, or the work, only if nothing but a license follows, because a volume can end before the book.
    body: list[str] = []
    for (place, kind), (following, next_kind) in pairwise([*marks, (len(lines), "start")]):
        if place >= at:
            body += lines[at:place]
            is_licence = kind == "end" and next_kind == "start" and _is_footer(lines[place:following])
            at = _after(lines, following if is_licence else place)
    return Parts(lines[:header], body + lines[at:])


def _match_marker(line: str) -> re.Match[str] | None:
    """Match a marker; a marker begins with a capital, unlike prose such as "end of Project Gutenberg's list"."""
    line = line.strip()
    return _MARKER.match(line) if line.lstrip("[* ")[:1].isupper() else None


def _after(lines: list[str], marker: int) -> int:
    """Return the line after a marker. A long title continues on the next lines."""
    after = marker + 1
    if marker < len(lines) and "***" not in lines[marker].strip()[3:]:
        while after < len(lines) and lines[after].strip():
            after += 1
    return after


def _sister_header(lines: list[str]) -> int:
    """Return the length of a header without a start marker, which ends with the last of its blocks."""
    at = end = gap = 0
    for block in split_blocks(lines[:_MAX_LICENCE_LINES]):
        at += block.before + len(block.lines)
        end, gap = (at, 0) if _HEADER_BLOCK.search("\n".join(block.lines)) else (end, gap + 1)
        if gap > _MAX_HEADER_GAP:
            break
    return end if _SISTER.search("\n".join(lines[:end])) else 0


def _is_footer(lines: list[str]) -> bool:
    """Return True if the lines from an end marker on are a license, not more of the book."""
    text = "\n".join(lines).lower()
    mentions = text.count("gutenberg") + text.count("licen")
    return len(lines) <= _MAX_LICENCE_LINES and len(text.split()) <= _MAX_FOOTER_WORDS * max(1, mentions)


def header_field(header: list[str], name: str) -> str:
    """Return a field of the header with its continuation lines, or ``""``."""
    fields = "\n".join(header[:_FIELD_LINES])
    field = re.search(rf"^{name}:(.*(?:\n {{3}}[ \t]*\S.*){{0,3}})", fields, re.MULTILINE | re.IGNORECASE)
    return " ".join(field[1].split()) if field else ""


def language_code(name: str) -> str:
    """Return the ISO 639-1 code of the first language named, or ``""``."""
    code: str = TABLES["languages"].get(re.split("[^A-Za-z]", name.strip())[0].lower(), "")
    return code


def is_notice(paragraph: str, in_front: bool) -> bool:
    """Return True if a paragraph is about the file, or, `in_front` of a book, credits transcribers or is the printer's notice."""
    return _NOTICE.match(paragraph) is not None or (in_front and _CREDIT.match(paragraph) is not None)

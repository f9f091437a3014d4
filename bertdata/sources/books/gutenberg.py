"""Remove the licenses of Project Gutenberg and its sisters: a book is the text between a header and a footer.

Thirty years of files mark the two in a dozen ways. The sites of Australia and Canada write a header of fields without a mark at
its end. In a file without any of this, every line belongs to the book.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from .blocks import filled_runs
from .headings import TABLES

_GUTENBERG = r"(?:TH(?:E|IS)\s+)?(?:PROJE[CK]T\w*\s+GUTENBERG|PG\b)"
_START = re.compile(
    rf"""(?:
      \*{{1,3}}\s*(?:START|BEGIN(?:NING)?)\s+OF\s+{_GUTENBERG}       # *** START OF THIS PROJECT GUTENBERG EBOOK X ***
    | \*{{1,3}}\s*END\s{{0,9}}(?:\*|OF)?\s{{0,9}}\*{{0,3}}\s{{0,9}}(?:THE\s+)?SMALL\s+PRINT  # *END*THE SMALL PRINT! FOR …
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_END = re.compile(
    rf"""[\[*]{{0,4}}\s*(?:
      (?:THIS\s+IS\s+)?(?:THE\s+)?END\s+OF\s+{_GUTENBERG}        # *** END OF …, and "End of Project Gutenberg's X"
    | END\s+OF\s+(?:TH(?:E|IS)\s+)?E-?(?:TEXT|BOOK)\b           # End of this Etext of X
    | (?:ENDE\s+(?:DIESES|DES)|FIN\s+(?:DU|DE\s+CE)|EINDE\s+VAN\s+(?:DIT|HET)|FINE\s+D\S+\s*\w*|FIN\s+DEL?)
      \s+PRO[IJY]E[CK]?T\w*\s+GUTENBERG
    | (?<=\[)(?:THE\s+)?END\s+OF\b[^\[\]]{{1,200}}\]?$          # [End of The Weir, by A. Miller]
    | THIS\s+SITE\s+IS\s+FULL\s+OF\s+FREE\s+E-?BOOKS
    | PROJECT\s+GUTENBERG(?:\s+OF)?\s+AUSTRALIA\W*$
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_SISTER = re.compile(
    r"(?:gutenberg (?:of )?(?:australia|canada)|(?:proofreaders canada|faded ?page) e-?(?:book|text))\b", re.IGNORECASE
)
_SISTER_LINES = 12  # filled lines at the top of a file in which a sister names herself
_NOTICE = re.compile(  # a block of a sister's header
    r"gutenberg|faded ?page|pgdpcanada|public domain|copyright|made available at no cost|no restrictions|-{20}"
    r"|^\W{0,9}(?:title|author|editor|translator|illustrator|e-?book|e-?text|language|edition|character set|release date"
    r"|(?:place and )?date (?:of|first|last|most)|most recent|produced by)\b[^:\n]{0,60}[:#]",
    re.IGNORECASE | re.MULTILINE,
)
_MAX_HEADER_GAP = 3  # blocks without a notice inside a sister's header
_INSIDE = re.compile(  # a notice between the volumes or works of a file
    r"\W{0,99}(?:(?:the )?project gutenberg(?:['’]s)? e-?(?:text|book)s? (?:of|#|\*|is)|this (?:is the )?(?:e-?text|e-?book"
    r"|electronic (?:version|text|edition))\b.{0,200}\bgutenberg|project gutenberg['’]s .{1,200}, (?:by|volume)\b)",
    re.IGNORECASE | re.DOTALL,
)
_HEAD_LINES = 1000  # maximum length of a header; a start marker further down belongs to the book
_FOOT_LINES = 1000  # the same for the footer; the longest license has 400 lines
_MAX_FOOTER_WORDS = 200  # words of a footer that does not mention Project Gutenberg, or once in 200 words
_FIELD_LINES = 60  # lines at the top of the header with its fields (Title:, Language:)
_CREDIT = re.compile(
    r"""[\[(]?\s{0,99}(?:
      (?:(?:this|the)\s+)?(?:project\s+gutenberg\s+)?(?:(?:e-?text|e-?book|file|text|html\s+version|online\s+edition)\s*)?
      (?:(?:was|has\s+been|is)\s+)?(?:first\s+|originally\s+)?
      (?:produced|prepared|transcribed|scanned|digiti[sz]ed|typed|proofed|proofread|created|provided|converted|compiled)
      (?:\s+(?:and|&)\s+\w+|,\s*\w+)*\s*(?:by|from|with|for|in)\b
    | (?:html|e-?text|e-?book|ocr|scan|proof\w*)\s+(?:version\s+|text\s+|file\s+)?by\b
    | copyright\b | ©\s*\d | all\s+rights\s+reserved | entered\s+according\s+to\s+act | (?:re)?printed\s+(?:in|by)\b
    | (?:first\s+)?published\s+(?:in|by|\w+,?\s+\d{4})\b | smashwords\s+edition\b | this\s+e-?book\s+is\s+licensed\b
    | note:\s+project\s+gutenberg\b | updated\s+editions?\s+will\b | etext\s+editor\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)


class Parts(NamedTuple):
    """The lines of a file: `header` is the license, `body` the book."""

    header: list[str]
    body: list[str]


def strip_licence(lines: list[str]) -> Parts:
    """Remove the license's header and footer, and licenses between the works of a file. Without a marker, everything is body."""
    # The last start marker counts, because old files have two: the "small print" and the title.
    start = 0
    for at, line in enumerate(lines[:_HEAD_LINES]):
        if _START.match(line.strip()):
            start = _after(lines, at)
        elif start and _END.match(line.strip()):  # of the first work of several
            break
    start = start or _sister_header(lines)
    # The last end marker counts, because a volume can end before the book does. What follows a marker without being a license
    # belongs to the book.
    end = len(lines)
    for at in range(len(lines) - 1, max(start, len(lines) - _FOOT_LINES) - 1, -1):
        if _END.match(lines[at].strip()):
            end = at if _is_footer(lines[at:]) else end
            break
    body = lines[start:end]
    return Parts(lines[:start], list(_without_notices(body)) if start or end < len(lines) else body)


def _after(lines: list[str], marker: int) -> int:
    """Return the line after a start marker. A long title continues on the next lines."""
    after = marker + 1
    if "***" not in lines[marker].strip()[3:]:
        while after < len(lines) and lines[after].strip():
            after += 1
    return after


def _sister_header(lines: list[str]) -> int:
    """Return the length of a header without a start marker, which ends with the last of its notices."""
    head = lines[:_HEAD_LINES]
    if not any(map(_SISTER.search, [line for line in head if line.strip()][:_SISTER_LINES])):
        return 0
    end = gap = 0
    for start, stop in filled_runs(head):
        end, gap = (stop, 0) if _NOTICE.search("\n".join(lines[start:stop])) else (end, gap + 1)
        if gap > _MAX_HEADER_GAP:
            break
    return end


def _is_footer(lines: list[str]) -> bool:
    """Return True if the lines from an end marker on are a license, not more of the book."""
    if any(line.lstrip()[:1] == "*" and _START.match(line.strip()) for line in lines):
        return False
    words = [word for line in lines for word in line.split()]
    mentions = sum("gutenberg" in word.lower() or "licen" in word.lower() for word in words)
    return len(words) <= _MAX_FOOTER_WORDS * max(1, mentions)


def _without_notices(lines: list[str]) -> Iterator[str]:
    """Drop the licenses between the works of a file: from an end marker to a start marker, and blocks about the project."""
    starts = [number for number, line in enumerate(lines) if line.lstrip()[:1] == "*" and _START.match(line.strip())]
    at = 0
    for start, stop in filled_runs(lines):
        if start < at:
            continue
        yield from lines[at:start]
        at, first = stop, lines[start].strip()
        if _END.match(first):
            next_start = bisect_left(starts, at)
            if next_start < len(starts) and starts[next_start] < at + _FOOT_LINES and _is_footer(lines[at : starts[next_start]]):
                at = _after(lines, starts[next_start])
        elif not _START.match(first) and not _is_notice(lines[start:stop]):
            yield from lines[start:stop]
    yield from lines[at:]


def _is_notice(block: list[str]) -> bool:
    text = "\n".join(block[:60])
    return (text.startswith("<<") or _INSIDE.match(text) is not None) and "gutenberg" in text.lower()


def header_field(header: list[str], name: str) -> str:
    """Return a field of the header with its continuation lines, or ``""``."""
    fields = "\n".join(header[:_FIELD_LINES])
    field = re.search(rf"^{name}:(.*(?:\n {{3}}[ \t]*\S.*){{0,3}})", fields, re.MULTILINE | re.IGNORECASE)
    return " ".join(field[1].split()) if field else ""


def language_code(name: str) -> str:
    """Return the ISO 639-1 code of the first language named, or ``""``."""
    code: str = TABLES["languages"].get(re.split("[^A-Za-z]", name.strip())[0].lower(), "")
    return code


def is_credit(paragraph: str) -> bool:
    """Return True if a paragraph at the start of a book credits its transcribers, or is the printer's notice."""
    return _CREDIT.match(paragraph) is not None

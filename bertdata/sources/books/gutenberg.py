"""Remove Project Gutenberg's license: the book is the text between its header and its footer.

Thirty years of files mark the two in a dozen ways.  In a file without markers, every line belongs to the book.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Parts", "header_field", "is_credit", "language_code", "strip_licence"]

_GUTENBERG = r"(?:TH(?:E|IS)\s+)?(?:PROJE[CK]T\w*\s+GUTENBERG|PG\b)"
_START = re.compile(
    rf"""(?:
      \*{{1,3}}\s*(?:START|BEGIN(?:NING)?)\s+OF\s+{_GUTENBERG}       # *** START OF THIS PROJECT GUTENBERG EBOOK X ***
    | \*{{1,3}}\s*END\s{{0,9}}(?:\*|OF)?\s{{0,9}}\*{{0,3}}\s{{0,9}}(?:THE\s+)?SMALL\s+PRINT  # *END*THE SMALL PRINT! FOR …
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_END = re.compile(
    rf"""\**\s*(?:
      END\s+OF\s+{_GUTENBERG}                                   # *** END OF …, and "End of Project Gutenberg's X"
    | (?:ENDE\s+(?:DIESES|DES)|FIN\s+(?:DU|DE\s+CE)|EINDE\s+VAN\s+(?:DIT|HET)|FINE\s+D\S+\s*\w*|FIN\s+DEL?)
      \s+PRO[IJY]E[CK]?T\w*\s+GUTENBERG
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_END_STARTS = frozenset("*EeFf")
_HEAD_LINES = 1000  # maximum length of a header; a start marker further down belongs to the book
_FOOT_LINES = 1000  # the same for the footer; the longest license has 400 lines
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
_LANGUAGES = {  # value of the header's Language: field -> ISO 639-1
    "afrikaans": "af", "arabic": "ar", "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "czech": "cs",
    "danish": "da", "dutch": "nl", "english": "en", "esperanto": "eo", "estonian": "et", "farsi": "fa",
    "finnish": "fi", "french": "fr", "galician": "gl", "german": "de", "greek": "el", "hebrew": "he",
    "hungarian": "hu", "icelandic": "is", "interlingua": "ia", "irish": "ga", "italian": "it",
    "japanese": "ja", "korean": "ko", "latin": "la", "lithuanian": "lt", "maori": "mi", "norwegian": "no",
    "occitan": "oc", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru", "sanskrit": "sa",
    "serbian": "sr", "slovenian": "sl", "spanish": "es", "swedish": "sv", "tagalog": "tl", "telugu": "te",
    "welsh": "cy", "yiddish": "yi",
}  # fmt: skip


class Parts(NamedTuple):
    """The lines of a file: `header` is the license, `body` the book."""

    header: list[str]
    body: list[str]


def strip_licence(lines: list[str]) -> Parts:
    """Remove the license's header and footer; without a marker, everything is body.

    >>> strip_licence(["Title: T", "*** START OF THIS PROJECT GUTENBERG EBOOK T ***", "Tea.", "End of Project Gutenberg's T"])
    Parts(header=['Title: T', '*** START OF THIS PROJECT GUTENBERG EBOOK T ***'], body=['Tea.'])
    """
    # The last start marker counts, because old files have two: the "small print" and the title.
    start = 0
    for number, line in enumerate(lines[:_HEAD_LINES]):
        if _START.match(line.strip()):
            start = number + 1
            if "***" not in line.strip()[3:]:  # a long title continues on the next line
                while start < len(lines) and lines[start].strip():
                    start += 1
    last = range(max(start, len(lines) - _FOOT_LINES), len(lines))  # an end further up is followed by more of the book
    end = next((number for number in last if _is_end(lines[number].strip())), len(lines))
    return Parts(lines[:start], lines[start:end])


def _is_end(line: str) -> bool:
    return line[:1] in _END_STARTS and _END.match(line) is not None


def header_field(header: list[str], name: str) -> str:
    """Return a field of the header with its continuation lines, or ``""``.

    >>> header_field(["Title: Tea", "       A History", "", "Language: English"], "Title")
    'Tea A History'
    """
    for number, line in enumerate(header[:_FIELD_LINES]):
        if line.lower().startswith(f"{name.lower()}:"):
            parts = [line[len(name) + 1 :].strip()]
            for more in header[number + 1 : number + 4]:
                if not more.startswith("   ") or not more.strip():
                    break
                parts.append(more.strip())
            return " ".join(parts)
    return ""


def language_code(name: str) -> str:
    """Return the ISO 639-1 code of the first language named, or ``""``.

    >>> language_code("French"), language_code("English and Latin"), language_code("Klingon")
    ('fr', 'en', '')
    """
    word = re.match(r"[A-Za-z]*", name.strip())
    return _LANGUAGES.get(word.group().lower(), "") if word else ""


def is_credit(paragraph: str) -> bool:
    """Return True if a paragraph at the start of a book credits its transcribers, or is the printer's notice.

    >>> is_credit("Produced by A. Reader and the Online Team"), is_credit("E-text prepared by A. Reader")
    (True, True)
    """
    return _CREDIT.match(paragraph) is not None

"""Remove front and back matter: indexes, publishers' catalogues, pages about the author."""

from __future__ import annotations

import re

from ..lines import fold_case
from .blocks import Block, is_prose
from .headings import is_chapter

__all__ = [
    "drop_about_author",
    "drop_advertisements",
    "drop_index",
    "is_about_author",
    "is_advertisement",
    "is_imprint",
    "is_index",
]

_PAGES = r"_?[\[(]?_?(?:[ivxlc]{1,5}\.?\s?)?\d{1,4}_?(?:\s?(?:ff?|n|sqq?|note)\b\.?)?[\])]?_?"
_BETWEEN_PAGES = r"(?:\s*[-–—,;&.]+\s*|\s+(?:and|to|et|und|en|y)\s+)"
_REFERENCE = re.compile(  # one or several pages at the end of an entry
    rf"(?:[,;:.]|\s\s|\.\s?\.|[\w\])’'\"”]\s)\s*(?:pp?\.\s*|vol\.\s*)?{_PAGES}(?:{_BETWEEN_PAGES}{_PAGES})*[.,;]?$"
)
_PAGE_AT_END = re.compile(r"\D\d{1,4}(?!\d)_?(?:\s?(?:ff?|n|sqq?|note)\b\.?)?[\])]?_?[.,;]?$")  # the end of a `_REFERENCE`
_PAGE_TAIL = 16  # characters at the end of a line that contain the first digit of the page number
_SEE = re.compile(  # a cross-reference to another entry, after `fold_case`
    r"[svz](?<![^\s(_].)(?:(?<=s)(?:ee|iehe|\.|e)|(?<=v)(?:oir|éase|edi)|(?<=z)ie)[\s_]+(?:(?:also|aussi|auch|ook)\b)?_?\s*[\w“\"]"
)
_DATE = re.compile(
    r"\b(?:1[0-9]|20)\d\d\W*$"
    r"|(?:jan|feb|mar|apr|ma[iy]|jui?n|jul|aug|ao|sep|o[ck]t|nov|de[cz])\w*\.?,?\s+\d{1,4}\W*$",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\W{0,99}[A-ZÀ-Þ](?:[ ,&-]+[A-Z])*\W{0,99}")
_INDEX = re.compile(  # after `fold_case`
    r"[\W_]{0,99}(?:(?:(?:general|alphabetical|analytical|subject|author|topical)\s+)?index(?:\s+(?:of|to|des|de|der)\b.{0,50})?"
    r"|(?:sach|namen|personen|orts|zaak|zaken|namen?-?|sak-?)?register|(?:índice|indice)\s+(?:alfab|anal|de nom|dei nom).{0,30}"
    r"|table\s+(?:alphabétique|analytique).{0,30}|hakemisto)[\W_]{0,99}"
)
_MIN_INDEX_ENTRIES = 8  # consecutive entries that make an index without a heading
_MIN_ENTRY_SHARE = 0.5  # minimum share of lines with a page number or a cross-reference
_END = re.compile(  # after `fold_case`
    r"[\W_]{0,99}(?:the\s+end|finis|end\s+of\s+(?:the\s+)?(?:book|story|volume|vol\.?)\b.{0,40}|fin|ende|einde|fine|slut|loppu|koniec"
    r"|конец)[\W_]{0,99}"
)
_LARGEST_REST = 0.25  # maximum share of a book's characters after its end mark
_AUTHOR = re.compile(  # after `fold_case`
    r"[\W_]{0,99}(?:about\s+the\s+(?:author|writer|illustrator)s?|(?:other\s+)?(?:books|works|novels|stories|titles)\s+by\b.{0,50}"
    r"|also\s+by\b.{0,50}|by\s+the\s+same\s+author|(?:über|ueber)\s+den\s+autor|über\s+die\s+autorin|à\s+propos\s+de\s+l['’]aut\w+"
    r"|du\s+même\s+auteur|over\s+de\s+(?:auteur|schrijver)|van\s+denzelfden\s+schrijver|sobre\s+(?:el\s+autor|la\s+autora|o\s+autor)"
    r"|del\s+mismo\s+autor|sull['’]autore|dello\s+stesso\s+autore|om\s+författaren|von\s+demselben\s+verfasser)[\W_]{0,99}"
)
_CATALOGUE_WORDS = re.compile(  # wording of publishers' catalogues
    r"\bby the (?:same )?author\b|\bauthor of\b|\b(?:works|books|novels) (?:by|of)\b|\bpublish(?:ers?|ed by|ing)\b|\bprice\b"
    r"|[$£]\s?\d|\b\d+s\.(?:\s?\d+d\.)?|\bcloth\b|\b(?:12|8|16|18|24)mo\b|\b8vo\b|\bpost(?:paid|age)\b|\bnew edition\b"
    r"|\bcatalogue\b|\bpreis\b|\bgeb\.|\bmark\b.{0,12}\bpf|\bfr(?:ancs)?\.|\bprijs\b|\bingenaaid\b|\bprix\b|\bbroché\b|\badvertis"
    r"|\bcirculat|\bbookseller|\bat all book",
    re.IGNORECASE,
)
_IMPRINT = re.compile(r"\bISBN\b|all rights reserved|copyright\s*(?:©|\(c\)|\d)|©\s*\d|smashwords edition", re.IGNORECASE)
_BEHIND = re.compile(
    r"[\W_]{0,99}(?:appendix|notes?|afterword|epilogue|postscript|glossary|anhang|nachwort|anmerkungen|annexe|appendice|bijlage)\b",
    re.IGNORECASE,
)
_WIDE_GAP = re.compile(r"\s{3,}")
_TAIL_CHARACTERS = 200  # characters at the end of a line that contain its page numbers
_FRONT_BLOCKS = 60  # blocks
_PART_GAP_LINES = 3  # blank lines before a new part of the book


def _entries(block: Block) -> tuple[int, int]:
    """Count the lines of a block that end like an index entry, and all its lines except continuation lines."""
    entries = 0
    for line in block.lines:
        text = line.strip()
        entries += _ends_with_page(text) or (len(text) < 70 and _SEE.search(fold_case(text)) is not None)
    return entries, len(block.lines)


def _ends_with_page(text: str) -> bool:
    # Most lines do not end with a number. This cheap test spares them the expensive pattern.
    if not _PAGE_AT_END.search(text, max(0, len(text) - _PAGE_TAIL)):
        return False
    tail = _WIDE_GAP.sub("  ", text[-_TAIL_CHARACTERS:])  # avoids quadratic time on wide gaps
    return _REFERENCE.search(tail) is not None and not _DATE.search(tail)


def _is_entry(block: Block) -> bool:
    """Return True if a block contains index entries.

    >>> _is_entry(Block(["Banjo, [20]"], 1, 1)), _is_entry(Block(["He left in May, 1850"], 1, 1))
    (True, False)
    """
    entries, lines = _entries(block)
    return entries > 0 and entries >= _MIN_ENTRY_SHARE * lines - 1 and not _is_running(block)


def _is_running(block: Block) -> bool:
    """Return True if a block contains sentences."""
    entries, lines = _entries(block)
    hanging = any(line.startswith(" ") for line in block.lines[1:])
    return is_prose(block) and (entries < _MIN_ENTRY_SHARE * lines or (entries < lines and not hanging))


def _is_index_heading(block: Block) -> bool:
    return len(block.lines) <= 2 and _INDEX.fullmatch(fold_case(" ".join(block.lines))) is not None


def is_index(block: Block) -> bool:
    """Return True if a block is the heading of an index, or contains index entries."""
    return _is_index_heading(block) or _is_entry(block)


def is_about_author(block: Block) -> bool:
    """Return True if a block is the heading of a page about the author or other books."""
    return len(block.lines) <= 2 and _AUTHOR.fullmatch(fold_case(" ".join(map(str.strip, block.lines)))) is not None


def is_advertisement(block: Block) -> bool:
    """Return True if a block has the words of a publisher's catalogue."""
    return any(map(_CATALOGUE_WORDS.search, block.lines))


def is_imprint(line: str) -> bool:
    """Return True if a line has the words of a copyright page."""
    return _IMPRINT.search(line) is not None


def drop_index(blocks: list[Block]) -> list[Block]:
    """Remove indexes: the blocks under an index heading, and runs of entries without a heading.

    >>> entries = [Block([f"Tea, {page}"], 1, 1) for page in range(20, 40)]
    >>> [block.lines[0] for block in drop_index([Block(["Tea is hot."], 1, 1), *entries, Block(["It ends."], 2, 1)])]
    ['Tea is hot.', 'It ends.']
    """
    kept: list[Block] = []
    at = 0
    while at < len(blocks):
        # Under a heading, two entries are enough. Without one, only a long run of entries is an
        # index, because a few lines that end with a number also occur in letters and accounts.
        headed = _is_index_heading(blocks[at])
        if headed or _is_entry(blocks[at]):
            end, entries = _end_of_run(blocks, at + headed)
            if entries >= (2 if headed else _MIN_INDEX_ENTRIES):
                at = end
                continue
        kept.append(blocks[at])
        at += 1
    return kept


def _end_of_run(blocks: list[Block], start: int) -> tuple[int, int]:
    """Return the index of the first block after a run of entries that begins at `start`, and the number of entries."""
    end = at = start
    entries = lines = prose = 0
    while at < len(blocks):
        block = blocks[at]
        if is_chapter(block.lines[0]) or _is_running(block):
            break
        paged, count = _entries(block)
        if _is_entry(block):
            entries, lines, end, prose = entries + paged, lines + count, at + 1, 0
        # A single letter ("B") is a subheading of an index. Up to three other blocks in a row may
        # be entries without a page.
        elif not (len(block.lines) == 1 and _LETTER.fullmatch(block.lines[0])):
            prose += 1
            if prose > 3:
                break
        at += 1
    return (end, entries) if entries >= 0.4 * lines else (start, 0)


def drop_advertisements(blocks: list[Block]) -> list[Block]:
    """Remove the publisher's catalogue after the end of the book."""
    sizes = [sum(map(len, block.lines)) for block in blocks]
    # Only what follows "THE END" can be a catalogue. It must be short, compared with the book,
    # without chapters or an appendix, and with the words of a catalogue.
    end = max(
        (at for at, block in enumerate(blocks) if len(block.lines) == 1 and _END.fullmatch(fold_case(block.lines[0]))), default=-1
    )
    rest = blocks[end + 1 :]
    if end < 0 or not rest or sum(sizes[end + 1 :]) > _LARGEST_REST * sum(sizes):
        return blocks
    if any(is_chapter(block.lines[0]) or _BEHIND.match(block.lines[0]) for block in rest):
        return blocks
    return blocks[: end + 1] if any(map(is_advertisement, rest)) else blocks


def drop_about_author(blocks: list[Block]) -> list[Block]:
    """Remove pages about the author and other books, under a heading near either end of the book, up to the next part."""
    kept: list[Block] = []
    inside = False
    for at, block in enumerate(blocks):
        outer = at < _FRONT_BLOCKS or at >= 0.8 * len(blocks)
        if outer and is_about_author(block):
            inside = True
        elif inside and (is_chapter(block.lines[0]) or (block.before >= _PART_GAP_LINES and at < 0.8 * len(blocks))):
            inside = False
        if not inside:
            kept.append(block)
    return kept

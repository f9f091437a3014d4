"""A book is one document: decoded, its licence and its apparatus dropped, its lines unwrapped into paragraphs.

The steps, each in a file of its own: `encodings` (bytes -> text), `gutenberg` (licence), `blocks` (lines -> blocks),
`apparatus` (page numbers, pictures, contents, notes), `headings`, and `unwrap` (blocks -> paragraphs).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ..records import Piece, Reject
from .apparatus import drop_contents, drop_notes, drop_page_numbers, drop_pictures
from .blocks import Block, blocks, is_list, is_table, is_verse, margin, split_unparted
from .encodings import BinaryData, decode
from .gutenberg import Parts, header_field, is_credit, language_code, strip_licence
from .headings import is_heading
from .lines import unify_newlines
from .unwrap import hyphenated, join_signatures, unwrap

__all__ = ["Book", "clean", "read_books", "read_paragraphs"]

_FRONT = 40  # blocks after the header among which typists are thanked and printers named


class Book(NamedTuple):
    """A book: title and language as its licence header gives them, else the file's name and ``""``."""

    id: str
    title: str
    language: str
    paragraphs: list[str]


def read_books(pieces: Iterable[Piece], *, max_bytes: int) -> Iterator[Book | Reject]:
    """Read one book per piece; a file that holds none comes out as a Reject.

    Reasons: ``empty``, ``too-large`` (more than `max_bytes`), ``binary``, ``undecodable``, ``unreadable``.
    """
    for piece in pieces:
        yield _read_book(piece, max_bytes)


def read_paragraphs(path: str) -> list[str]:
    """Read the paragraphs of a book's ``.txt`` file."""
    return clean(decode(Path(path).read_bytes()))


def clean(text: str) -> list[str]:
    r"""Return the paragraphs of a book: its prose, without licence, headings, contents, pictures, verse and tables.

    A book that is mostly verse keeps it, a line a paragraph.  Footnotes stay.

    >>> clean("CHAPTER I\n\n\nThe kettle sang\nall day.\n\n[Illustration]\n\nNo one came.\n")
    ['The kettle sang all day.', 'No one came.']
    """
    return _clean(strip_licence(unify_newlines(text).split("\n")))


def _read_book(piece: Piece, max_bytes: int) -> Book | Reject:
    name = PurePosixPath(piece.name)
    id, where = f"books:{name.with_suffix('')}", piece.name
    try:
        with open(piece.path, "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        return Reject(id, "unreadable", f"{where}: {error.strerror or error}")
    if len(data) > max_bytes:
        return Reject(id, "too-large", f"{where}: more than {max_bytes} bytes")
    try:
        parts = strip_licence(unify_newlines(decode(data)).split("\n"))
    except BinaryData as error:
        return Reject(id, "binary", f"{where}: {error}")
    except ValueError as error:
        return Reject(id, "undecodable", f"{where}: {error}")
    title = header_field(parts.header, "Title") or name.stem
    paragraphs = _clean(parts)
    if not paragraphs:
        return Reject(id, "empty", f"{where}: no paragraph of text")
    return Book(id, title, language_code(header_field(parts.header, "Language")), paragraphs)


def _clean(parts: Parts) -> list[str]:
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

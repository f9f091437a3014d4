"""A book is one document: decoded, its licence and its apparatus dropped, its lines unwrapped into paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from ...records import Piece, Reject
from ..encodings import BinaryData, decode
from ..lines import unify_newlines
from .clean import clean_parts
from .gutenberg import header_field, language_code, strip_licence

__all__ = ["Book", "read_books"]


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
    paragraphs = clean_parts(parts)
    if not paragraphs:
        return Reject(id, "empty", f"{where}: no paragraph of text")
    return Book(id, title, language_code(header_field(parts.header, "Language")), paragraphs)

"""Read books in every format: one per file, or many in an archive or a table.

A book is one document: the text is decoded, license and apparatus are dropped, and lines are unwrapped into paragraphs.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from ...config.input_kinds import ARCHIVES
from ...errors import UsageError
from ...records import Drop, FileRange, Prose, Reject
from ...storage.files import open_file
from ...storage.problems import storage_errors
from .. import archives
from ..encodings import decode_or_reject
from ..lines import count_lines, unify_newlines
from ..tables import Columns, is_table, read_table, split_table
from .clean import Reading, clean_parts
from .epub import Unreadable, read_epub
from .gutenberg import Parts, header_field, language_code, strip_licence

LICENCE = "as each book states"
_MAX_LINES = 400_000  # per book; Shakespeare's complete works have half as many
_FREE_LINES = 20_000  # allowed for any book, even if they are short
_MIN_LINE_CHARACTERS = 16  # mean of the other lines; a line of verse has 30
_BOOK_SUFFIXES = (".txt", ".epub")  # suffixes of books in an archive
_MAX_BOOK_BYTES = 64 << 20  # maximum bytes for `read_book`; the longest books of Project Gutenberg have 30 MB


def split(path: str, length: int, target: int, columns: Columns) -> list[tuple[int, int]]:
    """Cut a file of `length` bytes into ranges of about `target` bytes, if its format allows it."""
    if is_table(path):
        return split_table(path, length, target, columns)
    return archives.cut(path, length, target)


def read_books(part: FileRange, columns: Columns, reading: Reading, max_bytes: int) -> Iterator[Prose | Drop | Reject]:
    """Read the books of a range that `split` returned. Yield a Reject for an unreadable book; raise disk and store errors.

    A book has at most `max_bytes` bytes, also when unpacked. An empty file is a drop.
    Reasons: ``too-large``, ``undecodable``, and those of `read_epub`, `read_archive` and `read_table`.
    """
    if part.end == 0:
        yield Drop("empty", _id(part.name)[0])
    elif is_table(part.name):
        for row in read_table(part, "books", columns, max_bytes, encoding=reading.encoding):
            if isinstance(row, Drop | Reject):
                yield row
            else:
                yield _from_text(row.id, row.id, row.text, reading, row.title, row.language, row.url)
    elif part.name.lower().endswith(ARCHIVES):
        for member in archives.read_archive(part, "books", _BOOK_SUFFIXES, max_bytes):
            if isinstance(member, archives.Member):
                yield from _from_file(member.name, io.BytesIO(member.data), reading, max_bytes)
            else:
                yield member
    else:
        with open_file(part.path) as file:
            yield from _from_file(part.name, file, reading, max_bytes)


def read_book(path: str | Path, *, verse: str = "auto", encoding: str = "", footnotes: str = "keep") -> list[str]:
    """Read the paragraphs of one book, a ``.txt`` or ``.epub`` file; return its prose, [] if it has none.

    verse and footnotes: see `clean`.  encoding: of a text file; ``""`` to detect it.
    Raise UsageError if the file is not a text file or an EPUB, StorageError if it cannot be opened.
    """
    with storage_errors(f"cannot read {path}"), open_file(str(path)) as file:
        *missing, book = _from_file(Path(path).name, file, Reading(verse, encoding, footnotes), _MAX_BOOK_BYTES)
    if isinstance(book, Reject):
        raise UsageError(f"{path} is {book.reason}: {book.where}: use a .txt or .epub book")
    for reject in missing:
        warnings.warn(f"{path}: {reject}", stacklevel=2)
    return book.paragraphs if isinstance(book, Prose) else []


def _from_file(name: str, file: IO[bytes], reading: Reading, max_bytes: int) -> Iterator[Prose | Drop | Reject]:
    """Yield a book, or a reject for it. If an EPUB lacks pages, yield a reject for them before the rest of the book."""
    id, stem = _id(name)
    if not name.lower().endswith(".epub"):
        data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            yield Reject(id, "too-large", f"{name}: more than {max_bytes} bytes")
            return
        text = decode_or_reject(data, reading.encoding, id, name)
        yield text if isinstance(text, Reject) else _from_text(id, name, text, reading, stem)
        return
    try:
        epub = read_epub(file, max_bytes)
    except Unreadable as error:
        yield Reject(id, error.reason, f"{name}: {error}")
        return
    if epub.missing:
        where = f"{name}: {len(epub.missing)} of its pages are not in it, such as {epub.missing[0]}"
        yield Reject(f"{id}#{epub.missing[0]}", "damaged", where)
    sizes = [sum(map(len, passage.lines)) * (1 if passage.verse else -1) for passage in epub.passages]
    keep_verse = reading.verse == "keep" or (reading.verse == "auto" and sum(sizes) > 0)
    kept = [passage for passage in epub.passages if keep_verse or not passage.verse]
    parts = Parts([""], [text for passage in kept for line in passage.lines for text in (line, "")])
    if reject := _check_lines(id, name, len(parts.body), sum(map(len, parts.body))):
        yield reject
        return
    paragraphs, language = clean_parts(parts, reading._replace(verse="keep")), epub.language.partition("-")[0].lower()
    yield _book(id, epub.title or stem, language, "", paragraphs)


def _from_text(
    id: str, where: str, text: str, reading: Reading, title: str, language: str = "", url: str = ""
) -> Prose | Drop | Reject:
    """Clean the text of a book; the title and language in its license are used if the row has none."""
    if not text or text.isspace():
        return Drop("empty", id)
    if reject := _check_lines(id, where, count_lines(text), len(text)):
        return reject
    parts = strip_licence(unify_newlines(text).split("\n"))
    named, stated = header_field(parts.header, "Title"), language_code(header_field(parts.header, "Language"))
    return _book(id, named or title, language or stated, url, clean_parts(parts, reading))


def _book(id: str, title: str, language: str, url: str, paragraphs: list[str]) -> Prose | Drop:
    return Prose(id, "books", language, title, url, paragraphs, licence=LICENCE) if paragraphs else Drop("no prose", id)


def _check_lines(id: str, where: str, lines: int, characters: int) -> Reject | None:
    """Reject a book with too many lines for its size, such as a word list: each line takes 40 us to read."""
    if lines <= min(_MAX_LINES, _FREE_LINES + characters // _MIN_LINE_CHARACTERS):
        return None
    return Reject(id, "too-large", f"{where}: {lines} lines in {characters} characters")


def _id(name: str) -> tuple[str, str]:
    """Return a book's id and title by its file name. Only a plain ``.txt`` goes from the id, as in ``emma.txt``."""
    bare = name.removesuffix(".txt")
    return f"books:{name if bare.endswith('.epub') else bare}", PurePosixPath(bare).name.removesuffix(".epub")

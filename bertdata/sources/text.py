"""Read all other text: plain files of one or many documents, archives of them, and tables with one document per row."""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, NamedTuple

from ..config.input_kinds import ARCHIVES, MARKDOWN, PLAIN
from ..records import Drop, FileRange, Prose, Reject
from ..storage.files import open_file
from . import archives
from .encodings import decode_or_reject
from .lines import MAX_LINES, count_lines, paragraphs, split_lines, unify_newlines
from .lists import drop_lists, drop_markdown
from .packed import BrokenFile, lines_of
from .tables import Columns, Row, is_table, read_table, split_table

LICENCE = "as its owner states"
_MEMBERS = (*PLAIN, ".csv", ".tsv", ".jsonl", ".ndjson")  # suffixes read from an archive
_TITLE = r"\s*= = = ([^=\s](?:.*[^=\s])?) = = =\s*"  # article title in WikiText and the BabyLM challenge's files
_TITLE_TEXT, _TITLE_BYTES = re.compile(_TITLE), re.compile(_TITLE.encode())


class Reading(NamedTuple):
    """How to read the text files of a run."""

    columns: Columns = Columns()  # of tables
    documents: str = "file"  # what a document of a plain file is; or "blank-lines" or "lines"
    lines: int = 1000  # maximum of a document, with `documents` "lines"; blank ones do not count
    encoding: str = ""  # of plain files; "" to detect it
    max_bytes: int = 16 << 20  # maximum size of a document, or of the line or file that contains it
    dropped: Counter[str] = Counter()  # noqa: RUF012  # lines of lists and tables by kind; replaced by each task


def split(path: str, length: int, target: int, reading: Reading) -> list[tuple[int, int]]:
    """Cut a file of `length` bytes into ranges of about `target` bytes, if its format allows it."""
    if is_table(path):
        return split_table(path, length, target, reading.columns)
    if path.lower().endswith(ARCHIVES) or reading.documents == "file":
        return archives.cut(path, length, target)
    # With `documents` "lines", a cut also ends a document: its rest is a document without a title.
    return split_lines(path, length, target, at_blank_lines=reading.documents == "blank-lines")


def read_text(part: FileRange, reading: Reading, data: bytes | None = None) -> Iterator[Prose | Drop | Reject]:
    """Read a range of a text file, archive or table that `split` returned, or the `data` of a file in an archive.

    Yield a Reject for broken input; raise an error for a disk or store that fails. An empty file is a drop.
    With `documents` "lines", a document ends before a line ``= = = Title = = =``, which begins the next one, after `lines`
    lines, or before it exceeds `max_bytes` bytes. A line that is larger is a reject.
    Reasons: ``too-large``, ``undecodable``, ``truncated`` and those of `read_table` and `read_archive`.
    """
    if part.end == 0:
        yield Drop("empty", f"text:{part.name}")
    elif part.name.lower().endswith(ARCHIVES):
        for member in archives.read_archive(part, "text", _MEMBERS, reading.max_bytes):
            if isinstance(member, archives.Member):
                yield from read_text(FileRange(member.name, part.path, 0, len(member.data)), reading, member.data)
            else:
                yield member
    elif is_table(part.name):
        for row in read_table(part, "text", reading.columns, reading.max_bytes, encoding=reading.encoding, data=data):
            yield _document(*row) if isinstance(row, Row) else row
    elif reading.documents == "file":
        yield _whole_file(open_file(part.path) if data is None else io.BytesIO(data), part, reading)
    else:
        try:
            yield from _documents_of_lines(part, reading, None if data is None else io.BytesIO(data))
        except BrokenFile as error:  # the file is shorter than when it was cut into ranges
            yield error.as_reject(f"text:{part.name}:{part.start}")


def _document(id: str, title: str, language: str, url: str, text: str) -> Prose | Drop | Reject:
    if count_lines(text) > MAX_LINES:
        return Reject(id, "too-large", f"{id}: more than {MAX_LINES} lines")
    return _prose(id, title, language, url, paragraphs(text))


def _prose(id: str, title: str, language: str, url: str, prose: list[str]) -> Prose | Drop:
    return Prose(id, "text", language, title, url, prose, licence=LICENCE) if prose else Drop("empty", id)


def _whole_file(file: IO[bytes], part: FileRange, reading: Reading) -> Prose | Drop | Reject:
    id = f"text:{part.name}"
    with file:
        data = file.read(reading.max_bytes + 1)
    if len(data) > reading.max_bytes:
        return Reject(id, "too-large", f"{part.name}: more than {reading.max_bytes} bytes")
    text = decode_or_reject(data, reading.encoding, id, part.name)
    if isinstance(text, Reject):
        return text
    drop = drop_markdown if part.name.lower().endswith(MARKDOWN) else drop_lists
    return _document(id, PurePosixPath(part.name).stem, "", "", drop(unify_newlines(text), reading.dropped))


def _documents_of_lines(part: FileRange, reading: Reading, whole: IO[bytes] | None) -> Iterator[Prose | Drop | Reject]:
    """Read the documents of a file of lines, each of which is a paragraph."""
    by_lines, most = reading.documents == "lines", reading.max_bytes
    lines: list[bytes] = []
    begin = held = count = 0  # of the current document: its first byte, its bytes, and its lines
    for at, line in lines_of(part, most, whole):
        text = b"" if line is None else line.removeprefix(codecs.BOM_UTF8) if at == 0 else line
        is_title = by_lines and _TITLE_BYTES.fullmatch(text) is not None
        is_full = by_lines and (is_title or count == reading.lines or held + len(text) > most)
        if held and (line is None or is_full or not (by_lines or text.strip())):
            yield _document_of_lines(lines, begin, held, part, reading)
            lines, held, count = [], 0, 0
        if line is None:
            yield Reject(f"text:{part.name}:{at}", "too-large", f"{part.name}: byte {at}: a line of more than {most} bytes")
        elif text.strip():
            begin = begin if held else at
            held, count = held + len(text) + 1, count + (not is_title)
            if held <= most + 1:  # the lines of a document that is too large are not kept
                lines.append(text)
    if held:
        yield _document_of_lines(lines, begin, held, part, reading)


def _document_of_lines(lines: list[bytes], begin: int, held: int, part: FileRange, reading: Reading) -> Prose | Drop | Reject:
    """Make a document of lines, one paragraph each; with `documents` "lines", the first line may be its title."""
    id, where = f"text:{part.name}:{begin}", f"{part.name}: byte {begin}"
    text = None if held > reading.max_bytes + 1 else decode_or_reject(b"\n".join(lines), reading.encoding, id, where)
    if isinstance(text, Reject):
        return text
    if text is None or count_lines(text) > MAX_LINES:
        return Reject(id, "too-large", f"{where}: a document of more than {reading.max_bytes} bytes or {MAX_LINES} lines")
    prose = [line.strip() for line in unify_newlines(text).split("\n") if not line.isspace() and line]
    title = _TITLE_TEXT.fullmatch(prose[0]) if reading.documents == "lines" and prose else None
    return _prose(id, title[1], "", "", prose[1:]) if title else _prose(id, "", "", "", prose)

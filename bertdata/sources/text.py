"""Read any other text: plain files of one document or of many, archives of them, and tables with a document per row."""

from __future__ import annotations

import codecs
import contextlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import IO, NamedTuple

from ..config.inputs import PLAIN
from ..io.files import open_file, size
from ..records import Drop, FileRange, Reject
from . import archives
from .encodings import decode_or_reject
from .lines import MOST_LINES, count_lines, paragraphs, unify_newlines
from .ranges import check_end, read_lines, split_lines, to_blank
from .tables import Columns, is_table, read_table, split_table

__all__ = ["DOCUMENTS", "LINES", "MARKS", "Text", "drop_marks", "read_text", "split"]

# What is a document of a plain file: all of it, the lines between two blank ones, or so many lines or those below a title.
DOCUMENTS = ("file", "blank-lines", "lines")
_MEMBERS = (*PLAIN, ".csv", ".tsv", ".jsonl")  # what is read of an archive
LINES = 1000  # of a document, at the most, where so many lines are one

_TITLE = r"\s*= = = ([^=\s](?:.*[^=\s])?) = = =\s*"  # of an article in WikiText and in the files of the BabyLM challenge
_LONGEST_TITLE = 1 << 12  # bytes
_TITLE_TEXT, _TITLE_BYTES = re.compile(_TITLE), re.compile(_TITLE.encode())


# What transcripts and subtitles write beside what is said, by the name under which it is counted: the speakers of CHILDES (CHAT:
# `*MOT:`, up to seven letters and digits) and of Switchboard (`A:`), and of subtitles the dash of a new speaker, notes of music
# and tags of italics around the line.
MARKS = {
    "tags": re.compile(r"(?i)^</?[ibu]>\s*|(?:(?<!\s)\s+)?</?[ibu]>$"),
    "speakers": re.compile(r"^(?:\*[A-Z][A-Z0-9]{0,6}:|[A-Z]:(?=\t))\s*"),
    "dashes": re.compile(r"^[-\u2013\u2014]+(?:\s+|(?=[^\W\d_]))"),
    "music": re.compile(r"(?:(?<!\s)\s+)?(?<![\u2669-\u266c])[\u2669-\u266c]+(?:\s+|$)"),
}


class _Form(NamedTuple):
    """How a plain file is written, and a counter of its marks where they are to be dropped."""

    encoding: str
    marks: Counter[str] | None

    def decode(self, data: bytes, id: str, where: str) -> str | Reject:
        text = decode_or_reject(data, self.encoding, id, where)
        return text if self.marks is None or isinstance(text, Reject) else drop_marks(text, self.marks)


class _How(NamedTuple):
    """How the files of a run are read: see `read_text`."""

    columns: Columns
    documents: str
    lines: int
    form: _Form
    max_bytes: int
    licences: dict[str, Counter[str]] | None


class Text(NamedTuple):
    """A document as its author wrote it: no cleaning, paragraphs only."""

    id: str
    title: str
    language: str
    url: str
    paragraphs: list[str]


def split(
    path: str, length: int, target: int, columns: Columns, documents: str = "file", lines: int = LINES
) -> list[tuple[int, int]]:
    """Cut a file of `length` bytes into ranges of about `target` bytes, where its form allows it."""
    if is_table(path):
        return split_table(path, length, target, columns)
    if archives.is_archive(path):
        return archives.cut(path, length, target)
    if documents == "file":
        return [(0, length)]
    onward = to_blank if documents == "blank-lines" else partial(_to_title, lines)
    return split_lines(path, length, target, onward=onward)


def _to_title(lines: int, file: IO[bytes], most: int) -> int:
    """Count the bytes before the next title, or of the next `lines` lines where it is not among them; `most` at the most.

    So no title is cut from the lines below it.
    """
    passed = 0
    for start, line in read_lines(file, most, _LONGEST_TITLE):
        if line is not None and not line.strip():
            continue
        if passed == lines or (line is not None and _TITLE_BYTES.fullmatch(line)):
            return start
        passed += 1
    return most


def read_text(
    parts: Iterable[FileRange],
    *,
    columns: Columns | None = None,
    documents: str = "file",
    lines: int = LINES,
    marks: Counter[str] | None = None,
    encoding: str = "",
    max_bytes: int,
    licences: dict[str, Counter[str]] | None = None,
) -> Iterator[Text | Drop | Reject]:
    """Read parts of text files, archives and tables.

    What is broken comes out as a Reject, and a disk or store that fails as its error.

    A part of a file is a range that `split` made.  A document, or the line or file that holds it, may have `max_bytes` bytes.
    With `documents` "lines" a document ends before a line ``= = = Title = = =``, which begins the next, after `lines` lines, or
    before it would have more than `max_bytes` bytes: no document is too large then, but a line may be.  Blank lines do not count.
    `licences` counts what the rows of tables tell of theirs, by file.
    With `marks`, a counter, what `drop_marks` drops is left out of plain files, and counted.
    Reasons: ``empty``, ``too-large``, ``binary``, ``undecodable``, ``truncated`` and those of `read_table` and `read_archive`.
    """
    how = _How(columns or Columns(), documents, lines, _Form(encoding, marks), max_bytes, licences)
    for part in parts:
        if part.end == 0:
            yield Reject(f"text:{part.name}", "empty", f"{part.name}: 0 bytes")
        elif archives.is_archive(part.name):
            for member in archives.read_archive(part, archives.Wanted("text", _MEMBERS, max_bytes)):
                if isinstance(member, archives.Member):
                    inner = FileRange(member.name, part.path, 0, len(member.data))
                    yield from _read(inner, how, io.BytesIO(member.data))
                else:
                    yield member
        else:
            yield from _read(part, how)


def _read(part: FileRange, how: _How, file: IO[bytes] | None = None) -> Iterator[Text | Reject]:
    """Read a part of a file, or a `file` of an archive, which the part covers."""
    if is_table(part.name):
        rows = read_table(part, "text", how.columns, how.max_bytes, how.licences, encoding=how.form.encoding, file=file)
        yield from (row if isinstance(row, Reject) else _document(*row[:5]) for row in rows)
        return
    with open_file(part.path) if file is None else contextlib.nullcontext(file) as plain:
        plain.seek(part.start)
        if how.documents == "blank-lines":
            yield from _between_blank_lines(plain, part, how.form, how.max_bytes)
        elif how.documents == "lines":
            yield from _so_many_lines(plain, part, how.lines, how.form, how.max_bytes)
        else:
            yield _whole_file(plain, part, how.form, how.max_bytes)


def _document(id: str, title: str, language: str, url: str, text: str) -> Text | Reject:
    if count_lines(text) > MOST_LINES:
        return Reject(id, "too-large", f"{id}: more than {MOST_LINES} lines")
    prose = paragraphs(text)
    return Text(id, title, language, url, prose) if prose else Reject(id, "empty", f"{id}: no words")


def _whole_file(file: IO[bytes], part: FileRange, form: _Form, max_bytes: int) -> Text | Reject:
    id = f"text:{part.name}"
    data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        return Reject(id, "too-large", f"{part.name}: {size(part.path)} bytes, more than {max_bytes}")
    text = form.decode(data, id, part.name)
    return text if isinstance(text, Reject) else _document(id, PurePosixPath(part.name).stem, "", "", text)


def _between_blank_lines(file: IO[bytes], part: FileRange, form: _Form, max_bytes: int) -> Iterator[Text | Reject]:
    """Read the documents of a file that holds many, each line a paragraph."""
    lines: list[bytes] = []
    begin = held = 0
    for start, line in read_lines(file, part.end - part.start, max_bytes):
        line = line.removeprefix(codecs.BOM_UTF8) if line and part.start + start == 0 else line
        if line is not None and not line.strip():
            if held:
                yield _lines(lines, begin, held, part, form, max_bytes)
            lines, held = [], 0
            continue
        begin = begin if held else part.start + start
        held += max_bytes + 2 if line is None else len(line) + 1
        if held > max_bytes + 1:
            lines = []  # it is too large already: no more of it is kept
        elif line is not None:
            lines.append(line)
    if held:
        yield _lines(lines, begin, held, part, form, max_bytes)
    yield from check_end(file, part, "text")


def _so_many_lines(file: IO[bytes], part: FileRange, most: int, form: _Form, max_bytes: int) -> Iterator[Text | Reject]:
    """Read the documents of a file that holds many, `most` lines each or what follows a title; each line is a paragraph."""
    lines: list[bytes] = []
    begin = held = count = 0
    for start, line in read_lines(file, part.end - part.start, max_bytes):
        at = part.start + start
        if line is None:
            yield Reject(f"text:{part.name}:{at}", "too-large", f"{part.name}: byte {at}: a line of more than {max_bytes} bytes")
            continue
        line = line.removeprefix(codecs.BOM_UTF8) if at == 0 else line
        if not line.strip():
            continue
        titled = _TITLE_BYTES.fullmatch(line) is not None
        if lines and (titled or count == most or held + len(line) > max_bytes):
            yield _lines(lines, begin, held, part, form, max_bytes, titled=True)
            lines, held, count = [], 0, 0
        begin = begin if lines else at
        lines.append(line)
        held, count = held + len(line) + 1, count + (not titled)
    if lines:
        yield _lines(lines, begin, held, part, form, max_bytes, titled=True)
    yield from check_end(file, part, "text")


def _lines(
    lines: list[bytes], begin: int, held: int, part: FileRange, form: _Form, max_bytes: int, *, titled: bool = False
) -> Text | Reject:
    """Make a document of lines, a paragraph each; with `titled` the first may be its title."""
    id, where = f"text:{part.name}:{begin}", f"{part.name}: byte {begin}"
    if held > max_bytes + 1:
        return Reject(id, "too-large", f"{where}: a document of more than {max_bytes} bytes")
    text = form.decode(b"\n".join(lines), id, where)
    if isinstance(text, Reject):
        return text
    if count_lines(text) > MOST_LINES:
        return Reject(id, "too-large", f"{where}: more than {MOST_LINES} lines")
    stripped = [line.strip() for line in unify_newlines(text).split("\n") if not line.isspace() and line]
    title = _TITLE_TEXT.fullmatch(stripped[0]) if titled and stripped else None
    prose = stripped[1:] if title else stripped
    return Text(id, title[1] if title else "", "", "", prose) if prose else Reject(id, "empty", f"{where}: no words")


def drop_marks(text: str, counts: Counter[str]) -> str:
    r"""Take the marks of transcripts and subtitles off lines, and lines of nothing else out; count both in `counts`.

    >>> counts = Counter()
    >>> drop_marks("*MOT:\tmore tea ?\n- Yes .\n\u266a", counts), sorted(counts.items())
    ('more tea ?\nYes .', [('dashes', 1), ('lines', 1), ('music', 1), ('speakers', 1)])
    """
    left = []
    for line in unify_newlines(text).split("\n"):
        rest = line
        for name, mark in MARKS.items():
            rest, times = mark.subn(" ", rest)
            if times:
                counts[name] += times
                rest = rest.strip()
        if rest or rest == line:
            left.append(rest)
        else:
            counts["lines"] += 1
    return "\n".join(left)

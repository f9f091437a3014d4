"""Read all other text: plain files of one or many documents, archives of them, and tables with one document per row."""

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

from ..config.input_kinds import PLAIN
from ..records import Drop, FileRange, Reject
from ..storage.files import open_file, size
from . import archives
from .encodings import decode_or_reject
from .line_ranges import check_end, read_lines, split_lines, to_blank_line
from .lines import MAX_LINES, count_lines, paragraphs, unify_newlines
from .tables import Columns, is_table, read_table, split_table

__all__ = ["DEFAULT_LINES", "MARKS", "Text", "drop_marks", "read_text", "split"]

_MEMBERS = (*PLAIN, ".csv", ".tsv", ".jsonl")  # suffixes read from an archive
DEFAULT_LINES = 1000  # maximum lines of a document, for documents made of lines

_TITLE = r"\s*= = = ([^=\s](?:.*[^=\s])?) = = =\s*"  # article title in WikiText and the BabyLM challenge's files
_MAX_TITLE_BYTES = 1 << 12  # bytes
_TITLE_TEXT, _TITLE_BYTES = re.compile(_TITLE), re.compile(_TITLE.encode())


# Non-speech marks of transcripts and subtitles, by the name under which they are counted: speakers in CHILDES (CHAT: `*MOT:`, up
# to seven letters and digits) and Switchboard (`A:`), and in subtitles the dash of a new speaker, music notes and italics tags
# around the line.
MARKS = {
    "tags": re.compile(r"(?i)^</?[ibu]>\s*|(?:(?<!\s)\s+)?</?[ibu]>$"),
    "speakers": re.compile(r"^(?:\*[A-Z][A-Z0-9]{0,6}:|[A-Z]:(?=\t))\s*"),
    "dashes": re.compile(r"^[-\u2013\u2014]+(?:\s+|(?=[^\W\d_]))"),
    "music": re.compile(r"(?:(?<!\s)\s+)?(?<![\u2669-\u266c])[\u2669-\u266c]+(?:\s+|$)"),
}


class _Options(NamedTuple):
    """Options for reading the files of a run: see `read_text`."""

    columns: Columns
    documents: str
    lines: int
    marks: Counter[str] | None
    encoding: str
    max_bytes: int
    licences: dict[str, Counter[str]] | None

    def decode(self, data: bytes, id: str, where: str) -> str | Reject:
        """Decode a plain text, and drop its marks if they are counted."""
        text = decode_or_reject(data, self.encoding, id, where)
        return text if self.marks is None or isinstance(text, Reject) else drop_marks(text, self.marks)


class Text(NamedTuple):
    """A document as written: split into paragraphs without cleaning."""

    id: str
    title: str
    language: str
    url: str
    paragraphs: list[str]
    licence: str = ""


def split(
    path: str, length: int, target: int, columns: Columns, documents: str = "file", lines: int = DEFAULT_LINES
) -> list[tuple[int, int]]:
    """Cut a file of `length` bytes into ranges of about `target` bytes, if its format allows it."""
    if is_table(path):
        return split_table(path, length, target, columns)
    if archives.is_archive(path):
        return archives.cut(path, length, target)
    if documents == "file":
        return [(0, length)]
    extend = to_blank_line if documents == "blank-lines" else partial(_to_title, lines)
    return split_lines(path, length, target, extend=extend)


def _to_title(lines: int, file: IO[bytes], most: int) -> int:
    """Return the bytes up to the next title, or those of the next `lines` lines if they contain no title, up to `most`.

    This keeps a title in the same range as the lines below it.
    """
    passed = 0
    for start, line in read_lines(file, most, _MAX_TITLE_BYTES):
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
    lines: int = DEFAULT_LINES,
    marks: Counter[str] | None = None,
    encoding: str = "",
    max_bytes: int,
    licences: dict[str, Counter[str]] | None = None,
) -> Iterator[Text | Drop | Reject]:
    """Read ranges of text files, archives and tables.

    Yield a Reject for broken input; raise an error for a disk or store that fails.

    A range is one that `split` returned.  A document, or the line or file that contains it, has at most `max_bytes` bytes.
    With `documents` "lines", a document ends before a line ``= = = Title = = =``, which begins the next one, after `lines`
    lines, or before it exceeds `max_bytes` bytes, so only a single line can be too large.  Blank lines do not count.
    `licences` counts the licenses in rows of tables, by file.
    With the counter `marks`, plain files are read without the marks that `drop_marks` drops, which are counted.
    Reasons: ``empty``, ``too-large``, ``binary``, ``undecodable``, ``truncated`` and those of `read_table` and `read_archive`.
    """
    options = _Options(columns or Columns(), documents, lines, marks, encoding, max_bytes, licences)
    for part in parts:
        if part.end == 0:
            yield Reject(f"text:{part.name}", "empty", f"{part.name}: 0 bytes")
        elif archives.is_archive(part.name):
            for member in archives.read_archive(part, archives.Wanted("text", _MEMBERS, max_bytes)):
                if isinstance(member, archives.Member):
                    inner = FileRange(member.name, part.path, 0, len(member.data))
                    yield from _read(inner, options, io.BytesIO(member.data))
                else:
                    yield member
        else:
            yield from _read(part, options)


def _read(part: FileRange, options: _Options, file: IO[bytes] | None = None) -> Iterator[Text | Reject]:
    """Read a range of a file, or a `file` of an archive, which the range covers."""
    if is_table(part.name):
        rows = read_table(
            part, "text", options.columns, options.max_bytes, options.licences, encoding=options.encoding, file=file
        )
        yield from (row if isinstance(row, Reject) else _document(*row) for row in rows)
        return
    with open_file(part.path) if file is None else contextlib.nullcontext(file) as plain:
        plain.seek(part.start)
        if options.documents == "blank-lines":
            yield from _between_blank_lines(plain, part, options)
        elif options.documents == "lines":
            yield from _so_many_lines(plain, part, options)
        else:
            yield _whole_file(plain, part, options)


def _document(id: str, title: str, language: str, url: str, text: str, licence: str = "") -> Text | Reject:
    if count_lines(text) > MAX_LINES:
        return Reject(id, "too-large", f"{id}: more than {MAX_LINES} lines")
    prose = paragraphs(text)
    return Text(id, title, language, url, prose, licence) if prose else Reject(id, "empty", f"{id}: no words")


def _whole_file(file: IO[bytes], part: FileRange, options: _Options) -> Text | Reject:
    id = f"text:{part.name}"
    data = file.read(options.max_bytes + 1)
    if len(data) > options.max_bytes:
        return Reject(id, "too-large", f"{part.name}: {size(part.path)} bytes, more than {options.max_bytes}")
    text = options.decode(data, id, part.name)
    return text if isinstance(text, Reject) else _document(id, PurePosixPath(part.name).stem, "", "", text)


def _between_blank_lines(file: IO[bytes], part: FileRange, options: _Options) -> Iterator[Text | Reject]:
    """Read the documents of a file with blank lines between them; each line is a paragraph."""
    lines: list[bytes] = []
    begin = held = 0
    for start, line in read_lines(file, part.end - part.start, options.max_bytes):
        line = line.removeprefix(codecs.BOM_UTF8) if line and part.start + start == 0 else line
        if line is not None and not line.strip():
            if held:
                yield _lines(lines, begin, held, part, options)
            lines, held = [], 0
            continue
        begin = begin if held else part.start + start
        held += options.max_bytes + 2 if line is None else len(line) + 1
        if held > options.max_bytes + 1:
            lines = []  # already too large: do not keep more
        elif line is not None:
            lines.append(line)
    if held:
        yield _lines(lines, begin, held, part, options)
    yield from check_end(file, part, "text")


def _so_many_lines(file: IO[bytes], part: FileRange, options: _Options) -> Iterator[Text | Reject]:
    """Read documents of `options.lines` lines each, or of the lines below a title; each line is a paragraph."""
    lines: list[bytes] = []
    begin = held = count = 0
    for start, line in read_lines(file, part.end - part.start, options.max_bytes):
        at = part.start + start
        if line is None:
            yield Reject(
                f"text:{part.name}:{at}", "too-large", f"{part.name}: byte {at}: a line of more than {options.max_bytes} bytes"
            )
            continue
        line = line.removeprefix(codecs.BOM_UTF8) if at == 0 else line
        if not line.strip():
            continue
        titled = _TITLE_BYTES.fullmatch(line) is not None
        if lines and (titled or count == options.lines or held + len(line) > options.max_bytes):
            yield _lines(lines, begin, held, part, options, titled=True)
            lines, held, count = [], 0, 0
        begin = begin if lines else at
        lines.append(line)
        held, count = held + len(line) + 1, count + (not titled)
    if lines:
        yield _lines(lines, begin, held, part, options, titled=True)
    yield from check_end(file, part, "text")


def _lines(
    lines: list[bytes], begin: int, held: int, part: FileRange, options: _Options, *, titled: bool = False
) -> Text | Reject:
    """Make a document of lines, one paragraph each; with `titled`, the first line may be its title."""
    id, where = f"text:{part.name}:{begin}", f"{part.name}: byte {begin}"
    if held > options.max_bytes + 1:
        return Reject(id, "too-large", f"{where}: a document of more than {options.max_bytes} bytes")
    text = options.decode(b"\n".join(lines), id, where)
    if isinstance(text, Reject):
        return text
    if count_lines(text) > MAX_LINES:
        return Reject(id, "too-large", f"{where}: more than {MAX_LINES} lines")
    stripped = [line.strip() for line in unify_newlines(text).split("\n") if not line.isspace() and line]
    title = _TITLE_TEXT.fullmatch(stripped[0]) if titled and stripped else None
    prose = stripped[1:] if title else stripped
    return Text(id, title[1] if title else "", "", "", prose) if prose else Reject(id, "empty", f"{where}: no words")


def drop_marks(text: str, counts: Counter[str]) -> str:
    r"""Remove the marks of transcripts and subtitles from lines, drop lines with nothing else, and count both in `counts`.

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

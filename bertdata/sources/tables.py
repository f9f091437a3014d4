"""Read tables of texts: JSON lines, CSV and TSV here, Parquet and Arrow in `bertdata.sources.columnar`.

A range of a table is a run of complete lines, row groups or record batches. A broken row costs itself, and a broken row group or
batch costs itself; a compressed text file or one that lost its place is not read further.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import re
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from ..config.input_kinds import ARCHIVES, DELIMITED, PLAIN
from ..credentials import hide
from ..errors import few
from ..records import Drop, FileRange, Reject
from .encodings import BROKEN_BYTE, MARK_BROKEN, REPAIR, BinaryData, encoding_of
from .lines import check_end, read_lines, split_lines
from .packed import PACKED, BrokenFile, check_package, open_packed

_OTHER_SUFFIXES = (*PLAIN, *ARCHIVES, ".epub", ".xml")
_NAMED, _NAME = 12, 40  # columns listed in a reject, and characters of a name
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can contain half a character, which cannot be encoded
_MIN_CHECKED_BYTES = 1 << 20  # minimum bytes of a JSON line that is checked before parsing
_MAX_VALUES = 1_000_000  # per JSON line or CSV line; each takes up to 200 bytes of memory, but only two of text
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|([,{\[])', re.DOTALL)  # a string, or the character before a value
_SAMPLE_BYTES = 1 << 20  # used to detect the encoding of a CSV file


class Columns(NamedTuple):
    """The names of the text, title and id columns; the id may be "" for none."""

    text: str = "text"
    title: str = "title"
    id: str = ""

    @property
    def used(self) -> list[str]:
        """The columns to read, if they exist."""
        return [name for name in dict.fromkeys((self.text, self.title, self.id, "language", "url")) if name]


class Row(NamedTuple):
    """A text from a table; if the value is a list, its strings are paragraphs."""

    id: str
    title: str
    language: str
    url: str
    text: str


Rows = Iterator[Row | Drop | Reject]


class Table(NamedTuple):
    """A range of a table, the source that begins its rows' ids, and how to read it."""

    part: FileRange
    source: str
    columns: Columns
    max_bytes: int
    encoding: str = ""
    file: IO[bytes] | None = None

    def reject(self, at: int | str, words: str, reason: str, problem: str, lost: int = 0) -> Reject:
        """Return a reject. Its place is a byte or a number, and the same in words."""
        return Reject(f"{self.source}:{self.part.name}:{at}", reason, f"{self.part.name}: {words}: {problem}", lost)

    def row(self, at: int | str, words: str, values: dict[str, Any]) -> Row | Drop | Reject:
        """Make a row from its columns; an empty one is a drop. Reasons: ``no-text``, ``no-id``, ``too-large``, ``bad-utf-8``."""
        columns, value = self.columns, values.get(self.columns.text)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = "\n\n".join(value)
        if not isinstance(value, str):
            what = f"{type(value).__name__} in" if columns.text in values else "nothing in"
            there = few([key[:_NAME] for key in values], _NAMED) or "none"
            problem = f"{what} the column {columns.text!r} where text should be; the columns there: {there}"
            return self.reject(at, words, "no-text", f"{problem}. Name the column of the text with `text_column`")
        if not value.strip():
            return Drop("empty")
        name = values.get(columns.id) if columns.id else at
        if not isinstance(name, str | int) or isinstance(name, bool) or name == "":
            return self.reject(at, words, "no-id", f"nothing in the column {columns.id!r} that could be an id")
        others = (values.get(key) for key in (columns.title, "language", "url"))
        title, language, url = (other if isinstance(other, str) else "" for other in others)
        id = f"{self.source}:{self.part.name}:{name}"
        if any(map(_SURROGATE.search, (id, value, title, language, url))):
            return self.reject(at, words, "bad-utf-8", "a surrogate (half a character) is not text")
        if len(value) > self.max_bytes or len(value.encode()) > self.max_bytes:
            return self.reject(at, words, "too-large", f"a text of more than {self.max_bytes} bytes")
        return Row(id, title, language, hide(url), value)

    def open(self) -> contextlib.AbstractContextManager[IO[bytes]]:
        """Open a text file at the start of its range, unpacked if its name says that it is packed."""
        opened = self.file or open_packed(self.part.path, self.part.name)
        if opened.seekable():
            opened.seek(self.part.start)
        return contextlib.nullcontext(opened) if opened is self.file else opened


def is_table(name: str) -> bool:
    """Return True if a file is a table by its name. Files of an unknown suffix are only read if they contain JSON lines."""
    return not name.lower().endswith(_OTHER_SUFFIXES)


def split_table(path: str, length: int, target: int, columns: Columns) -> list[tuple[int, int]]:
    """Cut a table of `length` bytes into ranges of about `target` bytes, made of complete lines, row groups or record batches.

    Raise UsageError if the table lacks a required column.  An unreadable table is not cut; the task that reads it reports the
    problem.
    """
    name = path.lower()
    if name.endswith((".parquet", ".arrow")):
        from . import columnar  # importing Arrow takes 0.1 s

        return columnar.split(path, length, target, columns)
    if name.endswith((*PACKED, *DELIMITED)):
        check_package(path)
        return [(0, length)]
    return split_lines(path, length, target)


def read_table(
    part: FileRange, source: str, columns: Columns, max_bytes: int, *, encoding: str = "", file: IO[bytes] | None = None
) -> Rows:
    """Read the rows of a range of a table.

    Reasons of rejects, in addition to those of `Table.row`: ``malformed-json``, ``malformed-csv``, ``bad-utf-8``, ``binary``,
    ``undecodable``, ``too-large``, ``truncated``, ``damaged``, ``decompression-bomb``.

    Args:
        part: A range that `split_table` returned, or all of an open `file`.
        source: Prefix of the rows' ids.
        columns: Columns to read.
        max_bytes: Maximum bytes of a row.
        encoding: Encoding of a CSV or TSV file; "" to detect it. The other formats are UTF-8.
        file: A CSV, TSV or JSON lines file in an archive, open for reading.
    """
    table, name = Table(part, source, columns, max_bytes, encoding, file), part.name.lower()
    try:
        if name.endswith((".parquet", ".arrow")):
            from . import columnar

            yield from columnar.read_parquet(table) if name.endswith(".parquet") else columnar.read_arrow(table)
        else:
            yield from _read_delimited(table) if name.endswith(DELIMITED) else _read_json_lines(table)
    except BrokenFile as error:
        yield Reject(f"{source}:{part.name}:{part.start}", error.reason, error.where, error.lost)


# --- JSON lines ---


def _read_json_lines(table: Table) -> Rows:
    """Read one object per line; blank lines are skipped."""
    part, is_plain = table.part, not table.part.name.lower().endswith(PACKED)
    with table.open() as opened:
        for start, line in read_lines(opened, part.end - part.start if is_plain else None, table.max_bytes):
            at = part.start + start
            if line is None:
                yield table.reject(at, f"byte {at}", "too-large", f"a line of more than {table.max_bytes} bytes")
            elif at == 0 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                yield table.reject(at, "the file", "undecodable", "UTF-16. Convert it: iconv -f UTF-16 -t UTF-8")
                return
            elif line.removeprefix(codecs.BOM_UTF8).strip():
                yield _from_json(table, at, f"byte {at}", line)
        if is_plain:
            yield from check_end(opened, part, table.source)


def _from_json(table: Table, at: int, words: str, line: bytes) -> Row | Drop | Reject:
    # Parsing a line of many values takes many times its memory; commas and brackets in strings are not counted.
    if len(line) > _MIN_CHECKED_BYTES and sum(map(line.count, (b",", b"{", b"["))) > _MAX_VALUES < sum(
        token[1] is not None for token in _TOKEN.finditer(line)
    ):
        return table.reject(at, words, "too-large", f"a line of more than {_MAX_VALUES} values")
    try:
        value: Any = json.loads(line.removeprefix(codecs.BOM_UTF8).decode())
    except UnicodeDecodeError as error:
        return table.reject(at, words, "bad-utf-8", f"{error.reason} at byte {error.start} of the line")
    except (ValueError, RecursionError) as error:
        return table.reject(at, words, "malformed-json", str(error))
    if not isinstance(value, dict):
        return table.reject(at, words, "malformed-json", f"{type(value).__name__} where an object should be")
    return table.row(at, words, value)


# --- CSV and TSV ---


def _read_delimited(table: Table) -> Rows:
    """Read a file whose first line names the columns. Fields may be quoted as in RFC 4180; blank lines are skipped.

    The position in a row's id is the number of its first line, counted from 1.
    """
    start, columns = table.part.start, table.columns
    with table.open() as opened:
        sample = opened.read(_SAMPLE_BYTES)
    if len(sample) == _SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1 or None]  # do not cut a character
    try:
        encoding = encoding_of(sample, table.encoding)
    except ValueError as error:
        yield table.reject(start, "the file", "binary" if isinstance(error, BinaryData) else "undecodable", str(error))
        return
    errors = MARK_BROKEN if encoding == table.encoding or encoding.startswith("utf") else "replace"
    errors = REPAIR if encoding == "utf-8" != table.encoding else errors
    csv.field_size_limit(max(csv.field_size_limit(), table.max_bytes))
    with table.open() as opened:
        lines = _CsvLines(io.TextIOWrapper(opened, encoding, errors), table.max_bytes)
        first = next((line for line in lines if line.strip("\ufeff \t\r\n\f")), "")
        if not first:
            yield Drop("empty")
            return
        delimiter, names = _header(first.removeprefix("\ufeff"), table)
        if columns.text in names:
            yield from _read_csv_rows(table, lines, csv.reader(lines, delimiter=delimiter), names)
            return
        there = ", ".join(name[:_NAME] for name in names[:_NAMED])
        problem = f"the first line names no column {columns.text!r}, only {there}. Name the text column with `text_column`"
        yield table.reject(1, "line 1", "no-text", problem)


def _read_csv_rows(table: Table, lines: _CsvLines, reader: Any, names: list[str]) -> Rows:
    """Read the rows below the line of names. A row that is too large or malformed is a reject, and reading goes on."""
    used = {name: names.index(name) for name in table.columns.used if name in names}
    while True:
        lines.held, at = 0, lines.number + 1
        words = f"line {at}"
        try:
            fields = next(reader, None)
        except csv.Error as error:
            is_large = str(error).startswith("a record of more than")
            yield table.reject(at, words, "too-large" if is_large else "malformed-csv", str(error))
            continue
        if fields is None:
            return
        if len(fields) < 2 and not "".join(fields).strip():
            continue  # a blank line
        values = {name: fields[number] for name, number in used.items() if number < len(fields)}
        if len(fields) < len(names) or any(fields[len(names) :]):
            problem = f"{len(fields)} fields where the first line has {len(names)}"
            yield table.reject(at, words, "malformed-csv", problem)
        elif any(BROKEN_BYTE in value for value in values.values()):
            yield table.reject(at, words, "undecodable", "bytes that are not in the encoding of the file")
        else:
            yield table.row(at, words, values)


class _CsvLines:
    """The lines of a file, for `csv`. A record of more than `most` characters raises csv.Error, and the next line is the next.

    A quote that is never closed would otherwise make a record of the rest of the file.
    """

    def __init__(self, text: io.TextIOWrapper[Any], most: int) -> None:
        self._text, self._most = text, most
        self.number = self.held = 0  # lines read, and characters of the record

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._most + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.held += len(line)
        if self.held > self._most and not (self.held == len(line) and line.endswith("\n")):
            while not line.endswith("\n") and (line := self._text.readline(_SAMPLE_BYTES)):
                pass
            raise csv.Error(f"a record of more than {self._most} characters")
        if max(map(line.count, ",;\t|")) > _MAX_VALUES:
            raise csv.Error(f"a record of more than {_MAX_VALUES} fields")
        return line.replace("\0", "")  # csv of Python 3.10 does not read NUL


def _header(line: str, table: Table) -> tuple[str, list[str]]:
    """Return the delimiter and column names: the first delimiter that yields the text column, else the one with most names."""
    likely = "\t,;|" if ".tsv" in table.part.name.lower()[-8:] else ",;\t|"
    headers = [(mark, [name.strip() for name in next(csv.reader([line], delimiter=mark), [])]) for mark in likely]
    longest = max(headers, key=lambda header: len(header[1]))
    return next((header for header in headers if table.columns.text in header[1]), longest)

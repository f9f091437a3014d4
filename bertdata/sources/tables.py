"""Read tables of texts: JSON lines, CSV and TSV here, Parquet and Arrow in `bertdata.sources.columnar`.

A range of a table is a run of complete lines, row groups or record batches. A broken row, row group or batch costs itself; a
compressed text file is not read further.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

from ..config.input_kinds import ARCHIVES, DELIMITED, PLAIN
from ..credentials import hide
from ..errors import few
from ..records import Drop, FileRange, Reject
from .encodings import MARK_BROKEN, REPAIR, encoding_of
from .lines import or_empty, split_lines
from .packed import PACKED, BrokenFile, check_package, lines_of, open_packed

_OTHER_SUFFIXES = (*PLAIN, *ARCHIVES, ".epub", ".xml")
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can contain half a character, which cannot be encoded
_MAX_VALUES = 1_000_000  # per JSON or CSV line, counted by delimiters; each takes up to 200 bytes of memory, but only two of text
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
    encoding: str = ""  # of CSV and TSV; "" to detect it
    data: bytes | None = None  # of a file in an archive

    def reject(self, at: int | str, words: str, reason: str, problem: str, lost: int = 0) -> Reject:
        """Return a reject. Its place is a byte or a number, and the same in words."""
        return Reject(f"{self.source}:{self.part.name}:{at}", reason, f"{self.part.name}: {words}: {problem}", lost)

    def row(self, at: int | str, words: str, values: dict[str, Any]) -> Row | Drop | Reject:
        """Make a row from its columns; an empty one is a drop. Reasons: ``no-text``, ``no-id``, ``too-large``, ``bad-utf-8``."""
        columns, value = self.columns, values.get(self.columns.text)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = "\n\n".join(value)
        if (value is None and columns.text in values) or (isinstance(value, str) and not value.strip()):
            return Drop("empty")
        if not isinstance(value, str):
            what = f"{type(value).__name__} in" if columns.text in values else "nothing in"
            problem = f"{what} the column {columns.text!r} where text should be; the columns there: {_names(values)}"
            return self.reject(at, words, "no-text", f"{problem}. Name the column of the text with `text_column`")
        name = values.get(columns.id) if columns.id else at
        if not isinstance(name, str | int) or isinstance(name, bool) or name == "":
            return self.reject(at, words, "no-id", f"nothing in the column {columns.id!r} that could be an id")
        others = (values.get(key) for key in (columns.title, "language", "url"))
        title, language, url = (other if isinstance(other, str) else "" for other in others)
        id = f"{self.source}:{self.part.name}:{name}"
        if any(map(_SURROGATE.search, (id, value, title, language, url))):
            return self.reject(at, words, "bad-utf-8", "bytes that are not in the encoding of the file, or half a character")
        if len(value) > self.max_bytes or len(value.encode()) > self.max_bytes:
            return self.reject(at, words, "too-large", f"a text of more than {self.max_bytes} bytes")
        return Row(id, title, language, hide(url), value)

    def open(self) -> IO[bytes]:
        """Open a text file, unpacked if its name says that it is packed."""
        return open_packed(self.part.path, self.part.name) if self.data is None else io.BytesIO(self.data)


def _names(names: Iterable[str]) -> str:
    return few([name[:40] for name in names], 12) or "none"


def is_table(name: str) -> bool:
    """Return True if a file is a table by its name. Files of an unknown suffix are only read if they contain JSON lines."""
    return not name.lower().endswith(_OTHER_SUFFIXES)


def split_table(path: str, length: int, target: int, columns: Columns) -> list[tuple[int, int]]:
    """Cut a table of `length` bytes into ranges of about `target` bytes. Raise UsageError if it lacks a required column."""
    name = path.lower()
    if name.endswith((".parquet", ".arrow")):
        from . import columnar  # importing Arrow takes 0.1 s

        return columnar.split(path, length, target, columns)
    if name.endswith((*PACKED, *DELIMITED)):
        check_package(path)
        return [(0, length)]
    return split_lines(path, length, target)


def read_table(
    part: FileRange, source: str, columns: Columns, max_bytes: int, *, encoding: str = "", data: bytes | None = None
) -> Rows:
    """Read the rows of a range that `split_table` returned, or of the `data` of a file in an archive.

    Reasons of rejects, in addition to those of `Table.row`: ``malformed-json``, ``malformed-csv``, ``bad-utf-8``,
    ``undecodable``, ``truncated``, ``damaged``, ``decompression-bomb``.
    """
    return or_empty(_read(Table(part, source, columns, max_bytes, encoding, data)), part, source)


def _read(table: Table) -> Rows:
    part, name = table.part, table.part.name.lower()
    try:
        if name.endswith((".parquet", ".arrow")):
            from . import columnar

            yield from columnar.read_parquet(table) if name.endswith(".parquet") else columnar.read_arrow(table)
        else:
            yield from _read_delimited(table) if name.endswith(DELIMITED) else _read_json_lines(table)
    except BrokenFile as error:
        yield error.as_reject(f"{table.source}:{part.name}:{part.start}")


# --- JSON lines ---


def _read_json_lines(table: Table) -> Rows:
    """Read one object per line; blank lines are skipped."""
    for at, line in lines_of(table.part, table.max_bytes, None if table.data is None else table.open()):
        if line is None:
            yield table.reject(at, f"byte {at}", "too-large", f"a line of more than {table.max_bytes} bytes")
        elif line.removeprefix(codecs.BOM_UTF8).strip():
            yield _from_json(table, at, line)


def _from_json(table: Table, at: int, line: bytes) -> Row | Drop | Reject:
    words = f"byte {at}"
    if sum(map(line.count, (b",", b"{", b"["))) > _MAX_VALUES:  # parsing would take many times the memory of the line
        return table.reject(at, words, "too-large", f"a line of more than {_MAX_VALUES} values")
    try:
        value: Any = json.loads(line.removeprefix(codecs.BOM_UTF8).decode())
    except UnicodeDecodeError:
        return table.reject(at, words, "bad-utf-8", "not UTF-8. Convert the file: iconv -f UTF-16 (or its encoding) -t UTF-8")
    except (ValueError, RecursionError) as error:
        return table.reject(at, words, "malformed-json", str(error))
    if not isinstance(value, dict):
        return table.reject(at, words, "malformed-json", f"{type(value).__name__} where an object should be")
    return table.row(at, words, value)


# --- CSV and TSV ---


def _read_delimited(table: Table) -> Rows:
    """Read a file whose first line names the columns. Fields may be quoted as in RFC 4180; blank lines are skipped.

    The position in a row's id is the number of its first line, counted from 1. A row that is too large or malformed is a reject,
    and reading goes on.
    """
    with table.open() as opened:
        sample = opened.read(_SAMPLE_BYTES)
    if len(sample) == _SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1 or None]  # do not cut a character
    try:
        encoding = encoding_of(sample, table.encoding)
    except ValueError as error:
        yield table.reject(table.part.start, "the file", "undecodable", str(error))
        return
    errors = REPAIR if encoding == "utf-8" != table.encoding else MARK_BROKEN
    with table.open() as opened:
        yield from _read_records(table, io.TextIOWrapper(opened, encoding, errors))


def _read_records(table: Table, text: io.TextIOWrapper[Any]) -> Rows:
    most = table.max_bytes
    csv.field_size_limit(max(csv.field_size_limit(), most))
    number = held = 0  # lines read, and characters of the record

    def record_lines() -> Iterator[Any]:
        # A quote that is never closed would make a record of the rest of the file.
        nonlocal number, held
        while line := text.readline(most + 1):
            number, held = number + 1, held + len(line)
            if (held > most and not (held == len(line) and line.endswith("\n"))) or max(map(line.count, ",;\t|")) > _MAX_VALUES:
                while not line.endswith("\n") and (line := text.readline(_SAMPLE_BYTES)):
                    pass
                held = sys.maxsize
                yield None  # no text: csv.reader raises an error, and the next line is the first of the next record
            else:
                yield line.replace("\0", "")  # csv of Python 3.10 does not read NUL

    lines = record_lines()
    head = next((line for line in lines if line is None or line.strip("\ufeff \t\r\n\f")), "")
    if head == "":
        return
    delimiter, names = _header((head or "").removeprefix("\ufeff"), table.columns.text)
    used = {name: names.index(name) for name in table.columns.used if name in names}
    if table.columns.text not in used:
        problem = f"the first line names no column {table.columns.text!r}, only {_names(names)}"
        yield table.reject(1, "line 1", "no-text", f"{problem}. Name the text column with `text_column`")
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=f"{delimiter} " in (head or ""))
    while True:
        held, at = 0, number + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            is_large = held == sys.maxsize
            problem = f"a record of more than {most} characters or {_MAX_VALUES} fields" if is_large else str(error)
            yield table.reject(at, f"line {at}", "too-large" if is_large else "malformed-csv", problem)
            continue
        if fields is None:
            return
        if len(fields) < 2 and not "".join(fields).strip():
            continue  # a blank line
        if len(fields) < len(names) or any(fields[len(names) :]):
            problem = f"{len(fields)} fields where the first line has {len(names)}"
            yield table.reject(at, f"line {at}", "malformed-csv", problem)
        else:
            yield table.row(at, f"line {at}", {name: fields[place] for name, place in used.items()})


def _header(line: str, column: str) -> tuple[str, list[str]]:
    """Return the delimiter and the column names. It is one that yields `column`, if any, and among these most names."""
    readers = [(mark, csv.reader([line], delimiter=mark, skipinitialspace=True)) for mark in ",;\t|"]
    headers = [(mark, [name.strip() for name in next(reader, [])]) for mark, reader in readers]
    return max(headers, key=lambda header: (column in header[1], len(header[1])))

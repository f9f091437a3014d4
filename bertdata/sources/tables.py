"""Read tables of texts: JSON lines, CSV and TSV here, Parquet and Arrow in `bertdata.sources.columnar`.

A range of a table is a run of complete lines, row groups or record batches. A broken row, row group or batch costs itself; a
compressed text file is not read further.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

from ..config.input_kinds import ARCHIVES, DELIMITED, PLAIN
from ..credentials import hide
from ..errors import did_you_mean, few
from ..records import Drop, FileRange, Reject
from .encodings import MARK_BROKEN, REPAIR, encoding_of
from .lines import or_empty, split_lines
from .packed import PACKED, BrokenFile, lines_of, open_packed

_OTHER_SUFFIXES = (*PLAIN, *ARCHIVES, ".epub", ".xml")
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can contain half a character, which cannot be encoded
_MAX_VALUES = 1_000_000  # per JSON or CSV line, counted by delimiters; each takes up to 200 bytes of memory, but only two of text
_DELIMITERS = ",;\t|"
_SAMPLE_BYTES = 1 << 20  # used to detect the encoding of a CSV file


class Columns(NamedTuple):
    """The names of the text, title and id columns; the id may be "" for none."""

    text: str = "text"
    title: str = "title"
    id: str = ""

    def missing(self, names: Sequence[str], texts: Sequence[str]) -> tuple[str, str]:
        """Return the reason and the problem if a column is missing, or "" twice. A title is optional unless one is requested."""
        for kind, name in (("text", self.text), ("id", self.id), ("title", self.title)):
            there = texts if kind == "text" else names
            if name and name not in there and (kind, name) != ("title", "title"):
                known = (few([repr(other[:40]) for other in there], 12) or "none") + did_you_mean(name, there)
                return f"no-{kind}", f"no column {name!r} for the {kind}: set `{kind}_column` to one of {known}"
        return "", ""


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

    def reject(self, at: int | str, reason: str, problem: str, lost: int = 0) -> Reject:
        """Return a reject. Its place is a byte, line, row group or record batch, and a row in the latter two."""
        return Reject(f"{self.source}:{self.part.name}:{at}", reason, f"{self.part.name}:{at}: {problem}", lost)

    def row(self, at: int | str, values: dict[str, Any]) -> Row | Drop | Reject:
        """Make a row from its columns; an empty one is a drop. Reasons: ``no-text``, ``no-id``, ``too-large``, ``bad-utf-8``."""
        columns, value = self.columns, values.get(self.columns.text, False)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = "\n\n".join(value)
        if value is None or (isinstance(value, str) and not value.strip()):
            return Drop("empty")
        if not isinstance(value, str):
            is_there = columns.text in values
            problem = f"no text in the column {columns.text!r}" if is_there else columns.missing((), list(values))[1]
            return self.reject(at, "no-text", problem)
        name = values.get(columns.id) if columns.id else at
        if type(name) not in (str, int) or name == "":
            return self.reject(at, "no-id", f"nothing in the column {columns.id!r} that could be an id")
        others = map(values.get, (columns.title, "language", "url"))
        title, language, url = (other if isinstance(other, str) else "" for other in others)
        id = f"{self.source}:{self.part.name}:{name}"
        if any(map(_SURROGATE.search, (id, value, title, language, url))):
            return self.reject(at, "bad-utf-8", "bytes that are not in the encoding of the file, or half a character")
        if len(value) > self.max_bytes or len(value.encode()) > self.max_bytes:
            return self.reject(at, "too-large", f"a text of more than {self.max_bytes} bytes")
        return Row(id, title, language, hide(url), value)


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
        return [(0, length)]
    return split_lines(path, length, target)


def read_table(
    part: FileRange, source: str, columns: Columns, max_bytes: int, *, encoding: str = "", data: bytes | None = None
) -> Rows:
    """Read the rows of a range that `split_table` returned, or of the `data` of a file in an archive.

    `encoding` is that of CSV and TSV, "" to detect it. Reasons of rejects, in addition to those of `Table.row`:
    ``malformed-json``, ``malformed-csv``, ``no-title``, ``undecodable``, ``truncated``, ``damaged``, ``decompression-bomb``.
    """
    table, name = Table(part, source, columns, max_bytes), part.name.lower()
    if name.endswith((".parquet", ".arrow")):
        from . import columnar

        rows = (columnar.read_parquet if name.endswith(".parquet") else columnar.read_arrow)(table)
    else:
        rows = (
            _read_delimited(table, encoding, data)
            if name.endswith(DELIMITED)
            else _read_json_lines(table, None if data is None else io.BytesIO(data))
        )
    try:
        yield from or_empty(rows, part, source)
    except BrokenFile as error:
        yield error.as_reject(f"{source}:{part.name}:{part.start}")


# --- JSON lines ---


def _read_json_lines(table: Table, whole: IO[bytes] | None) -> Rows:
    """Read one object per line; blank lines are skipped."""
    for at, line in lines_of(table.part, table.max_bytes, whole):
        # Parsing a line takes many times its memory if it has many values.
        if line is None or sum(map(line.count, (b",", b"{", b"["))) > _MAX_VALUES:
            yield table.reject(at, "too-large", f"a line of more than {table.max_bytes} bytes or {_MAX_VALUES} values")
        elif (line := line.removeprefix(codecs.BOM_UTF8)).strip():
            try:
                value: Any = json.loads(line.decode())
            except (ValueError, RecursionError) as error:
                reason = "bad-utf-8" if isinstance(error, UnicodeDecodeError) else "malformed-json"
                yield table.reject(at, reason, str(error))
            else:
                is_row = isinstance(value, dict)
                yield table.row(at, value) if is_row else table.reject(at, "malformed-json", "a line that is not an object")


# --- CSV and TSV ---


def _read_delimited(table: Table, encoding: str, data: bytes | None) -> Rows:
    """Read a file whose first line names the columns. Fields may be quoted as in RFC 4180; blank lines are skipped.

    The position in a row's id is the number of its first line, counted from 1. A row that is too large or malformed is a reject,
    and reading goes on.
    """

    def opened() -> Any:
        return open_packed(table.part.path, table.part.name) if data is None else io.BytesIO(data)

    sample = b""
    with opened() as file, contextlib.suppress(BrokenFile):
        while len(sample) < _SAMPLE_BYTES and (more := file.read1(_SAMPLE_BYTES)):
            sample += more
    if len(sample) >= _SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1 or None]  # do not cut a character
    try:
        detected = encoding_of(sample, encoding)
    except ValueError as error:
        yield table.reject(1, "undecodable", str(error))
        return
    errors = REPAIR if detected == "utf-8" != encoding else MARK_BROKEN
    with opened() as file:  # again, because a larger buffer would lose what comes before damage
        yield from _read_records(table, io.TextIOWrapper(file, detected, errors))


def _read_records(table: Table, text: io.TextIOWrapper[Any]) -> Rows:
    most = table.max_bytes
    csv.field_size_limit(max(_SAMPLE_BYTES, most))
    number, held, head = 0, 0, "\n"  # lines read, characters of the record, and the first line that is not blank
    while head and not head.strip("\ufeff \t\r\n\f"):
        number, head = number + 1, text.readline(_SAMPLE_BYTES)
    if not head:
        return
    head = head.removeprefix("\ufeff").replace("\0", "")  # csv of Python 3.10 does not read NUL
    # The delimiter is one that yields the column of the text, if any, and among these the one with most names.
    headers = [(mark, next(csv.reader([head], delimiter=mark, skipinitialspace=True))) for mark in _DELIMITERS]
    delimiter, names = max(headers, key=lambda header: (table.columns.text in header[1], len(header[1])))
    reason, problem = table.columns.missing(names, names)
    if reason:
        yield table.reject(1, reason, problem)
        return

    def read_line() -> str:
        # A quote that is never closed would make a record of the rest of the file.
        nonlocal number, held
        line = text.readline(most + 1)
        number, held = number + 1, held + len(line)
        if held > most or max(map(line.count, _DELIMITERS)) > _MAX_VALUES:
            while line and not line.endswith("\n"):
                line = text.readline(_SAMPLE_BYTES)
            raise csv.Error  # the next line begins the next record
        return line.replace("\0", "")

    reader = csv.reader(iter(read_line, ""), delimiter=delimiter, skipinitialspace=f"{delimiter} " in head)
    while True:
        held, at = 0, number + 1
        try:
            fields = next(reader, None)
        except csv.Error:
            yield table.reject(at, "too-large", f"a record of more than {most} characters or {_MAX_VALUES} fields")
            continue
        if fields is None:
            return
        if len(fields) < min(2, len(names)) and not "".join(fields).strip():
            continue  # a blank line
        if len(fields) < len(names) or any(fields[len(names) :]):
            problem = f"{len(fields)} fields, up to line {number}, where the first line has {len(names)}"
            yield table.reject(at, "malformed-csv", problem)
        else:
            yield table.row(at, dict(zip(names[::-1], fields[len(names) - 1 :: -1], strict=True)))  # the first of each name

"""Read comma- and tab-separated files, for `bertdata.sources.tables`. The first line names the columns."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator
from typing import IO, Any

from ..records import Drop, FileRange
from .encodings import BROKEN_BYTE, MARK_BROKEN, REPAIR, BinaryData, encoding_of
from .tables import MAX_VALUES, NAME, NAMED, Columns, RowAddress, Rows, open_text

_DELIMITERS = {".csv": ",;\t|", ".tsv": "\t,;|"}  # most likely first
_SAMPLE_BYTES = 1 << 20  # used to detect the encoding of a CSV file
_BUFFER_BYTES = 1 << 20


def read_delimited(
    part: FileRange, whole: RowAddress, columns: Columns, max_bytes: int, encoding: str, file: IO[bytes] | None
) -> Rows:
    """Read a file whose first line names the columns. Fields may be quoted as in RFC 4180; blank lines are skipped.

    The position in a row's id is the number of its first line, counted from 1.
    """
    with open_text(part, file) as opened:
        sample = opened.read(_SAMPLE_BYTES)
    try:
        encoding, errors = _detected(sample, encoding)
    except ValueError as error:
        yield whole, whole.reject("binary" if isinstance(error, BinaryData) else "undecodable", str(error))
        return
    csv.field_size_limit(max(csv.field_size_limit(), max_bytes))
    with open_text(part, file) as opened:
        lines = _Lines(io.TextIOWrapper(opened, encoding, errors), max_bytes)
        first = next((line for line in lines if not line.isspace()), "")
        if not first:
            yield whole, Drop("empty")
            return
        delimiter, names = _header(first.removeprefix("\ufeff"), part.name, columns)
        if columns.text not in names:
            there = ", ".join(name[:NAME] for name in names[:NAMED])
            problem = f"the first line names no column {columns.text!r}, only {there}. Name the text column with `text_column`"
            yield whole, whole._replace(at=1, words="line 1").reject("no-text", problem)
            return
        yield from _read_rows(lines, delimiter, names, columns, whole)


def _read_rows(lines: _Lines, delimiter: str, names: list[str], columns: Columns, whole: RowAddress) -> Rows:
    """Read the rows below the line of names. A row that is too large or malformed is a reject, and reading goes on."""
    used = {name: names.index(name) for name in columns.used if name in names}
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        lines.held, at = 0, lines.number + 1
        address = whole._replace(at=at, words=f"line {at}")
        try:
            fields = next(reader, None)
        except csv.Error as error:
            is_large = str(error).startswith("a record of more than")
            yield address, address.reject("too-large" if is_large else "malformed-csv", str(error))
            reader = csv.reader(lines, delimiter=delimiter)
            continue
        if fields is None:
            break
        if len(fields) < 2 and not "".join(fields).strip():
            continue  # a blank line
        values = {name: fields[at] for name, at in used.items() if at < len(fields)}
        if len(fields) < len(names) or any(fields[len(names) :]):
            yield address, address.reject("malformed-csv", f"{len(fields)} fields where the first line has {len(names)}")
        elif any(BROKEN_BYTE in value for value in values.values()):
            yield address, address.reject("undecodable", "bytes that are not in the encoding of the file")
        else:
            yield address, values


class _Lines:
    """The lines of a file, for `csv`. A record of more than `most` characters raises csv.Error, and the next line is the next.

    A quote that is never closed would otherwise make a record of the rest of the file.
    """

    def __init__(self, text: io.TextIOWrapper[Any], most: int) -> None:
        self._text, self._most = text, most
        self.number = self.held = 0  # lines read, and characters of the record

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._most + 1).replace("\0", "")  # csv of Python 3.10 does not read NUL
        if not line:
            raise StopIteration
        self.number += 1
        self.held += len(line)
        if self.held > self._most and not (self.held == len(line) and line.endswith("\n")):
            while not line.endswith("\n") and (line := self._text.readline(_BUFFER_BYTES)):
                pass
            raise csv.Error(f"a record of more than {self._most} characters")
        if max(map(line.count, ",;\t|")) > MAX_VALUES:
            raise csv.Error(f"a record of more than {MAX_VALUES} fields")
        return line


def _detected(sample: bytes, encoding: str) -> tuple[str, str]:
    """Detect the encoding from the start of a file; also return the error handler for undecodable bytes."""
    if len(sample) == _SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1 or None]  # do not cut a character
    detected = encoding_of(sample, encoding)
    if detected == "utf-8" != encoding:
        return detected, REPAIR
    return detected, MARK_BROKEN if detected == encoding or detected.startswith("utf") else "replace"


def _header(line: str, name: str, columns: Columns) -> tuple[str, list[str]]:
    """Return the delimiter and column names: the first delimiter that yields the text column, else the one with most names."""
    likely = next(each for suffix, each in _DELIMITERS.items() if suffix in name.lower()[-8:])
    headers = {}
    for delimiter in likely:
        with contextlib.suppress(csv.Error):
            headers[delimiter] = [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]
            if columns.text in headers[delimiter]:
                return delimiter, headers[delimiter]
    return max(headers.items(), key=lambda item: len(item[1]), default=(",", []))

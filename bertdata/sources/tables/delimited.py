"""Read comma- and tab-separated files. The first line names the columns, and each record after it is a row.

Fields may be quoted as in RFC 4180.  Many real files quote carelessly, so an unclosed quote is treated as an ordinary character:

    id,text
    1,"Tea, and
    cake"               one record of two lines
    2,"Tea              one record of one line: no quote closes this one properly
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections import deque
from collections.abc import Iterator
from typing import IO, Any, NamedTuple, cast

from ...records import FileRange, Reject
from ...storage.files import open_file
from ..compressed import Stream
from ..encodings import BROKEN_BYTE, MARK_BROKEN, REPAIR, BinaryData, encoding_of
from .columns import Columns, Row, RowAddress, make_row

__all__ = ["read_delimited"]

_DELIMITERS = {".csv": ",;\t|", ".tsv": "\t,;|"}  # most likely first
_SAMPLE_BYTES = 1 << 20  # used to detect the encoding
_BUFFER_BYTES = 1 << 18
_MAX_FIELDS = 1_000_000  # per record; each takes 60 bytes of memory
_LINE_BYTES = 64  # memory overhead of a line
_FREE_RESCAN, _MAX_RESCANS = 1 << 20, 4  # characters, and multiples of the file's size; above both, quotes are ordinary
_UNCLOSED_QUOTE = "unexpected end of data"  # csv's error for an unclosed quoted field


def read_delimited(
    part: FileRange, source: str, columns: Columns, max_bytes: int, encoding: str = "", file: IO[bytes] | None = None
) -> Iterator[Row | Reject]:
    """Read the rows of a file, or of an open `file` in an archive; blank lines are skipped.

    The position in a row's id is the number of its first line, counted from 1.
    Reasons, in addition to those of `make_row`: ``malformed-csv``, ``too-large``, ``binary``, ``undecodable``, ``truncated``,
    ``damaged``.
    """
    address = RowAddress(source, part.name, 0, "the file")
    with _opened(part, file) as (data, _):
        sample = data.read(_SAMPLE_BYTES)
    try:
        encoding, errors = _detected(sample, encoding)
    except ValueError as error:
        yield address.reject("binary" if isinstance(error, BinaryData) else "undecodable", str(error))
        return
    with _opened(part, file) as (data, stream):
        text = io.TextIOWrapper(data, encoding, errors)
        last: Row | Reject | None = None
        for row in _rows(_Lines(text, max_bytes), part, source, columns, max_bytes):
            if last is not None:
                yield last
            last = row
        damage = stream.damage if stream else None
        if last is not None and damage is None:
            yield last  # otherwise the damage may have truncated it
        if damage is not None:
            where = f"bytes {damage.start}-{damage.end} of {part.name}: {damage.reason}; what follows is lost"
            cut = damage.reason == "truncated-stream"
            yield Reject(address.id, "truncated" if cut else "damaged", where, 0 if cut else part.end - damage.start)


@contextlib.contextmanager
def _opened(part: FileRange, file: IO[bytes] | None) -> Iterator[tuple[IO[bytes], Stream | None]]:
    """Open a file at its beginning; also return its stream if it is compressed."""
    if file is not None:
        file.seek(0)
        yield file, None
    elif part.name.lower().endswith(tuple(_DELIMITERS)):
        with open_file(part.path) as plain:
            yield plain, None
    else:
        stream = Stream(part.path)
        yield cast("IO[bytes]", io.BufferedReader(stream, _BUFFER_BYTES)), stream


def _detected(sample: bytes, encoding: str) -> tuple[str, str]:
    """Detect the encoding from the start of a file; also return the error handler for undecodable bytes."""
    if len(sample) == _SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1 or None]  # do not cut a character
    detected = encoding_of(sample, encoding)
    if detected == "utf-8" != encoding:
        return detected, REPAIR
    return detected, MARK_BROKEN if detected == encoding or detected.startswith("utf") else "replace"


def _rows(lines: _Lines, part: FileRange, source: str, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    delimiter, names = _header(lines, part.name, columns)
    if columns.text not in names:
        there = ", ".join(name[:40] for name in names[:12])
        problem = f"the first line names no column {columns.text!r}, only {there}. Name the text column with `text_column`"
        yield RowAddress(source, part.name, 1, "line 1").reject("no-text" if any(names) else "empty", problem)
        return
    used = {name: names.index(name) for name in columns.used if name in names}
    while (record := lines.record(delimiter)) is not None:
        address = RowAddress(source, part.name, record.line, f"line {record.line}")
        fields = record.fields
        if record.reason:
            yield address.reject(record.reason, record.problem)
        elif len(fields) == 1 and not fields[0].strip():
            continue  # a blank line
        elif len(fields) < len(names) or any(fields[len(names) :]):
            yield address.reject("malformed-csv", f"{len(fields)} fields where the first line has {len(names)}")
        else:
            values = {name: fields[at] for name, at in used.items()}
            broken = _undecoded(values)
            yield address.reject(*broken) if broken else make_row(dict(values), address, columns, max_bytes)


def _undecoded(values: dict[str, str]) -> tuple[str, str] | None:
    """Return the reason and the problem of a row whose bytes are not text, or None."""
    if any("\0" in value for value in values.values()):
        return "binary", "a NUL character"
    if any(BROKEN_BYTE in value for value in values.values()):
        return "undecodable", "bytes that are not in the encoding of the file"
    return None


def _header(lines: _Lines, name: str, columns: Columns) -> tuple[str, list[str]]:
    """Return the delimiter and column names: the first delimiter that yields the text column, else the one with most names."""
    text = (lines.next().text or "").removeprefix("\ufeff")
    while text.isspace():
        text = lines.next().text or ""
    likely = next(each for suffix, each in _DELIMITERS.items() if suffix in name.lower()[-8:])
    headers = {}
    for delimiter in likely:
        headers[delimiter] = [field.strip() for field in _split(text, delimiter)] if text.count(delimiter) < _MAX_FIELDS else []
        if columns.text in headers[delimiter]:
            return delimiter, headers[delimiter]
    return max(headers.items(), key=lambda item: len(item[1]))


class _Line(NamedTuple):
    """A line: its number and its text with the line end. The text is None for a line over the limit, "" at the end."""

    number: int
    text: str | None


class _Record(NamedTuple):
    """A record: the number of its first line, and its fields or the reason why it is rejected."""

    line: int
    fields: list[str]
    reason: str = ""
    problem: str = ""


class _Lines:
    """Read lines of bounded length and join the lines of a record.

    The csv module would read to the end of the file after an unclosed quote, and keep it all in memory.
    """

    def __init__(self, text: io.TextIOWrapper[Any], max_bytes: int) -> None:
        self._text, self._max = text, max_bytes
        self._returned: deque[_Line] = deque()  # lines read ahead that do not belong to the record
        self._number = self._read = self._rescanned = 0
        csv.field_size_limit(max(csv.field_size_limit(), max_bytes))

    def next(self) -> _Line:
        """Read a line."""
        if self._returned:
            return self._returned.popleft()
        line = self._text.readline(self._max + 1)
        self._number += 1
        self._read += len(line)
        if len(line) <= self._max or line.endswith("\n"):
            return _Line(self._number, line)
        while (rest := self._text.readline(_BUFFER_BYTES)) and not rest.endswith("\n"):
            pass
        return _Line(self._number, None)

    def record(self, delimiter: str) -> _Record | None:
        """Read a record, or return None at the end of the file."""
        first = self.next()
        if first.text is None:
            return self._too_large(first, f"a line of more than {self._max} characters")
        if not first.text:
            return None
        # Reading lines again could take quadratic time in a file of unclosed quotes. `_rescanned`
        # counts it, and above the limit quotes are not interpreted any more.
        if "\0" in first.text or '"' not in first.text or self._rescanned > _FREE_RESCAN + _MAX_RESCANS * self._read:
            return self._record(first, _plain(first.text, delimiter), delimiter)
        fields = _parsed(first.text, delimiter)
        if fields is None:
            return self._of_lines(first, delimiter)
        return self._record(first, fields or _plain(first.text, delimiter), delimiter)

    def _of_lines(self, first: _Line, delimiter: str) -> _Record:
        """Read a record whose first line ends inside quotes; if they are not closed correctly, return only that line."""
        # A quote is open at the end of the line. Read on until a line closes it. If none does, or
        # the result is not a valid record, the quote was an ordinary character: the record is the
        # first line alone, and the other lines go back to be read again.
        lines, size = [first], len(first.text or "")
        inside: list[str] | None = None
        while inside is None:
            line = self.next()
            if not line.text and line.text is not None:
                break  # the end of the file
            size += len(line.text or "") + _LINE_BYTES
            if line.text is None or size > self._max:
                self._skip(line, delimiter)
                return self._too_large(first, f"a quoted field of more than {self._max} characters")
            lines.append(line)
            inside = _inside(line.text, delimiter)
        joined = _parsed("".join(line.text or "" for line in lines), delimiter) if inside else None
        if joined:
            return self._record(first, joined, delimiter)
        self._returned.extendleft(reversed(lines[1:]))
        self._rescanned += size
        return self._record(first, _plain(first.text or "", delimiter), delimiter)

    def _skip(self, line: _Line, delimiter: str) -> None:
        """Skip to the line where the quotes close."""
        while line.text and _inside(line.text, delimiter) is None:
            line = self.next()

    def _record(self, first: _Line, fields: list[str], delimiter: str) -> _Record:
        if len(fields) > _MAX_FIELDS:
            return self._too_large(first, f"a record of more than {_MAX_FIELDS} fields")
        return _Record(first.number, fields)

    def _too_large(self, first: _Line, problem: str) -> _Record:
        return _Record(first.number, [], "too-large", problem)


def _split(text: str, delimiter: str) -> list[str]:
    return _parsed(text, delimiter) or _plain(text, delimiter)


def _inside(text: str, delimiter: str) -> list[str] | None:
    """Parse a line that begins inside quotes, like `_parsed`."""
    return _parsed(f'"{text}', delimiter) if '"' in text else None


def _plain(text: str, delimiter: str) -> list[str]:
    """Split a line, with quotes as ordinary characters."""
    return text.removesuffix("\n").split(delimiter, _MAX_FIELDS + 1)


def _parsed(text: str, delimiter: str) -> list[str] | None:
    """Parse a record: return its fields, [] if its quotes are wrong, and None if it ends inside quotes."""
    if text.count(delimiter) > _MAX_FIELDS:
        return []
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        return None if str(error) == _UNCLOSED_QUOTE else []

"""Read JSON lines, one object per line: plain files in ranges of complete lines, compressed files in one range."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, cast

from ...records import FileRange, Reject
from ...storage.files import open_file
from ..compressed import Stream
from ..line_ranges import check_end, read_lines, skip_line
from .columns import Columns, Row, RowAddress, make_row
from .limits import Allowance, TooLarge

__all__ = ["read_json_lines"]

_BUFFER_BYTES = 1 << 18
_MIN_CHECKED_BYTES = 1 << 20  # minimum bytes of a line that is checked before parsing
_MAX_VALUES = 1_000_000  # per line; each takes up to 200 bytes of memory, but only two of text
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|([,{\[])', re.DOTALL)  # a string, or the character before a value


def read_json_lines(
    part: FileRange, source: str, columns: Columns, max_bytes: int, file: IO[bytes] | None = None
) -> Iterator[Row | Reject]:
    """Read the objects of a range of a file, or of an open `file` in an archive; blank lines are skipped.

    Reasons, in addition to those of `make_row`: ``bad-utf-8``, ``malformed-json``, ``too-large``, ``truncated``, ``damaged``,
    ``decompression-bomb``, ``too-many-rejects``.
    """
    if part.name.lower().endswith(".jsonl"):
        with open_file(part.path) if file is None else contextlib.nullcontext(file) as plain:
            plain.seek(part.start)
            yield from _rows(plain, part, source, columns, max_bytes, part.end - part.start)
            yield from check_end(plain, part, source)
        return
    stream = Stream(part.path)
    unpacked = cast("IO[bytes]", io.BufferedReader(stream, _BUFFER_BYTES))
    while True:
        last: Row | Reject | None = None
        for row in _rows(unpacked, part, source, columns, max_bytes, None):
            if last is not None:
                yield last
            last = row
        damage = stream.damage
        if last is not None and not (damage and isinstance(last, Reject)):
            yield last  # the damage is reported below, not the line it broke
        if damage is None:
            return
        cut = damage.reason == "truncated-stream"
        where = f"bytes {damage.start}-{damage.end} of {part.name}: {damage.reason}"
        lost = 0 if cut else damage.end - damage.start
        yield Reject(f"{source}:{part.name}:{unpacked.tell()}", damage.of_file, where, lost)
        stream.go_on()
        skip_line(unpacked)


def _rows(
    file: IO[bytes], part: FileRange, source: str, columns: Columns, max_bytes: int, size: int | None
) -> Iterator[Row | Reject]:
    begin, rejected = file.tell(), Allowance((part.end - part.start) // 2)
    for start, line in read_lines(file, size, max_bytes):
        address = _address(source, part, begin + start)
        row: Row | Reject | None = None
        if line is None:
            row = address.reject("too-large", f"a line of more than {max_bytes} bytes")
        elif line.strip():
            row = _row(line, address, columns, max_bytes)
        if row is not None:
            yield row
        if isinstance(row, Reject):  # a small file can unpack to gigabytes of lines without text
            try:
                rejected.take(len(line or b""))
            except TooLarge:
                problem = "the lines rejected so far are many times the size of the file; the rest is skipped"
                yield address.reject("too-many-rejects", problem, part.end - part.start)
                return


def _row(line: bytes, address: RowAddress, columns: Columns, max_bytes: int) -> Row | Reject:
    if len(line) > _MIN_CHECKED_BYTES and _has_too_many_values(line):
        return address.reject("too-large", f"a line of more than {_MAX_VALUES} values")
    try:
        value: Any = json.loads(line.decode("utf-8-sig" if address.at == 0 else "utf-8"))
    except UnicodeDecodeError as error:
        return address.reject("bad-utf-8", f"{error.reason} at byte {error.start} of the line")
    except (ValueError, RecursionError) as error:
        return address.reject("malformed-json", str(error))
    if not isinstance(value, dict):
        return address.reject("malformed-json", f"{type(value).__name__} where an object should be")
    return make_row(value, address, columns, max_bytes)


def _has_too_many_values(line: bytes) -> bool:
    """Return True if parsing a line takes many times its memory; commas and brackets in strings are not counted."""
    if sum(map(line.count, (b",", b"{", b"["))) <= _MAX_VALUES:
        return False
    return next(islice((token for token in _TOKEN.finditer(line) if token[1]), _MAX_VALUES, None), None) is not None


def _address(source: str, part: FileRange, at: int) -> RowAddress:
    return RowAddress(source, part.name, at, f"byte {at}")

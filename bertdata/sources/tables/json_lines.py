"""JSON lines: an object a line, plain in ranges of whole lines, or compressed as a whole."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import IO, Any, cast

from ...files import opened
from ...records import Piece, Reject
from ..compressed import Stream
from ..ranges import check_end, read_lines, skip_line
from .columns import Columns, Place, Row, make_row

__all__ = ["read_json_lines"]

_BUFFER = 1 << 18


def read_json_lines(piece: Piece, source: str, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    """Read the objects of a piece; blank lines are none.

    Reasons, beside those of `make_row`: ``bad-utf-8``, ``malformed-json``, ``too-large``, ``truncated``, ``damaged``.
    """
    if piece.name.lower().endswith(".jsonl"):
        with opened(piece.path) as file:
            file.seek(piece.start)
            yield from _rows(file, piece, source, columns, max_bytes, piece.end - piece.start)
            yield from check_end(file, piece, source)
        return
    stream = Stream(piece.path)
    unpacked = cast("IO[bytes]", io.BufferedReader(stream, _BUFFER))
    while True:
        last: Row | Reject | None = None
        for row in _rows(unpacked, piece, source, columns, max_bytes, None):
            if last is not None:
                yield last
            last = row
        damage = stream.damage
        if last is not None and not (damage and isinstance(last, Reject)):
            yield last  # what damage has made of a line is told with the damage
        if damage is None:
            return
        cut = damage.reason == "truncated-stream"
        where = f"bytes {damage.start}-{damage.end} of {piece.name}: {damage.reason}"
        lost = 0 if cut else damage.end - damage.start
        yield Reject(f"{source}:{piece.name}:{unpacked.tell()}", "truncated" if cut else "damaged", where, lost)
        stream.go_on()
        skip_line(unpacked)


def _rows(
    file: IO[bytes], piece: Piece, source: str, columns: Columns, max_bytes: int, size: int | None
) -> Iterator[Row | Reject]:
    begin = file.tell()
    for start, line in read_lines(file, size, max_bytes):
        place = _place(source, piece, begin + start)
        if line is None:
            yield place.reject("too-large", f"a line of more than {max_bytes} bytes")
        elif line.strip():
            yield _row(line, place, columns, max_bytes)


def _row(line: bytes, place: Place, columns: Columns, max_bytes: int) -> Row | Reject:
    try:
        value: Any = json.loads(line.decode("utf-8-sig" if place.at == 0 else "utf-8"))
    except UnicodeDecodeError as error:
        return place.reject("bad-utf-8", f"{error.reason} at byte {error.start} of the line")
    except (ValueError, RecursionError) as error:
        return place.reject("malformed-json", str(error))
    if not isinstance(value, dict):
        return place.reject("malformed-json", f"{type(value).__name__} where an object should be")
    return make_row(value, place, columns, max_bytes)


def _place(source: str, piece: Piece, at: int) -> Place:
    return Place(source, piece.name, at, f"byte {at}")

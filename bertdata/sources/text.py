"""Any text of your own: plain files, one document each, and JSON lines, one document a line."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import IO, Any, NamedTuple, cast

from ..records import Piece, Reject
from .encodings import BinaryData, decode
from .lines import paragraphs

__all__ = ["Text", "read_lines", "read_text", "split_lines"]

_BLOCK = 1 << 20  # bytes of an over-long line read at a time, while it is skipped
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can spell half a character, which no encoding can write


class Text(NamedTuple):
    """A document as its author wrote it: no cleaning, paragraphs only."""

    id: str
    title: str
    language: str
    url: str
    paragraphs: list[str]


def read_text(
    pieces: Iterable[Piece],
    *,
    text_column: str = "text",
    id_column: str | None = None,
    title_column: str = "title",
    max_bytes: int,
) -> Iterator[Text | Reject]:
    """Read ``.txt``, ``.jsonl`` and ``.jsonl.gz`` pieces; what can't be read comes out as a Reject.

    A piece of a ``.jsonl`` file is a range of whole lines (`split_lines` makes them); other files are one piece.
    A document, the line that holds it or the file, may have `max_bytes` bytes.  Reasons: ``empty``, ``too-large``,
    ``bad-utf-8``, ``malformed-json``, ``no-text``, ``binary``, ``undecodable``, ``truncated``, ``unreadable``.
    """
    columns = _Columns(text_column, id_column, title_column)
    for piece in pieces:
        name = piece.name.lower()
        try:
            if name.endswith(".jsonl"):
                with open(piece.path, "rb") as file:
                    file.seek(piece.start)
                    yield from _read_json_lines(file, piece, piece.end, columns, max_bytes)
            elif name.endswith(".jsonl.gz"):
                with gzip.open(piece.path, "rb") as unzipped:
                    yield from _read_json_lines(cast("IO[bytes]", unzipped), piece, None, columns, max_bytes)
            else:
                yield _read_plain(piece, max_bytes)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Reject(f"text:{piece.name}", "truncated", f"{piece.name}: {error}")
        except OSError as error:
            yield Reject(f"text:{piece.name}", "unreadable", f"{piece.name}: {error.strerror or error}")


def read_lines(file: IO[bytes], size: int | None, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    r"""Read the lines of the next `size` bytes (None: to the end) with the offset where each starts, from 0.

    A line longer than `max_bytes`, its newline not counted, comes as None, and no more than a block of it is held.

    >>> import io
    >>> list(read_lines(io.BytesIO(b"one\ntwo two\n3"), None, 4))
    [(0, b'one'), (4, None), (12, b'3')]
    """
    at = 0
    while size is None or at < size:
        start, line = at, file.readline(max_bytes + 1)
        if not line:
            return
        at += len(line)
        if len(line) <= max_bytes or line.endswith(b"\n"):
            yield start, line.removesuffix(b"\n")
            continue
        while part := file.readline(_BLOCK):
            at += len(part)
            if part.endswith(b"\n"):
                break
        yield start, None


def split_lines(path: str, size: int, target: int) -> list[tuple[int, int]]:
    """Cut the first `size` bytes of a file into ranges of about `target` bytes, each a whole number of lines.

    Only the bytes from each cut to the next line start are read, a block at a time.  The ranges follow one another
    and cover the file; a line longer than `target` makes a range longer.  ValueError: `target` is below 1.

    A file of three lines of 10 bytes and a target of 12 gives ``[(0, 20), (20, 30)]``.
    """
    if target < 1:
        raise ValueError(f"target must be at least 1 byte, not {target}")
    ranges: list[tuple[int, int]] = []
    start = 0
    with open(path, "rb") as file:
        while start < size:
            end = min(size, start + target)
            file.seek(end - 1)
            while end < size and (part := file.readline(_BLOCK)):
                end = file.tell()
                if part.endswith(b"\n"):
                    break
            ranges.append((start, min(end, size)))
            start = ranges[-1][1]
    return ranges


class _Columns(NamedTuple):
    text: str
    id: str | None
    title: str


def _read_plain(piece: Piece, max_bytes: int) -> Text | Reject:
    id, where = f"text:{piece.name}", piece.name
    with open(piece.path, "rb") as file:
        data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            size = os.fstat(file.fileno()).st_size
            return Reject(id, "too-large", f"{where}: {size} bytes, more than {max_bytes}")
    try:
        found = paragraphs(decode(data))
    except BinaryData as error:
        return Reject(id, "binary", f"{where}: {error}")
    except ValueError as error:
        return Reject(id, "undecodable", f"{where}: {error}")
    return Text(id, PurePosixPath(piece.name).stem, "", "", found) if found else Reject(id, "empty", where)


def _read_json_lines(
    file: IO[bytes], piece: Piece, end: int | None, columns: _Columns, max_bytes: int
) -> Iterator[Text | Reject]:
    at = piece.start if end is not None else 0
    size = None if end is None else end - at
    offset = at
    for start, line in read_lines(file, size, max_bytes):
        offset = at + start
        if line is None:
            id, where = f"text:{piece.name}:{offset}", f"{piece.name}: byte {offset}"
            yield Reject(id, "too-large", f"{where}: a line of more than {max_bytes} bytes")
        elif line.strip():
            yield _read_json_line(line, offset, piece, columns)
    if end is not None and (missing := end - file.tell()) > 0:
        id, where = f"text:{piece.name}:{end - missing}", f"{piece.name}: byte {end - missing}"
        yield Reject(id, "truncated", f"{where}: the file ends {missing} bytes too early")


def _read_json_line(line: bytes, offset: int, piece: Piece, columns: _Columns) -> Text | Reject:
    id, where = f"text:{piece.name}:{offset}", f"{piece.name}: byte {offset}"
    try:
        row: Any = json.loads(line.decode("utf-8-sig" if offset == 0 else "utf-8"))
    except UnicodeDecodeError as error:
        return Reject(id, "bad-utf-8", f"{where}: {error.reason} at byte {error.start} of the line")
    except (ValueError, RecursionError) as error:
        return Reject(id, "malformed-json", f"{where}: {error}")
    if not isinstance(row, dict):
        return Reject(id, "malformed-json", f"{where}: {type(row).__name__} where an object should be")
    text = row.get(columns.text)
    if not isinstance(text, str):
        what = type(text).__name__ if columns.text in row else "nothing"
        return Reject(id, "no-text", f"{where}: {what} in the column {columns.text!r} where text should be")
    name = row.get(columns.id) if columns.id is not None else None
    if isinstance(name, (str, int)) and not isinstance(name, bool) and name != "":
        id = f"text:{piece.name}:{name}"
    title, language, url = (_text(row.get(key)) for key in (columns.title, "language", "url"))
    if any(map(_SURROGATE.search, (id, text, title, language, url))):
        safe = f"text:{piece.name}:{offset}"
        return Reject(safe, "bad-utf-8", f"{where}: a surrogate (half a character) is no text")
    found = paragraphs(text)
    return Text(id, title, language, url, found) if found else Reject(id, "empty", where)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

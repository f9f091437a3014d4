"""Read tables of texts: CSV, TSV, JSON lines, Parquet and Arrow, including files of `datasets` and the Hub.

A range of a table is a run of complete lines, row groups or record batches. A broken row costs itself, and a broken row group or
batch costs itself; a compressed text file or one that lost its place is not read further.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, NamedTuple

from ..config.input_kinds import ARCHIVES, DELIMITED, PLAIN
from ..credentials import hide
from ..errors import UsageError, few
from ..records import Drop, FileRange, Reject
from ..storage.files import open_file
from .lines import check_end, read_lines, split_lines
from .packed import BrokenFile, open_packed

MAX_PARAGRAPHS = 250_000  # maximum per document; the Bible has 31,000 verses
NAMED, NAME = 12, 40  # columns listed in a reject, and characters of a name
_OTHER_SUFFIXES = (*PLAIN, *ARCHIVES, ".epub", ".xml")
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can contain half a character, which cannot be encoded
_MIN_CHECKED_BYTES = 1 << 20  # minimum bytes of a JSON line that is checked before parsing
MAX_VALUES = 1_000_000  # per JSON line; each takes up to 200 bytes of memory, but only two of text
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|([,{\[])', re.DOTALL)  # a string, or the character before a value
_FREE_REJECTED, _REJECTED_RATIO = 32 << 20, 16  # bytes of rejected JSON lines: a base, plus a multiple of the file's size


class Columns(NamedTuple):
    """The names of the text, title and id columns; the id may be "" for none."""

    text: str = "text"
    title: str = "title"
    id: str = ""

    @property
    def used(self) -> list[str]:
        """The columns to read, if they exist."""
        return [name for name in (self.text, self.title, self.id, "language", "url") if name]


class RowAddress(NamedTuple):
    """The address of a row: source, file name, position (a byte or a number), and the position in words."""

    source: str
    name: str
    at: int | str
    words: str

    @property
    def id(self) -> str:
        """The id of a row without an id column."""
        return f"{self.source}:{self.name}:{self.at}"

    def reject(self, reason: str, problem: str, lost: int = 0) -> Reject:
        """Return a reject for the row at this address."""
        return Reject(self.id, reason, f"{self.name}: {self.words}: {problem}", lost)


class Row(NamedTuple):
    """A text from a table; if the value is a list, its strings are paragraphs."""

    id: str
    title: str
    language: str
    url: str
    text: str


def make_row(values: dict[str, Any], address: RowAddress, columns: Columns, max_bytes: int) -> Row | Drop | Reject:
    """Make a row from its columns; an empty one is a drop. Reasons: ``no-text``, ``no-id``, ``too-large``, ``bad-utf-8``.

    >>> make_row({"text": ["Tea.", "Cake."], "key": 7}, RowAddress("text", "a.jsonl", 0, "byte 0"), Columns(id="key"), 100)
    Row(id='text:a.jsonl:7', title='', language='', url='', text='Tea.\\n\\nCake.')
    """
    value = values.get(columns.text)
    if isinstance(value, list) and len(value) > MAX_PARAGRAPHS:
        return address.reject("too-large", f"a text of more than {MAX_PARAGRAPHS} paragraphs")
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n\n".join(value)
    if not isinstance(value, str):
        what = f"{type(value).__name__} in" if columns.text in values else "nothing in"
        there = few([key[:NAME] for key in values], NAMED) or "none"
        problem = f"{what} the column {columns.text!r} where text should be; the columns there: {there}"
        return address.reject("no-text", f"{problem}. Name the column of the text with `text_column`")
    if not value.strip():
        return Drop("empty")
    name = values.get(columns.id) if columns.id else None
    named = isinstance(name, str | int) and not isinstance(name, bool) and name != ""
    if columns.id and not named:
        return address.reject("no-id", f"nothing in the column {columns.id!r} that could be an id")
    id = f"{address.source}:{address.name}:{name}" if named else address.id
    title, language, url = (_text(values.get(key)) for key in (columns.title, "language", "url"))
    if any(map(_SURROGATE.search, (id, value, title, language, url))):
        return address.reject("bad-utf-8", "a surrogate (half a character) is not text")
    if len(value) > max_bytes or len(value.encode()) > max_bytes:
        return address.reject("too-large", f"a text of more than {max_bytes} bytes")
    return Row(id, title, language, hide(url), value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def is_table(name: str) -> bool:
    """Return True if a file is a table by its name. Files of an unknown suffix are only read if they contain JSON lines."""
    return not name.lower().endswith(_OTHER_SUFFIXES)


def _is_packed(name: str) -> bool:
    return name.lower().endswith((".gz", ".bz2", ".xz", ".zst"))


def split_table(path: str, length: int, target: int, columns: Columns) -> list[tuple[int, int]]:
    """Cut a table of `length` bytes into ranges of about `target` bytes, made of complete lines, row groups or record batches.

    Raise UsageError if the table lacks a required column.  An unreadable table is not cut; the task that reads it reports the
    problem.
    """
    from . import columnar  # importing Arrow takes 0.1 s

    name = path.lower()
    if not name.endswith((".parquet", ".arrow")):
        if not _is_packed(name) and not name.endswith((".csv", ".tsv")):
            return split_lines(path, length, target)
        if _is_packed(name):
            with contextlib.suppress(BrokenFile):
                open_packed(path, path).read(1)  # raises if the package that decompresses it is missing
        return [(0, length)]
    try:
        schema, places = columnar.parquet_groups(path) if name.endswith(".parquet") else columnar.arrow_batches(path)
        kinds = {field.name: field.type for field in schema}
    except columnar.FORMAT_ERRORS:
        return [(0, length)]
    if name.endswith(".arrow") and any("dictionary<" in str(kind) for kind in kinds.values()):
        raise UsageError(f"{path} has columns with dictionaries, which are only read from Parquet: write it as Parquet")
    columnar.check_columns(path, kinds, columns)
    starts = [0]
    for place in places:
        if place - starts[-1] >= target:
            starts.append(place)
    return list(zip(starts, [*starts[1:], length], strict=True))


def read_table(
    part: FileRange,
    source: str,
    columns: Columns,
    max_bytes: int,
    *,
    encoding: str = "",
    file: IO[bytes] | None = None,
) -> Iterator[Row | Drop | Reject]:
    """Read the rows of a range of a table.

    Reasons of rejects, in addition to those of `make_row`: ``malformed-json``, ``malformed-csv``, ``bad-utf-8``, ``binary``,
    ``undecodable``, ``too-large``, ``truncated``, ``damaged``, ``decompression-bomb``, ``too-many-rejects``.

    Args:
        part: A range that `split_table` returned, or all of an open `file`.
        source: Prefix of the rows' ids.
        columns: Columns to read.
        max_bytes: Maximum bytes of a row.
        encoding: Encoding of a CSV or TSV file; "" to detect it. The other formats are UTF-8.
        file: A CSV, TSV or JSON lines file in an archive, open for reading.
    """
    from . import columnar, delimited  # importing Arrow takes 0.1 s

    name = part.name.lower()
    readers = {
        ".parquet": columnar.read_parquet,
        ".arrow": columnar.read_arrow,
        **dict.fromkeys(DELIMITED, delimited.read_delimited),
    }
    read = next((reader for suffix, reader in readers.items() if name.endswith(suffix)), _read_json_lines)
    whole = RowAddress(source, part.name, part.start, "the file")
    try:
        for address, values in read(part, whole, columns, max_bytes, encoding, file):
            yield values if isinstance(values, Drop | Reject) else make_row(values, address, columns, max_bytes)
    except BrokenFile as error:
        yield Reject(whole.id, error.reason, error.where, error.lost)


# What a reader yields: the address of a row, and the values of its columns or the reason why there are none.
Rows = Iterator[tuple[RowAddress, "dict[str, Any] | Drop | Reject"]]


def open_text(part: FileRange, file: IO[bytes] | None) -> contextlib.AbstractContextManager[IO[bytes]]:
    """Open a text file at the start of its range, unpacked if its name says that it is packed."""
    if file is None and _is_packed(part.name):
        return open_packed(part.path, part.name)
    opened = open_file(part.path) if file is None else file
    opened.seek(part.start)
    return contextlib.nullcontext(opened) if opened is file else opened


# --- JSON lines ---


def _read_json_lines(
    part: FileRange, whole: RowAddress, columns: Columns, max_bytes: int, encoding: str, file: IO[bytes] | None
) -> Rows:
    """Read one object per line; blank lines are skipped."""
    left = _FREE_REJECTED + _REJECTED_RATIO * (part.end - part.start)
    is_plain = not _is_packed(part.name)
    with open_text(part, file) as opened:
        for start, line in read_lines(opened, part.end - part.start if is_plain else None, max_bytes):
            at = part.start + start
            address = whole._replace(at=at, words=f"byte {at}")
            if line is None:
                row: dict[str, Any] | Reject = address.reject("too-large", f"a line of more than {max_bytes} bytes")
            elif not line.strip():
                continue
            else:
                row = _parse_json(line, address)
            yield address, row
            # A small file can unpack to gigabytes of lines without text.
            if isinstance(row, Reject) or columns.text not in row:
                left -= 256 + len(line or b"")
                if left < 0:
                    problem = "the lines rejected so far are many times the size of the file; the rest is skipped"
                    yield address, address.reject("too-many-rejects", problem, part.end - part.start)
                    return
        if is_plain:
            yield from ((whole, reject) for reject in check_end(opened, part, whole.source))


def _parse_json(line: bytes, address: RowAddress) -> dict[str, Any] | Reject:
    if len(line) > _MIN_CHECKED_BYTES and _has_too_many_values(line):
        return address.reject("too-large", f"a line of more than {MAX_VALUES} values")
    try:
        value: Any = json.loads(line.decode("utf-8-sig" if address.at == 0 else "utf-8"))
    except UnicodeDecodeError as error:
        return address.reject("bad-utf-8", f"{error.reason} at byte {error.start} of the line")
    except (ValueError, RecursionError) as error:
        return address.reject("malformed-json", str(error))
    if not isinstance(value, dict):
        return address.reject("malformed-json", f"{type(value).__name__} where an object should be")
    return value


def _has_too_many_values(line: bytes) -> bool:
    """Return True if parsing a line takes many times its memory; commas and brackets in strings are not counted."""
    if sum(map(line.count, (b",", b"{", b"["))) <= MAX_VALUES:
        return False
    return next(islice((token for token in _TOKEN.finditer(line) if token[1]), MAX_VALUES, None), None) is not None

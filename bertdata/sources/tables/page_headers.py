"""Check the page headers of a Parquet column while Arrow reads them, and reject a page before Arrow unpacks it.

A column chunk is a sequence of pages. Each page is a header in Thrift's compact protocol, with the packed and unpacked size, and
the packed bytes. Arrow allocates the size in the header, so the file object passed to Arrow checks each header first.

    header (type, unpacked, packed) | packed bytes | header | packed bytes | ...
"""

from __future__ import annotations

from typing import IO, Any, NamedTuple

from .limits import TooLarge, check_unpacked

__all__ = ["Guarded", "TooManyRows"]

_MAX_HEADER_BYTES = 16 << 20  # bytes, Arrow's own limit
_DICTIONARY_PAGE = 2  # page type of a dictionary, whose values other pages reference by index
_MAX_BATCH_BYTES = 16 << 20  # maximum bytes of a batch's rows if each references the longest value of a dictionary
_I32, _STRUCT = 5, 12  # types of Thrift's compact protocol
_SIZES = {1: 0, 2: 0, 3: 1, 7: 8}  # bytes of types with a fixed size
_MAX_DEPTH = 16
_TYPE, _UNPACKED, _PACKED = 1, 2, 3  # fields of a page's header
_OLD, _NEW = 5, 8  # structs in it for data pages, in two versions of the format
_COUNT, _ENCODING = 1, {_OLD: 2, _NEW: 4}  # fields of these
_DELTA_BYTE_ARRAY = 7  # DELTA_BYTE_ARRAY encoding: each value shares a prefix with the previous one
_VALUES, _VALUES_RATIO = 1 << 21, 4  # values in a chunk of lists: a base, plus a multiple of its packed bytes


class TooManyRows(ValueError):
    """A request to read batches of `rows` rows, because larger ones could fill the memory with the coming dictionary."""

    def __init__(self, rows: int) -> None:
        super().__init__(f"read {rows} rows at a time")
        self.rows = rows


class _Header(NamedTuple):
    """A page header: kind and sizes of the page (-1 if missing), the number and encoding of its values, and the header's end."""

    kind: int
    unpacked: int
    packed: int
    values: int
    encoding: int
    end: int


class Guarded:
    """A file from which Arrow reads one column chunk after another; call `begin` before each."""

    def __init__(self, file: IO[bytes], most: int, *, lists: bool = False) -> None:
        self._file, self._most, self._lists = file, most, lists
        self._values = self._bytes = 0  # of the chunk so far
        self._rows = 0  # per batch; 0 before the first column chunk
        self._next = -1  # file offset of the rest of the chunk, -1 before its first byte is read
        self._skip = 0  # remaining bytes of the page
        self._head = b""  # an incomplete header
        self.refused: ValueError | None = None

    def begin(self, rows: int) -> None:
        """Expect a column chunk that is read in batches of `rows` rows."""
        self._rows, self._next, self._skip, self._head, self.refused = rows, -1, 0, b"", None
        self._values = self._bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        """Read bytes; raise `TooLarge` or `TooManyRows` for a page that must not be unpacked this way."""
        at = self._file.tell()
        data = self._file.read(size)
        if self._rows and data:
            try:
                if at != self._next >= 0:
                    raise ValueError("a column chunk is not read in order")
                self._look(data)
            except ValueError as error:
                self.refused = error
                raise
            self._next = at + len(data)
        return data

    def _look(self, data: bytes) -> None:
        """Walk over the headers in the bytes that follow those already checked."""
        # Arrow reads the chunk in blocks of any size. `_skip` is how much of the current page is
        # still to come, and `_head` the beginning of a header that the last block cut off:
        #
        #   block 1    [header 1][packed bytes of page 1 .......
        #   block 2    ..... page 1][header 2][page 2][hea          _head = "hea"
        #   block 3    der 3][page 3 ...
        at = min(self._skip, len(data))
        self._skip -= at
        while at < len(data):
            held = len(self._head)
            seen = self._head + data[at : at + 1024] if held < 1024 else self._head + data[at:]
            try:
                header = _header(seen)
            except IndexError:  # the header is incomplete
                if len(seen) > _MAX_HEADER_BYTES:
                    raise ValueError("the header of a page has no end") from None
                if at + 1024 < len(data) and held < 1024:
                    self._head, at = seen, at + 1024
                    continue
                self._head = seen
                return
            at += header.end - held
            self._head = b""
            self._check(header)
            step = min(header.packed, len(data) - at)
            self._skip, at = header.packed - step, at + step

    def _check(self, header: _Header) -> None:
        unpacked, packed = header.unpacked, header.packed
        if not (0 <= unpacked < 1 << 31 and 0 <= packed < 1 << 31):
            raise ValueError("the header of a page has no size")
        check_unpacked(unpacked, packed, self._most, "a page")
        self._values, self._bytes = self._values + header.values, self._bytes + packed
        if self._lists and self._values > max(_VALUES, _VALUES_RATIO * self._bytes):
            raise TooLarge(f"lists of {self._values} strings in {self._bytes} bytes")
        if self._lists and header.encoding == _DELTA_BYTE_ARRAY:
            raise TooLarge("lists of strings that begin with those before: write them without DELTA_BYTE_ARRAY")
        # A dictionary of one value of 1 MB, and a million rows of 1 bit that name it: each row is 1
        # MB when it is decoded. So read fewer rows at a time.
        repeats = header.kind == _DICTIONARY_PAGE or header.encoding == _DELTA_BYTE_ARRAY
        if repeats and self._rows > (rows := max(1, _MAX_BATCH_BYTES // max(1, unpacked))):
            raise TooManyRows(rows)


def _header(data: bytes) -> _Header:
    """Parse a header; raise IndexError if it is incomplete."""
    fields, end = _struct(data, 0, 0)
    version = _NEW if (_STRUCT, _NEW) in fields else _OLD
    page = fields.get((_STRUCT, version), {})
    kind, unpacked, packed = (fields.get((_I32, number), -1) for number in (_TYPE, _UNPACKED, _PACKED))
    return _Header(kind, unpacked, packed, page.get((_I32, _COUNT), 0), page.get((_I32, _ENCODING[version]), 0), end)


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[tuple[int, int], Any], int]:
    """Read a struct; return its 32-bit integers and its structs by kind and field number, and its end."""
    if depth > _MAX_DEPTH:
        raise ValueError("structures within each other in the header of a page")
    fields: dict[tuple[int, int], Any] = {}
    number = 0
    while head := data[at]:
        # A field number is stored as a difference from the previous one, or in full.
        difference, kind = head >> 4, head & 15
        number, at = (number + difference, at + 1) if difference else _integer(data, at + 1)
        value, at = _value(data, at, kind, depth + 1)
        if kind in (_I32, _STRUCT):
            fields[kind, number] = value
    return fields, at + 1


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    # Zigzag: 0, 1, 2, 3, 4 stand for 0, -1, 1, -2, 2, so that small negative numbers are short, too.
    return value >> 1 ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number of more than 64 bits in the header of a page")


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """Read an integer or a struct, or skip another value; return it and its end.

    Kinds 1, 2 are true and false, 3 to 6 integers, 7 double, 8 bytes, 9 and 10 lists, 12 struct.
    """
    if kind in (4, _I32, 6):
        return _integer(data, at)
    if kind == _STRUCT:
        return _struct(data, at, depth)
    if kind in _SIZES:
        return None, at + _SIZES[kind]
    if kind == 8:
        size, at = _varint(data, at)
        return None, at + size
    if kind not in (9, 10) or depth > _MAX_DEPTH:
        raise ValueError(f"a value of an unknown kind {kind} in the header of a page")
    size, inner, at = data[at] >> 4, data[at] & 15, at + 1
    if size == 15:
        size, at = _varint(data, at)
    for _ in range(size):
        _, at = _value(data, at, 3 if inner in (1, 2) else inner, depth + 1)
        if at > len(data):
            raise IndexError
    return None, at

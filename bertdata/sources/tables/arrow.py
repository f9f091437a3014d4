"""Read Arrow files in stream or file format, in file ranges that start at a record batch.

Both formats are the same sequence of messages: length, header and body. The file format adds a magic word at the start and an
index at the end. The reader does not use the index and reads one message after the other, so damage in a batch loses only that
batch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from ...records import FileRange, Reject
from ...storage.files import is_local, open_file, to_path
from ...storage.storage import storage_errors
from .columns import Columns, Row, RowAddress
from .limits import Allowance, TooLarge, check_unpacked
from .table_rows import read_batch

__all__ = ["BadMessage", "cut", "read_arrow", "read_schema"]

_MAGIC = b"ARROW1\0\0"
_FILE_END = struct.Struct("<i6s")  # end of the file format: size of the index in bytes, and the magic word again
_CONTINUATION_MARK = 0xFFFFFFFF  # precedes the length of a header since Arrow 0.15
_SCHEMA, _BATCH = 1, 3  # kinds of messages
_MAX_PADDING_BYTES = 64  # maximum bytes between the end mark and the index
# Numbers of fields in the FlatBuffers tables of a message and a record batch (Message.fbs of Arrow):
_KIND, _HEADER, _BODY = 1, 2, 3
_BUFFERS, _COMPRESSION = 2, 3
_LENGTH_FORMAT = struct.Struct("<q")
_MAX_HEADER_BYTES = 64 << 20
_MAX_UNPACKED_BYTES = 32 << 20  # unpacked bytes of a batch, above which the compression ratio is limited


class BadMessage(ValueError):
    """The bytes are not a valid message."""


class _Message(NamedTuple):
    """A message, with offsets in the file."""

    start: int
    kind: int
    body: int  # start of the body
    end: int  # end of the body
    header: bytes


def read_schema(path: str) -> pa.Schema:
    """Read the schema. Raise `BadMessage` if the file does not begin with one."""
    with _open_arrow(path) as file:
        return _schema(file)


def cut(path: str, size: int, target: int) -> list[tuple[int, int]]:
    """Cut a file of `size` bytes into ranges of about `target` bytes, each starting at a record batch.

    A damaged file is not cut after the damage.
    """
    with _open_arrow(path) as file:
        starts = [0]
        try:
            for message in _messages(file, 0):
                if message.kind == _BATCH and message.start - starts[-1] >= target:
                    starts.append(message.start)
        except BadMessage:
            pass  # the task that reads the last range reports it
    return list(zip(starts, [*starts[1:], size], strict=True))


def read_arrow(part: FileRange, source: str, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    """Read the rows of the record batches in a file range.

    Reasons of rejects, in addition to those of `make_row`: ``damaged``, ``truncated`` and ``too-large``.
    """
    at, allowance = part.start, Allowance(part.end - part.start)
    with _open_arrow(part.path) as file:
        size = min(part.end, file.size())
        try:
            schema = _schema(file)
            for message in _messages(file, part.start):
                at = message.end
                if message.start >= part.end:
                    return
                if message.kind == _BATCH:
                    address = RowAddress(source, part.name, message.start, f"record batch at byte {message.start}")
                    yield from _rows(file, schema, message, address, columns, max_bytes, allowance, part.path)
        except TooLarge as error:
            yield RowAddress(source, part.name, at, f"byte {at}").reject("too-large", str(error))
        except BadMessage as error:
            reason = "truncated" if at >= size or "ends" in str(error) else "damaged"
            yield RowAddress(source, part.name, at, f"byte {at}").reject(reason, str(error), max(size - at, 0))


def _open_arrow(path: str) -> Any:
    """Open a file. A local file is memory-mapped, so that batches are not copied."""
    with storage_errors(f"cannot read {path}"):
        return pa.memory_map(str(to_path(path))) if is_local(path) else pa.PythonFile(open_file(path), "r")


def _messages(file: Any, start: int) -> Iterator[_Message]:
    """Yield the messages from `start` on. Raise `BadMessage` if one is invalid, or if the file ends without the end mark."""
    size, first = file.size(), start == 0
    if first:
        file.seek(0)
        start = len(_MAGIC) if file.read(len(_MAGIC)) == _MAGIC else 0
    while True:
        file.seek(start)
        length = _length(file)
        begin = file.tell()
        if length == 0:
            _check_end(file, begin, size)
            return
        if length is None or begin + length > size:
            raise BadMessage(f"the file ends at byte {size}, in a message or without the mark of its end")
        if length > _MAX_HEADER_BYTES:
            raise BadMessage(f"a header of {length} bytes")
        header = file.read(length)
        kind, body = _header(header)
        end = begin + length + body
        if body < 0 or end > size:
            raise BadMessage(f"a message of {body} bytes, and the file ends at byte {size}")
        if kind != (_SCHEMA if first else _BATCH):
            raise BadMessage(f"a message of kind {kind} at byte {start}")
        yield _Message(start, kind, begin + length, end, header)
        start, first = end, False


def _check_end(file: Any, at: int, size: int) -> None:
    """Raise `BadMessage` if anything but the index of the file format follows the end mark."""
    file.seek(0)
    follows = size - at
    if file.read(len(_MAGIC)) == _MAGIC:
        file.seek(max(0, size - _FILE_END.size))
        index, magic = _FILE_END.unpack(file.read(_FILE_END.size))
        if magic != _MAGIC[:6]:
            raise BadMessage(f"the file ends at byte {size}, without its index")
        if not 0 <= follows - index - _FILE_END.size < _MAX_PADDING_BYTES:
            raise BadMessage(f"a mark of the end at byte {at}, and {follows} bytes follow")
    elif follows:
        raise BadMessage(f"{follows} bytes follow the mark of the end at byte {at}")


def _length(file: Any) -> int | None:
    """Return the length of the next header, 0 at the end mark, or None at the end of the file."""
    word = file.read(4)
    if word == _CONTINUATION_MARK.to_bytes(4, "little"):
        word = file.read(4)
    return int.from_bytes(word, "little") if len(word) == 4 else None


def _header(data: bytes) -> tuple[int, int]:
    """Return a message's kind and body length."""
    try:
        fields = _table(data, struct.unpack_from("<I", data, 0)[0])
        kind, body = fields.get(_KIND), fields.get(_BODY)
        return data[kind] if kind else 0, struct.unpack_from("<q", data, body)[0] if body else 0
    except (struct.error, IndexError) as error:
        raise BadMessage(f"no header of a message: {error}") from None


def _table(data: bytes, at: int) -> dict[int, int]:
    """Return the offsets of the fields present in a FlatBuffers table, by number."""
    fields = at - struct.unpack_from("<i", data, at)[0]
    (size,) = struct.unpack_from("<H", data, fields)
    offsets = struct.unpack_from(f"<{max(0, size - 4) // 2}H", data, fields + 4)
    return {number: at + offset for number, offset in enumerate(offsets) if offset}


def _follow(data: bytes, at: int) -> int:
    return int(at + struct.unpack_from("<I", data, at)[0])


def _check_unpacked(file: Any, message: _Message) -> None:
    """Raise `TooLarge` if the buffers of a batch would unpack to more bytes than allowed."""
    # Each compressed buffer begins with its unpacked size.
    data, unpacked = message.header, 0
    try:
        batch = _table(data, _follow(data, _table(data, struct.unpack_from("<I", data, 0)[0])[_HEADER]))
        if _COMPRESSION not in batch or _BUFFERS not in batch:
            return
        buffers = _follow(data, batch[_BUFFERS])
        for number in range(struct.unpack_from("<I", data, buffers)[0]):
            offset, length = struct.unpack_from("<qq", data, buffers + 4 + 16 * number)
            if length >= _LENGTH_FORMAT.size and 0 <= offset <= message.end - message.body - _LENGTH_FORMAT.size:
                file.seek(message.body + offset)
                unpacked += max(length, _LENGTH_FORMAT.unpack(file.read(_LENGTH_FORMAT.size))[0])
    except (struct.error, IndexError, KeyError) as error:
        raise BadMessage(f"no header of a batch: {error}") from None
    check_unpacked(unpacked, message.end - message.body, _MAX_UNPACKED_BYTES, "a record batch")


def _schema(file: Any) -> pa.Schema:
    try:
        first = next(_messages(file, 0), None)
        if first is None:
            raise BadMessage("there is no schema")
        file.seek(first.start)
        return pa.ipc.read_schema(file.read_buffer(first.end - first.start))
    except (pa.ArrowException, OSError, MemoryError, ValueError) as error:
        raise BadMessage(f"this is not an Arrow file, or its beginning is damaged: {error}") from None


def _rows(
    file: Any,
    schema: pa.Schema,
    message: _Message,
    batch_address: RowAddress,
    columns: Columns,
    max_bytes: int,
    allowance: Allowance,
    path: str,
) -> Iterator[Row | Reject]:
    """Read the rows of one record batch, or reject the batch."""
    try:
        _check_unpacked(file, message)
        file.seek(message.start)
        batch = pa.ipc.read_record_batch(file.read_buffer(message.end - message.start), schema)
    except TooLarge as error:
        yield batch_address.reject("too-large", str(error), message.end - message.start)
        return
    except (pa.ArrowException, OSError, MemoryError, ValueError) as error:
        yield batch_address.reject("damaged", str(error), message.end - message.start)
        return
    yield from read_batch(batch, batch_address, columns, max_bytes, allowance, size=message.end - message.start)

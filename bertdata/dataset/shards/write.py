"""Write record batches to files and read them back, one batch at a time.

The default is the uncompressed Arrow IPC stream format, which `datasets` and pyarrow map without a
copy.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from ...errors import VerificationError
from ...storage.files import digest, is_local, open_file, replacing
from ...storage.storage import storage_errors
from ..manifest_records import ShardEntry

__all__ = ["check_end", "joined", "name", "raise_for", "read_batches", "write"]

_REQUEST_BYTES = 2 << 20  # bytes per request to a store
_SCATTERED_REQUEST_BYTES = 1 << 16  # bytes per request for a file that is read at scattered offsets
_BODY_LENGTH = 4 + 2 * 3  # offset, in a vtable of Message.fbs, of its fourth field


def name(split: str, index: int, count: int, format: str) -> str:
    """Return a shard's name as `datasets` expects it: ``data/train-00003-of-00016.arrow``."""
    return f"data/{split}-{index:05d}-of-{count:05d}.{'parquet' if format == 'parquet' else 'arrow'}"


def write(root: Path, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], format: str) -> ShardEntry:
    """Write a shard completely or not at all. Return its manifest entry."""
    rows = count = 0
    with replacing(root / name) as file:
        if format == "parquet":
            import pyarrow.parquet as pq  # imported only if needed: it slows down every start

            writer = pq.ParquetWriter(file, schema, compression="zstd")
        else:
            writer = (pa.ipc.new_stream if format == "arrow-stream" else pa.ipc.new_file)(file, schema)
        with writer:
            for batch in batches:
                if format == "parquet" and not batch.num_rows:
                    continue  # `datasets` fails on an empty row group, but reads a file without row groups
                writer.write_batch(batch)
                rows, count = rows + batch.num_rows, count + 1
                del batch  # free its memory before the next one is made
        file.flush()
        path = Path(file.name)
        sha256, size = digest(path), path.stat().st_size
    return ShardEntry(name=name, rows=rows, batches=count, bytes=size, sha256=sha256)


def joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Join record batches into one. Over 2 GB, a text column makes several, and lists of text raise ArrowInvalid."""
    return pa.Table.from_batches(batches).combine_chunks().to_batches() or [batches[0].slice(0, 0)]


def check_end(path: Path) -> None:
    """Raise OSError if a stream has no end marker: Arrow reads a stream cut between two batches as a shorter one."""
    with open_file(path, ahead=8) as file:
        _check_end_of(file)


def _check_end_of(file: Any) -> None:
    """Raise OSError if an open stream has no end marker."""
    file.seek(-8, os.SEEK_END)
    if file.read(8) != b"\xff\xff\xff\xff\x00\x00\x00\x00":
        raise OSError("its end is missing")


def read_batches(path: Path, format: str, start: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
    """Read the record batches ``[start, end)`` of a shard, with one in memory at a time.

    Raise VerificationError for a missing, truncated or damaged file, and StorageError if the disk or the store fails.
    """
    try:
        with _source(path, _SCATTERED_REQUEST_BYTES if format == "arrow-file" or start else _REQUEST_BYTES) as source:
            if format == "parquet":
                import pyarrow.parquet as pq

                file = pq.ParquetFile(source)
                for group in range(start, file.num_row_groups if end is None else end):
                    yield from map(_sound, file.read_row_group(group).combine_chunks().to_batches())
            elif format == "arrow-file":
                reader = pa.ipc.open_file(source)
                for index in range(start, reader.num_record_batches if end is None else end):
                    yield _sound(reader.get_batch(index))
            elif start and end is not None:
                yield from map(_sound, _within(source, start, end))
            else:
                yield from map(_sound, _stream(pa.ipc.open_stream(source), source, start, end))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise_for(path, error, "missing or damaged", "build the dataset again")


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch after checking its offsets and UTF-8: damaged ones would crash the process that reads them."""
    batch.validate(full=True)
    _ = batch.schema.names  # validates the names, which are text too
    return batch


def raise_for(path: Path, error: Exception, problem: str, advice: str) -> NoReturn:
    """Raise VerificationError for a missing or damaged file, or StorageError if the disk or the store failed."""
    if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT, errno.EINVAL):  # errors of a truncated file
        with storage_errors(f"cannot read {path}"):
            raise error
    raise VerificationError(f"{path} is {problem} ({error}): {advice}") from error


def _source(path: Path, ahead: int) -> pa.NativeFile:
    if is_local(path):
        return pa.OSFile(str(path))  # pages of a mapped file would count as memory of the process
    return pa.PythonFile(open_file(path, ahead), "r")


def _stream(reader: pa.RecordBatchReader, source: pa.NativeFile, start: int, end: int | None) -> Iterator[pa.RecordBatch]:
    """Read the record batches ``[start, end)`` of a stream. If it is read to its end, check the end marker."""
    index = 0
    while end is None or index < end:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            _check_end_of(source)
            return
        if index >= start:
            yield batch
        del batch
        index += 1


def _within(source: pa.NativeFile, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Read the record batches ``[start, end)`` of a stream. For batches before them, read only the headers."""
    schema = pa.ipc.read_schema(pa.ipc.read_message(source))
    for _ in range(start):
        length = _body_length(source)
        source.seek(source.tell() + length)
    for _ in range(start, end):
        yield pa.ipc.read_record_batch(pa.ipc.read_message(source), schema)


def _body_length(source: pa.NativeFile) -> int:
    """Read the header of a message and return the length of its body (Message.fbs of Arrow's format, a flatbuffer).

    Raise OSError if there is no message.
    """
    mark, size = struct.unpack("<Ii", source.read(8).ljust(8, b"\0"))
    header = source.read(size) if mark == 0xFFFFFFFF and size > 0 else b""
    try:
        (table,) = struct.unpack_from("<I", header)
        vtable = table - struct.unpack_from("<i", header, table)[0]
        (field,) = struct.unpack_from("<H", header, vtable + _BODY_LENGTH)
        (length,) = struct.unpack_from("<q", header, table + field)
    except struct.error as error:
        raise OSError("a record batch is missing") from error
    if not field or length < 0:
        raise OSError("a record batch has no length")
    return int(length)

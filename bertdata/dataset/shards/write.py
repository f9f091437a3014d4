"""Record batches become files and are read back, one batch at a time.

The default is the Arrow IPC stream format, uncompressed, one record batch a shard: `datasets` and pyarrow map it without a
copy.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import VerificationError
from ...io.files import digest, is_local, open_file, replacing
from ...io.storage import storage_errors

__all__ = ["check_end", "joined", "name", "raise_for", "read_batches", "write"]

_AHEAD = 1 << 16  # bytes that a request to a store asks for, of a file that is read here and there


def name(split: str, index: int, count: int, format: str) -> str:
    """Name a shard as `datasets` looks for it: ``data/train-00003-of-00016.arrow``."""
    return f"data/{split}-{index:05d}-of-{count:05d}.{'parquet' if format == 'parquet' else 'arrow'}"


def write(root: Path, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], format: str) -> dict[str, Any]:
    """Write a shard whole or not at all; return its name, rows, batches, bytes and SHA-256 for the manifest."""
    rows = count = 0
    with replacing(root / name) as file:
        if format == "parquet":
            writer = pq.ParquetWriter(file, schema, compression="zstd")
        else:
            writer = (pa.ipc.new_stream if format == "arrow-stream" else pa.ipc.new_file)(file, schema)
        with writer:
            for batch in batches:
                if format == "parquet" and not batch.num_rows:
                    continue  # `datasets` fails on an empty row group, and reads a file that has none
                writer.write_batch(batch)
                rows, count = rows + batch.num_rows, count + 1
                del batch  # or it stays while the next one is made
        file.flush()
        path = Path(file.name)
        sha256, size = digest(path), path.stat().st_size
    return {"name": name, "rows": rows, "batches": count, "bytes": size, "sha256": sha256}


def joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Make one record batch of several; over 2 GB, a column of text makes it more than one, lists of text raise ArrowInvalid."""
    return pa.Table.from_batches(batches).combine_chunks().to_batches() or [batches[0].slice(0, 0)]


def check_end(path: Path) -> None:
    """Raise OSError unless a stream ends with its end marker: cut where a batch ends, Arrow reads it as a shorter one."""
    with open_file(path, ahead=8) as file:
        file.seek(-8, os.SEEK_END)
        if file.read() != b"\xff\xff\xff\xff\x00\x00\x00\x00":
            raise OSError("its end is missing")


def read_batches(path: Path, format: str, start: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
    """Read the record batches ``[start, end)`` of a shard, one at a time: none is held while the next is read.

    Raise VerificationError for a file that is missing, cut or damaged, StorageError where a disk or a store fails.
    """
    try:
        with _source(path, format) as source:
            if format == "parquet":
                file = pq.ParquetFile(source)
                for group in range(start, file.num_row_groups if end is None else end):
                    yield from map(_sound, file.read_row_group(group).combine_chunks().to_batches())
            elif format == "arrow-file":
                reader = pa.ipc.open_file(source)
                for index in range(start, reader.num_record_batches if end is None else end):
                    yield _sound(reader.get_batch(index))
            else:
                yield from map(_sound, _stream(pa.ipc.open_stream(source), path, start, end))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise_for(path, error, "missing or damaged", "build the data set again")


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose offsets stay in it and whose text is UTF-8: damaged ones would end the process that reads them."""
    batch.validate(full=True)
    _ = batch.schema.names  # are text as well
    return batch


def raise_for(path: Path, error: Exception, problem: str, advice: str) -> NoReturn:
    """Raise VerificationError for a file that is missing or damaged, StorageError where it's the disk or the store that fails."""
    if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT, errno.EINVAL):  # which a file too short gives
        with storage_errors(f"cannot read {path}"):
            raise error
    raise VerificationError(f"{path} is {problem} ({error}): {advice}") from error


def _source(path: Path, format: str) -> pa.NativeFile:
    if is_local(path):
        return pa.OSFile(str(path))  # pages of a mapped file would stay with the process
    return pa.PythonFile(open_file(path, _AHEAD) if format == "arrow-file" else open_file(path), "r")


def _stream(reader: pa.RecordBatchReader, path: Path, start: int, end: int | None) -> Iterator[pa.RecordBatch]:
    """Read the record batches ``[start, end)`` of a stream; of one read to its end, the end mark is checked."""
    index = 0
    while end is None or index < end:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            check_end(path)
            return
        if index >= start:
            yield batch
        del batch
        index += 1

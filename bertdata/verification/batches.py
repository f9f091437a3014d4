"""Read the record batches of a shard and check each: schema, validity, no nulls, number of rows.

A file is memory-mapped, so a shard with one large batch needs no extra memory.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from ..dataset.manifest_records import RowFile
from .directory import CheckFailed

__all__ = ["check", "check_schema", "read"]


def read(path: Path, schema: pa.Schema, entry: RowFile) -> Iterator[pa.RecordBatch]:
    """Yield a shard's record batches.

    Raise CheckFailed if it cannot be read, has another schema, or has a different number of rows or batches than its manifest
    entry.
    """
    rows = count = 0
    try:
        for batch, number in _batches(path, schema):
            check(batch, f" of batch {number}")
            rows, count = rows + batch.num_rows, number + 1
            yield batch
            del batch
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk failed; a file that is too short to map raises EINVAL
        raise CheckFailed(f"cannot be read as an Arrow file: {' '.join(str(error).split())}") from error
    if rows != entry.rows:
        raise CheckFailed(f"contains {rows:,} rows, but the manifest lists {entry.rows:,}")
    if count != entry.batches:
        raise CheckFailed(f"contains {count:,} record batches, but the manifest lists {entry.batches:,}")


def check(batch: pa.RecordBatch, where: str = "") -> None:
    """Raise CheckFailed for a null, and ArrowException for values that are not valid. `where` names the batch."""
    batch.validate(full=True)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        _check_nulls(column, f"column {name}{where}")


def _batches(path: Path, schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield record batches, and each one's number in the file."""
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        check_schema(reader.schema, schema)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number), number


def check_schema(schema: pa.Schema, wanted: pa.Schema) -> None:
    """Raise CheckFailed unless the columns, their types and their `datasets` features are as written."""
    if schema.names != wanted.names:
        names = ", ".join(ascii(name)[1:-1] for name in schema.names)
        raise CheckFailed(f"has the columns {names}, not {', '.join(wanted.names)}")
    for ours, theirs in zip(wanted, schema, strict=True):
        if not ours.type.equals(theirs.type):
            raise CheckFailed(f"has a column {ours.name} of {theirs.type}, not {ours.type}")
    if schema.metadata != wanted.metadata:
        raise CheckFailed("describes other columns to `datasets` (the schema's key huggingface)")


def _check_nulls(column: pa.Array, where: str) -> None:
    if column.null_count:
        raise CheckFailed(f"has a null in {where}")
    if pa.types.is_list(column.type):
        _check_nulls(column.flatten(), where)

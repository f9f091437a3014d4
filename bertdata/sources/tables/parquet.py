"""Parquet files: a piece is a range of whole row groups, read some rows at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...files import opened, size
from ...records import Piece, Reject
from .batches import read_batch
from .columns import Columns, Place, Row

__all__ = ["BROKEN", "cut", "read_parquet", "read_schema"]

_LONGEST_FOOTER = 32 << 20  # bytes of the description of columns and row groups
_AT_ONCE = 4 << 20  # bytes of rows that are decoded at a time, by the average of their group
BROKEN = (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError)  # what Arrow raises for a damaged file


def read_schema(path: str) -> pa.Schema:
    """Read the schema; raise one of Arrow's errors or OSError where there is none."""
    with _opened(path) as file:
        return file.schema_arrow


def cut(path: str, length: int, target: int) -> list[tuple[int, int]]:
    """Cut a file of so many bytes into ranges of about `target` bytes that begin where a row group does."""
    try:
        with _opened(path) as file:
            groups = _starts(file.metadata, length)
    except BROKEN:
        return [(0, length)]  # who reads it will say what is wrong
    starts = [0]
    for start in groups:
        if start - starts[-1] >= target:
            starts.append(start)
    return list(zip(starts, [*starts[1:], length], strict=True))


def read_parquet(piece: Piece, source: str, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    """Read the rows of a piece's row groups; reasons, beside those of `make_row`: ``damaged``."""
    try:
        with _opened(piece.path) as file:
            for group, start in enumerate(_starts(file.metadata, size(piece.path))):
                if piece.start <= start < piece.end:
                    yield from _group(file, group, piece, source, columns, max_bytes)
            groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            if piece.start == 0 and (rows := sum(group.num_rows for group in groups)) != file.metadata.num_rows:
                raise ValueError(f"its row groups hold {rows} of {file.metadata.num_rows} rows")
    except BROKEN as error:
        place = Place(source, piece.name, piece.start, "the file")
        yield place.reject("damaged", _said(error, piece), piece.end - piece.start)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    with opened(path) as source:
        end = source.seek(0, os.SEEK_END)
        source.seek(max(0, end - 8))
        if (footer := int.from_bytes(source.read(4), "little")) > _LONGEST_FOOTER:
            raise ValueError(f"a footer of {footer} bytes, which would take many times that in memory")
        yield pq.ParquetFile(source, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True)


def _starts(metadata: Any, length: int) -> list[int]:
    """Return about where in a file of `length` bytes each row group begins, by the bytes that all of them unpack to.

    Where it really begins its columns tell; but pyarrow ends the process over columns whose statistics are damaged.
    """
    sizes = [max(1, metadata.row_group(group).total_byte_size) for group in range(metadata.num_row_groups)]
    return [length * before // sum(sizes) for before in accumulate([0, *sizes[:-1]])] if sizes else []


def _share(metadata: Any, group: int, length: int) -> int:
    """Return about how many bytes of a file of `length` a row group takes."""
    starts = [*_starts(metadata, length), length]
    return starts[group + 1] - starts[group]


def _group(file: Any, group: int, piece: Piece, source: str, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    about = file.metadata.row_group(group)
    rows, left = about.num_rows, about.num_rows
    names = [name for name in columns.used if file.schema_arrow.get_field_index(name) >= 0]
    whole = Place(source, piece.name, group, f"row group {group}")
    at_once = max(1, min(1024, _AT_ONCE * rows // max(1, about.total_byte_size)))
    try:
        for batch in file.iter_batches(at_once, row_groups=[group], columns=names, use_threads=False):
            yield from read_batch(batch, whole, columns, max_bytes, first=rows - left)
            left -= batch.num_rows
        if left:
            raise ValueError(f"it holds {rows - left} of {rows} rows")
    except BROKEN as error:
        lost = _share(file.metadata, group, size(piece.path)) * max(0, left) // max(1, rows)
        yield whole.reject("damaged", _said(error, piece), lost)


def _said(error: BaseException, piece: Piece) -> str:
    """Say what Arrow says, without where the file is on this machine."""
    return str(error).replace(piece.path, piece.name)

"""Read Parquet files: a range is a sequence of row groups, read several rows at a time, all columns in parallel.

Each column is read through its own file object, which checks the page headers before Arrow unpacks the pages (`page_headers`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet as pq

from ...records import FileRange, Reject
from ...storage.files import open_file, size
from .columns import Columns, Row, RowAddress
from .limits import Allowance, TooLarge
from .page_headers import Guarded, TooManyRows
from .table_rows import is_used, read_batch

__all__ = ["FORMAT_ERRORS", "cut", "read_parquet", "read_schema"]

_MAX_FOOTER_BYTES = 8 << 20  # bytes of the metadata of columns and row groups, which takes 13 times as much memory
_MAX_PAGE_BYTES = 4 << 20  # bytes of a page or a text, above which the compression ratio is limited
_BATCH_BYTES = 4 << 20  # bytes of rows decoded at a time, estimated by the mean of their group
_READER_OPTIONS: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 20, "page_checksum_verification": True}
# Exceptions that Arrow raises for a damaged file.
FORMAT_ERRORS = (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError)


def read_schema(path: str) -> pa.Schema:
    """Read the schema; raise one of Arrow's errors or OSError if there is none."""
    with _open_parquet(path) as file:
        return file.schema_arrow


def cut(path: str, length: int, target: int) -> list[tuple[int, int]]:
    """Cut a file of `length` bytes into ranges of about `target` bytes, each starting at a row group."""
    try:
        with _open_parquet(path) as file:
            groups = _starts(file.metadata, length)
    except FORMAT_ERRORS:
        return [(0, length)]  # the task that reads it reports the problem
    # Row groups are smaller than a range: join consecutive ones up to the target.
    starts = [0]
    for start in groups:
        if start - starts[-1] >= target:
            starts.append(start)
    return list(zip(starts, [*starts[1:], length], strict=True))


def read_parquet(part: FileRange, source: str, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    """Read the rows of a range's row groups; reasons, in addition to those of `make_row`: ``damaged``, ``too-large``."""
    file_address = RowAddress(source, part.name, part.start, "the file")
    try:
        with contextlib.ExitStack() as stack:
            read = _File.of(stack, part, columns, max_bytes)
            starts = [*_starts(read.metadata, size(part.path)), size(part.path)]
            for group, (start, end) in enumerate(pairwise(starts)):
                if part.start <= start < part.end:
                    address = RowAddress(source, part.name, group, f"row group {group}")
                    yield from _group(read, group, address, end - start, columns, max_bytes)
            groups = map(read.metadata.row_group, range(read.metadata.num_row_groups))
            if part.start == 0 and (rows := sum(group.num_rows for group in groups)) != read.metadata.num_rows:
                raise ValueError(f"its row groups have {rows} of {read.metadata.num_rows} rows")
    except TooLarge as error:
        yield file_address.reject("too-large", str(error))
    except FORMAT_ERRORS as error:
        yield file_address.reject("damaged", _said(error, part.path, part.name), part.end - part.start)


@contextlib.contextmanager
def _open_parquet(path: str) -> Iterator[Any]:
    with open_file(path) as source:
        end = source.seek(0, os.SEEK_END)
        source.seek(max(0, end - 8))
        footer, magic = int.from_bytes(source.read(4), "little"), source.read(4)
        if magic == b"PAR1" and _MAX_FOOTER_BYTES < footer < end:  # pyarrow reports other problems without reading the footer
            raise TooLarge(
                f"a footer of {footer} bytes, more than {_MAX_FOOTER_BYTES}: write it with fewer columns or row groups"
            )
        yield pq.ParquetFile(source, **_READER_OPTIONS)


class _File(NamedTuple):
    """An open file: its columns in parallel, and the limit on their output."""

    path: str
    metadata: Any
    columns: list[_Column]
    allowance: Allowance

    @classmethod
    def of(cls, stack: contextlib.ExitStack, part: FileRange, columns: Columns, max_bytes: int) -> _File:
        """Open the columns to read, until the stack closes."""
        file = stack.enter_context(_open_parquet(part.path))
        names = [name for name in dict.fromkeys(columns.used) if is_used(file.schema_arrow, name)]
        most = {columns.text: max(max_bytes, _MAX_PAGE_BYTES)}
        used = [_Column(stack, part.path, file, name, most.get(name, _MAX_PAGE_BYTES)) for name in names]
        return cls(part.path, file.metadata, used, Allowance(part.end - part.start))

    def refused(self) -> ValueError | None:
        """Return why a page was rejected, because Arrow may report another message."""
        return next((column.guard.refused for column in self.columns if column.guard.refused), None)


class _Column:
    """A column with its own file object; strings of lists are read as dictionary indexes, so that values are not repeated."""

    def __init__(self, stack: contextlib.ExitStack, path: str, file: pq.ParquetFile, name: str, most: int) -> None:
        self._name = name
        # not `metadata.schema`: a reference cycle keeps 50 MB for 30,000 columns until garbage collection
        lists = [".".join(path) for path in file.reader.column_paths if path[0] == name and path[1:]]
        self.guard = Guarded(stack.enter_context(open_file(path)), most, lists=bool(lists))
        self._file = pq.ParquetFile(cast("Any", self.guard), metadata=file.metadata, read_dictionary=lists, **_READER_OPTIONS)

    def batches(self, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """Read the column of a row group, `rows` rows at a time."""
        self.guard.begin(rows)
        yield from self._file.iter_batches(rows, row_groups=[group], columns=[self._name], use_threads=False)


def _starts(metadata: Any, length: int) -> list[int]:
    """Return the approximate start of each row group in a file of `length` bytes, in proportion to unpacked bytes.

    The columns have the exact offsets, but pyarrow crashes on columns with damaged statistics.
    """
    sizes = [max(1, metadata.row_group(group).total_byte_size) for group in range(metadata.num_row_groups)]
    return [length * before // sum(sizes) for before in accumulate([0, *sizes[:-1]])] if sizes else []


def _group(read: _File, group: int, address: RowAddress, length: int, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    """Read a row group, which takes `length` bytes of the file."""
    metadata = read.metadata.row_group(group)
    rows, done = metadata.num_rows, 0
    # By the mean size of a row, a batch takes about 4 MB, whatever the size of the row group.
    at_once = max(1, min(1024, _BATCH_BYTES * rows // max(1, metadata.total_byte_size)))
    try:
        for batch in _batches(read, group, at_once):
            yield from read_batch(batch, address, columns, max_bytes, read.allowance, first=done)
            done += batch.num_rows
        if done < rows:
            raise ValueError(f"it has {done} of {rows} rows")
    except FORMAT_ERRORS as error:
        refused = read.refused()
        if isinstance(error, TooLarge) and refused is None:
            raise  # the range has reached its limit
        reason = "too-large" if isinstance(refused, TooLarge) else "damaged"
        message = _said(refused or error, read.path, address.name)
        yield address.reject(reason, message, length * max(0, rows - done) // max(1, rows))


def _batches(read: _File, group: int, at_once: int) -> Iterator[pa.RecordBatch]:
    """Read a row group `at_once` rows at a time, or fewer if a large dictionary could fill the memory."""
    done = 0
    while True:
        passed = 0
        try:
            for parts in zip(*(column.batches(group, at_once) for column in read.columns), strict=True):
                if len({part.num_rows for part in parts}) > 1:
                    raise ValueError("its columns differ in their rows")
                fields = pa.schema([part.schema.field(0) for part in parts])
                joined = pa.RecordBatch.from_arrays([part.column(0) for part in parts], schema=fields)
                passed, known = passed + joined.num_rows, passed
                if passed > done:
                    skipped, done = max(0, done - known), passed
                    yield joined.slice(skipped)
            return
        except FORMAT_ERRORS:
            if not isinstance(refused := read.refused(), TooManyRows):
                raise
            at_once = refused.rows


def _said(error: BaseException, path: str, name: str) -> str:
    """Return Arrow's message without the file's path on this machine."""
    return str(error).replace(path, name)

"""Read Parquet files: a part is a range of whole row groups, read some rows at a time, column beside column.

Each column is read through a file of its own, which sees what its pages declare before Arrow unpacks them (`page_headers`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet as pq

from ...io.files import open_file, size
from ...records import FileRange, Reject
from .batches import is_used, read_batch
from .columns import Columns, Row, RowAddress
from .limits import Allowance, TooLarge
from .page_headers import Guarded, TooManyRows

__all__ = ["BROKEN", "cut", "read_parquet", "read_schema"]

_LONGEST_FOOTER = 8 << 20  # bytes of the description of columns and row groups, which takes 13 times as many in memory
_LONGEST_PAGE = 4 << 20  # bytes of a page, or those of a text, where that is many times what it is packed to
_AT_ONCE = 4 << 20  # bytes of rows that are decoded at a time, by the average of their group
_OPTIONS: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 20, "page_checksum_verification": True}
BROKEN = (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError)  # what Arrow raises for a damaged file


def read_schema(path: str) -> pa.Schema:
    """Read the schema; raise one of Arrow's errors or OSError where there is none."""
    with _open_parquet(path) as file:
        return file.schema_arrow


def cut(path: str, length: int, target: int) -> list[tuple[int, int]]:
    """Cut a file of so many bytes into ranges of about `target` bytes that begin where a row group does."""
    try:
        with _open_parquet(path) as file:
            groups = _starts(file.metadata, length)
    except BROKEN:
        return [(0, length)]  # who reads it will say what is wrong
    starts = [0]
    for start in groups:
        if start - starts[-1] >= target:
            starts.append(start)
    return list(zip(starts, [*starts[1:], length], strict=True))


def read_parquet(part: FileRange, source: str, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    """Read the rows of a part's row groups; reasons, beside those of `make_row`: ``damaged``, ``too-large``."""
    whole = RowAddress(source, part.name, part.start, "the file")
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
                raise ValueError(f"its row groups hold {rows} of {read.metadata.num_rows} rows")
    except TooLarge as error:
        yield whole.reject("too-large", str(error))
    except BROKEN as error:
        yield whole.reject("damaged", _said(error, part.path, part.name), part.end - part.start)


@contextlib.contextmanager
def _open_parquet(path: str) -> Iterator[Any]:
    with open_file(path) as source:
        end = source.seek(0, os.SEEK_END)
        source.seek(max(0, end - 8))
        footer, magic = int.from_bytes(source.read(4), "little"), source.read(4)
        if magic == b"PAR1" and _LONGEST_FOOTER < footer < end:  # of another file pyarrow says what is wrong, and reads no footer
            raise TooLarge(f"a footer of {footer} bytes, more than {_LONGEST_FOOTER}: write it with fewer columns or row groups")
        yield pq.ParquetFile(source, **_OPTIONS)


class _File(NamedTuple):
    """What is read of a file: its columns side by side, and how much they may give."""

    path: str
    metadata: Any
    columns: list[_Column]
    allowance: Allowance

    @classmethod
    def of(cls, stack: contextlib.ExitStack, part: FileRange, columns: Columns, max_bytes: int) -> _File:
        """Open the columns that are looked at, for as long as the stack lasts."""
        file = stack.enter_context(_open_parquet(part.path))
        names = [name for name in dict.fromkeys(columns.used) if is_used(file.schema_arrow, name)]
        most = {columns.text: max(max_bytes, _LONGEST_PAGE)}
        used = [_Column(stack, part.path, file, name, most.get(name, _LONGEST_PAGE)) for name in names]
        return cls(part.path, file.metadata, used, Allowance(part.end - part.start))

    def refused(self) -> ValueError | None:
        """Return why a page was refused: Arrow may tell that in words of its own."""
        return next((column.guard.refused for column in self.columns if column.guard.refused), None)


class _Column:
    """A column, read through a file of its own; the strings of lists come as numbers of values, so that none is repeated."""

    def __init__(self, stack: contextlib.ExitStack, path: str, file: pq.ParquetFile, name: str, most: int) -> None:
        self._name = name
        # not by `metadata.schema`: the two hold each other, and so 50 MB of 30,000 columns until Python looks for garbage
        lists = [".".join(path) for path in file.reader.column_paths if path[0] == name and path[1:]]
        self.guard = Guarded(stack.enter_context(open_file(path)), most, lists=bool(lists))
        self._file = pq.ParquetFile(cast("Any", self.guard), metadata=file.metadata, read_dictionary=lists, **_OPTIONS)

    def batches(self, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """Read the column of a row group, so many rows at a time."""
        self.guard.begin(rows)
        yield from self._file.iter_batches(rows, row_groups=[group], columns=[self._name], use_threads=False)


def _starts(metadata: Any, length: int) -> list[int]:
    """Return about where in a file of `length` bytes each row group begins, by the bytes that all of them unpack to.

    Where it really begins its columns tell; but pyarrow ends the process over columns whose statistics are damaged.
    """
    sizes = [max(1, metadata.row_group(group).total_byte_size) for group in range(metadata.num_row_groups)]
    return [length * before // sum(sizes) for before in accumulate([0, *sizes[:-1]])] if sizes else []


def _group(read: _File, group: int, whole: RowAddress, length: int, columns: Columns, max_bytes: int) -> Iterator[Row | Reject]:
    """Read a row group, which takes `length` bytes of the file."""
    about = read.metadata.row_group(group)
    rows, done = about.num_rows, 0
    at_once = max(1, min(1024, _AT_ONCE * rows // max(1, about.total_byte_size)))
    try:
        for batch in _batches(read, group, at_once):
            yield from read_batch(batch, whole, columns, max_bytes, read.allowance, first=done)
            done += batch.num_rows
        if done < rows:
            raise ValueError(f"it holds {done} of {rows} rows")
    except BROKEN as error:
        refused = read.refused()
        if isinstance(error, TooLarge) and refused is None:
            raise  # the part has given all that it may
        reason = "too-large" if isinstance(refused, TooLarge) else "damaged"
        said = _said(refused or error, read.path, whole.name)
        yield whole.reject(reason, said, length * max(0, rows - done) // max(1, rows))


def _batches(read: _File, group: int, at_once: int) -> Iterator[pa.RecordBatch]:
    """Read a row group `at_once` rows at a time, or fewer where a dictionary is so large that these might fill the memory."""
    done = 0
    while True:
        passed = 0
        try:
            for parts in zip(*(column.batches(group, at_once) for column in read.columns), strict=True):
                if len({part.num_rows for part in parts}) > 1:
                    raise ValueError("its columns differ in their rows")
                fields = pa.schema([part.schema.field(0) for part in parts])
                whole = pa.RecordBatch.from_arrays([part.column(0) for part in parts], schema=fields)
                passed, known = passed + whole.num_rows, passed
                if passed > done:
                    skipped, done = max(0, done - known), passed
                    yield whole.slice(skipped)
            return
        except BROKEN:
            if not isinstance(refused := read.refused(), TooManyRows):
                raise
            at_once = refused.rows


def _said(error: BaseException, path: str, name: str) -> str:
    """Say what Arrow says, without where the file is on this machine."""
    return str(error).replace(path, name)

"""Read Parquet and Arrow files, in ranges of row groups and record batches, for `bertdata.sources.tables`.

A broken row costs itself, and a broken row group or batch costs itself. A footer that declares too much is a reject. A footer
that lies about its sizes costs the memory of its largest page.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import UsageError
from ..records import Reject
from ..storage.files import is_local, open_file, size, to_path
from ..storage.problems import storage_errors
from .lines import ranges_at
from .tables import Columns, Rows, Table

_MAX_FOOTER_BYTES = 8 << 20  # of the metadata of a Parquet file, which takes 13 times as much memory
# Unpacked bytes of a row group: at most, per byte of its Parquet file, and allowed at any ratio.
_MAX_GROUP_BYTES, _MAX_RATIO, _FREE_GROUP_BYTES = 256 << 20, 200, 4 << 20
_BATCH_BYTES = 4 << 20  # bytes of rows decoded at a time, estimated by the mean of their group
_MAX_BATCH_BYTES = 512 << 20  # a batch is 4 MB, unless texts differ much in length
_FORMAT_ERRORS = (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError, EOFError)  # what Arrow raises for damage
_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
_ARROW_MAGIC, _ARROW_END = b"ARROW1\0\0", b"\xff\xff\xff\xff\0\0\0\0"


def split(path: str, length: int, target: int, columns: Columns) -> list[tuple[int, int]]:
    """Cut a file into ranges of row groups or record batches. Raise UsageError if it lacks a required column."""
    places: list[int] = []
    try:
        if path.lower().endswith(".arrow"):
            file, schema = _open_arrow(path)
            with file, contextlib.suppress(*_FORMAT_ERRORS):  # the task that reads the last range reports it
                places.extend(at for at, _ in _arrow_messages(file, file.size() + 1))
        else:
            with open_file(path) as file:
                table, places = _open_parquet(file, length)
                schema = table.schema_arrow
        names, texts = schema.names, [field.name for field in schema if _is_text(field.type)]
    except _FORMAT_ERRORS:  # the task that reads the file reports it
        return [(0, length)]
    if problem := columns.missing(names, texts)[1]:
        raise UsageError(f"{path} has {problem}")
    return ranges_at(places, length, target)


def _is_text(kind: Any) -> bool:
    """Return True if a column contains text: strings, or lists of strings, which are paragraphs."""
    types = pa.types
    while types.is_dictionary(kind) or types.is_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _used(table: Table, schema: pa.Schema) -> list[str]:
    """Return the used columns that occur exactly once and contain text or integers, which can be ids."""
    names = dict.fromkeys((*table.columns, "language", "url"))
    kinds = {name: schema.types[at] for name in names if (at := schema.get_field_index(name)) >= 0}
    return [name for name, kind in kinds.items() if _is_text(kind) or pa.types.is_integer(kind)]


def _read_rows(table: Table, at: int, batches: Iterable[Any], lost: int) -> Rows:
    """Yield the rows of a row group or record batch, and a reject of `lost` bytes for the rest if it is damaged."""
    number = 0
    try:
        for batch in batches:
            if batch.nbytes > _MAX_BATCH_BYTES:
                raise MemoryError(f"a batch of rows that would unpack to {batch.nbytes} bytes")
            columns = {name: batch.column(name) for name in _used(table, batch.schema)}
            for column in columns.values():  # offsets of a damaged file can point anywhere, and reading them would crash
                (column.view(_BYTES[column.type]) if column.type in _BYTES else column).validate(full=True)
            for row in range(batch.num_rows):
                place = f"{at}:{number}"
                number += 1
                try:
                    yield table.row(place, {name: column[row].as_py() for name, column in columns.items()})
                except UnicodeDecodeError as error:
                    yield table.reject(place, "bad-utf-8", str(error))
    except _FORMAT_ERRORS as error:
        yield _reject(table, at, error, lost)


def _reject(table: Table, at: int, error: BaseException, lost: int) -> Reject:
    is_cut = isinstance(error, EOFError) or "xpected to" in str(error)  # "Expected to be able to read 99 bytes"
    reason = "too-large" if isinstance(error, MemoryError) else "truncated" if is_cut else "damaged"
    return table.reject(at, reason, str(error).replace(table.part.path, table.part.name), lost)


# --- Parquet ---


def _open_parquet(file: IO[bytes], length: int) -> tuple[Any, list[int]]:
    """Return a file's reader, and the byte at which each row group begins, as if all had the same size.

    The columns have the exact offsets, but pyarrow crashes on columns with damaged statistics.
    """
    file.seek(max(0, length - 8))
    footer, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    if magic == b"PAR1" and _MAX_FOOTER_BYTES < footer < length:  # pyarrow reports other problems without reading the footer
        raise MemoryError(f"a footer of {footer} bytes: write it with fewer columns or row groups")
    table = pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True)
    return table, [length * number // table.num_row_groups for number in range(table.num_row_groups)]


def read_parquet(table: Table) -> Rows:
    """Read the row groups that begin in a range, several rows at a time."""
    part, length = table.part, size(table.part.path)
    try:
        with open_file(part.path) as file:
            reader, starts = _open_parquet(file, length)
            for number, start in enumerate(starts):
                if part.start <= start < part.end:
                    yield from _read_rows(table, number, _batches(table, reader, number, length), length // len(starts))
    except _FORMAT_ERRORS as error:
        yield _reject(table, part.start, error, part.end - part.start)


def _batches(table: Table, reader: Any, number: int, length: int) -> Iterator[Any]:
    """Yield the rows of a row group in batches. By the mean size of a row, a batch takes about 4 MB."""
    group = reader.metadata.row_group(number)
    rows, unpacked = group.num_rows, group.total_byte_size
    if unpacked > min(_MAX_GROUP_BYTES, max(_FREE_GROUP_BYTES, _MAX_RATIO * length)):
        raise MemoryError(f"it would unpack to {unpacked} bytes: write it with smaller row groups")
    at_once, names = max(1, min(1024, _BATCH_BYTES * rows // max(1, unpacked))), _used(table, reader.schema_arrow)
    for batch in reader.iter_batches(at_once, row_groups=[number], columns=names, use_threads=False):
        rows -= batch.num_rows
        yield batch
    if rows:  # a damaged footer
        raise ValueError(f"{group.num_rows - rows} of {group.num_rows} rows")


# --- Arrow ---


def _open_arrow(path: str) -> tuple[Any, pa.Schema]:
    """Open a file behind its schema. A local file is memory-mapped, so that batches are not copied."""
    with storage_errors(f"cannot read {path}"):
        file = pa.memory_map(str(to_path(path))) if is_local(path) else pa.PythonFile(open_file(path), "r")
    file.seek(len(_ARROW_MAGIC) if file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC else 0)
    return file, pa.ipc.read_schema(pa.ipc.read_message(file))


def _arrow_messages(file: Any, end: int) -> Iterator[tuple[int, Any]]:
    """Yield the offset of each message and the message, up to the end mark or to one that begins at `end` or later.

    The stream format is a sequence of messages. The file format adds a magic word at both ends and an index, which is not used.
    Raise EOFError if the file does not end as its format does.
    """
    while (at := file.tell()) < end:
        try:
            message = pa.ipc.read_message(file)
        except EOFError:
            file.seek(at)
            mark = file.read(len(_ARROW_END))
            file.seek(max(at, file.size() - 6))
            is_whole = file.size() - at <= len(_ARROW_END) or file.read(6) == _ARROW_MAGIC[:6]
            if is_whole and mark.startswith((_ARROW_END, _ARROW_END[4:])):
                return
            raise EOFError("no end of a stream or file") from None
        yield at, message


def read_arrow(table: Table) -> Rows:
    """Read the record batches that begin in a range."""
    at, end = table.part.start, table.part.end
    try:
        file, schema = _open_arrow(table.part.path)
        with file:
            file.seek(max(at, file.tell()))
            for at, message in _arrow_messages(file, end + (end >= file.size())):
                batches = (pa.ipc.read_record_batch(batch, schema) for batch in [message])  # damage is met in `_read_rows`
                yield from _read_rows(table, at, batches, file.tell() - at)
    except _FORMAT_ERRORS as error:
        yield _reject(table, at, error, max(0, end - at))

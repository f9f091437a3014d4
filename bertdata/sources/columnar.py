"""Read Parquet and Arrow files, in ranges of row groups and record batches, for `bertdata.sources.tables`.

A broken row costs itself, and a broken row group or batch costs itself. A footer that declares too much is a reject. A footer
that lies about its sizes costs the memory of its largest page.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import UsageError, did_you_mean
from ..storage.files import is_local, open_file, size, to_path
from ..storage.problems import storage_errors
from .lines import ranges_at
from .tables import Columns, Rows, Table

_MAX_FOOTER_BYTES = 8 << 20  # of the metadata of a Parquet file, which takes 13 times as much memory
_MAX_GROUP_BYTES, _MAX_RATIO = 256 << 20, 200  # unpacked bytes of a row group, and per packed byte of a Parquet file
_FREE_GROUP_BYTES = 4 << 20  # unpacked bytes of a row group at any ratio
_BATCH_BYTES = 4 << 20  # bytes of rows decoded at a time, estimated by the mean of their group
_MAX_BATCH_BYTES = 512 << 20  # a batch is 4 MB, unless texts differ much in length
_FORMAT_ERRORS = (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError, EOFError)  # what Arrow raises for damage
_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
_ARROW_MAGIC, _ARROW_END = b"ARROW1\0\0", b"\xff\xff\xff\xff\0\0\0\0"


class _TooLarge(ValueError):
    """Rows that would take too much memory."""


def split(path: str, length: int, target: int, columns: Columns) -> list[tuple[int, int]]:
    """Cut a file into ranges of row groups or record batches. Raise UsageError if it lacks a required column."""
    places: list[int] = []
    try:
        if path.lower().endswith(".arrow"):
            file, schema = _open_arrow(path)
            with file, contextlib.suppress(*_FORMAT_ERRORS):  # the task that reads the last range reports it
                places.extend(at for at, _ in _arrow_messages(file, file.size() + 1))
            if any("dictionary<" in str(field.type) for field in schema):
                raise UsageError(f"{path} has columns with dictionaries, which are only read from Parquet: write it as Parquet")
        else:
            with _open_parquet(path) as (file, places):
                schema = file.schema_arrow
        kinds = {field.name: field.type for field in schema}
    except _FORMAT_ERRORS:  # the task that reads the file reports it
        return [(0, length)]
    for option, name in (("text_column", columns.text), ("id_column", columns.id), ("title_column", columns.title)):
        is_optional = option == "title_column" and name == Columns().title  # titles are optional unless requested
        if name and name not in kinds and not is_optional:
            there = f"{', '.join(map(repr, kinds)) or 'none'}{did_you_mean(name, kinds)}"
            raise UsageError(f"{path} has no column {name!r}: set `{option}` to one of {there}")
    if not _is_text(kinds[columns.text]):
        texts = ", ".join(repr(name) for name, kind in kinds.items() if _is_text(kind)) or "none has"
        problem = f"{path}: the column {columns.text!r} contains {kinds[columns.text]}, not text"
        raise UsageError(f"{problem}: set `text_column` to one of {texts}")
    return ranges_at(places, length, target)


# --- Parquet ---


@contextlib.contextmanager
def _open_parquet(path: str) -> Iterator[tuple[Any, list[int]]]:
    """Open a file; yield it and the number of the byte at which each row group begins, as if all had the same size.

    The columns have the exact offsets, but pyarrow crashes on columns with damaged statistics.
    """
    length = size(path)
    with open_file(path) as file:
        file.seek(max(0, length - 8))
        footer, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        if magic == b"PAR1" and _MAX_FOOTER_BYTES < footer < length:  # pyarrow reports other problems without reading the footer
            raise _TooLarge(f"a footer of {footer} bytes: write it with fewer columns or row groups")
        table = pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True)
        yield table, [length * number // table.num_row_groups for number in range(table.num_row_groups)]


def read_parquet(table: Table) -> Rows:
    """Read the row groups that begin in a range, several rows at a time."""
    part, length = table.part, size(table.part.path)
    try:
        with _open_parquet(part.path) as (file, starts):
            groups = [file.metadata.row_group(number) for number in range(len(starts))]
            if (found := sum(group.num_rows for group in groups)) != file.metadata.num_rows:
                raise ValueError(f"its row groups have {found} of {file.metadata.num_rows} rows")
            is_dense = sum(group.total_byte_size for group in groups) > _MAX_RATIO * length
            for number, group in enumerate(groups):
                if part.start <= starts[number] < part.end:
                    most = _FREE_GROUP_BYTES if is_dense else _MAX_GROUP_BYTES
                    yield from _read_group(table, file, number, group, length // len(groups), most)
    except _FORMAT_ERRORS as error:
        yield _reject(table, part.start, "the file", error, part.end - part.start)


def _read_group(table: Table, file: Any, number: int, group: Any, length: int, max_bytes: int) -> Rows:
    words, unpacked, done = f"row group {number}", group.total_byte_size, 0
    try:
        if unpacked > max_bytes:
            raise _TooLarge(f"it would unpack to {unpacked} bytes: write it with smaller row groups")
        # By the mean size of a row, a batch takes about 4 MB, whatever the size of the row group.
        at_once = max(1, min(1024, _BATCH_BYTES * group.num_rows // max(1, unpacked)))
        names = [name for name in table.columns.used if _is_used(file.schema_arrow, name)]
        for batch in file.iter_batches(at_once, row_groups=[number], columns=names, use_threads=False):
            yield from _read_batch(table, batch, number, words, done, length)
            done += batch.num_rows
        if done != group.num_rows:  # a damaged footer
            raise ValueError(f"{done} of {group.num_rows} rows")
    except _FORMAT_ERRORS as error:
        yield _reject(table, number, words, error, length)


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
            if not (is_whole and mark.startswith((_ARROW_END, _ARROW_END[4:]))):
                raise EOFError(f"no end of a stream or file at byte {at} of {file.size()}") from None
            return
        yield at, message


def read_arrow(table: Table) -> Rows:
    """Read the record batches that begin in a range."""
    part = table.part
    at = part.start
    try:
        file, schema = _open_arrow(part.path)
        with file:
            file.seek(max(part.start, file.tell()))
            for at, message in _arrow_messages(file, part.end + (part.end >= file.size())):
                words, length = f"record batch at byte {at}", file.tell() - at
                try:
                    batch = pa.ipc.read_record_batch(message, schema)
                except _FORMAT_ERRORS as error:
                    yield _reject(table, at, words, error, length)
                else:
                    yield from _read_batch(table, batch, at, words, 0, length)
    except _FORMAT_ERRORS as error:
        yield _reject(table, at, f"at or after byte {at}", error, max(0, part.end - at))


# --- rows of both ---


def _reject(table: Table, at: int, words: str, error: BaseException, lost: int) -> Any:
    is_cut = isinstance(error, EOFError) or "xpected to" in str(error)  # "Expected to be able to read 99 bytes"
    reason = "too-large" if isinstance(error, _TooLarge) else "truncated" if is_cut else "damaged"
    return table.reject(at, words, reason, str(error).replace(table.part.path, table.part.name), lost)


def _is_text(kind: Any) -> bool:
    """Return True if a column contains text: strings, or lists of strings, which are paragraphs."""
    types = pa.types
    while types.is_dictionary(kind) or types.is_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_used(schema: pa.Schema, name: str) -> bool:
    """Return True if a column occurs exactly once and contains text or integers, which can be ids."""
    at = schema.get_field_index(name)
    return at >= 0 and bool(_is_text(schema.types[at]) or pa.types.is_integer(schema.types[at]))


def _read_batch(table: Table, batch: Any, at: int, words: str, first: int, length: int) -> Rows:
    """Yield the rows of a batch, numbered from `first`."""
    columns = {name: batch.column(name) for name in table.columns.used if _is_used(batch.schema, name)}
    try:
        if batch.nbytes > _MAX_BATCH_BYTES:
            raise _TooLarge(f"a batch of rows that would unpack to {batch.nbytes} bytes")
        for column in columns.values():  # offsets of a damaged file can point anywhere, and reading them would crash
            (column.view(_BYTES[column.type]) if column.type in _BYTES else column).validate(full=True)
    except _FORMAT_ERRORS as error:
        yield _reject(table, at, words, error, length)
        return
    for number in range(batch.num_rows):
        place = f"{at}:{first + number}", f"{words}, row {first + number}"
        try:
            yield table.row(*place, {name: column[number].as_py() for name, column in columns.items()})
        except UnicodeDecodeError as error:
            yield table.reject(*place, "bad-utf-8", str(error))

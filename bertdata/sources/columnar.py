"""Read Parquet and Arrow files, in ranges of row groups and record batches, for `bertdata.sources.tables`.

A broken row costs itself, and a broken row group or batch costs itself. A footer that declares too much is a reject. A footer
that lies about its sizes costs the memory of its largest page.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import accumulate
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import UsageError, did_you_mean
from ..records import FileRange
from ..storage.files import is_local, open_file, size, to_path
from ..storage.storage import storage_errors
from .tables import Columns, RowAddress, Rows

_MAX_FOOTER_BYTES = 8 << 20  # of the metadata of a Parquet file, which takes 13 times as much memory
_MAX_GROUP_BYTES, _MAX_RATIO = 256 << 20, 200  # unpacked bytes of a row group, and per packed byte of a Parquet file
_FREE_GROUP_BYTES = 4 << 20  # unpacked bytes of a row group at any ratio
_BATCH_BYTES = 4 << 20  # bytes of rows decoded at a time, estimated by the mean of their group
_MAX_BATCH_BYTES = 512 << 20  # a batch is 4 MB, unless texts differ much in length
# What Arrow raises for a damaged file.
FORMAT_ERRORS = (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError, EOFError)
_ARROW_MAGIC, _ARROW_END = b"ARROW1\0\0", b"\xff\xff\xff\xff\0\0\0\0"


# --- Parquet ---


@contextlib.contextmanager
def _open_parquet(path: str) -> Iterator[Any]:
    with open_file(path) as file:
        end = size(path)
        file.seek(max(0, end - 8))
        footer, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        if magic == b"PAR1" and _MAX_FOOTER_BYTES < footer < end:  # pyarrow reports other problems without reading the footer
            raise ValueError(f"a footer of {footer} bytes would unpack to too much: write it with fewer columns or row groups")
        yield pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True)


def parquet_groups(path: str) -> tuple[pa.Schema, list[int]]:
    """Return the schema, and the approximate start of each row group, in proportion to unpacked bytes.

    The columns have the exact offsets, but pyarrow crashes on columns with damaged statistics.
    """
    with _open_parquet(path) as table:
        return table.schema_arrow, _starts(_groups(table), size(path))[:-1]


def _groups(table: Any) -> list[Any]:
    return [table.metadata.row_group(number) for number in range(table.metadata.num_row_groups)]


def _starts(groups: list[Any], length: int) -> list[int]:
    sizes = [max(1, group.total_byte_size) for group in groups]
    return [length * before // max(1, sum(sizes)) for before in accumulate([0, *sizes])]


def read_parquet(
    part: FileRange, whole: RowAddress, columns: Columns, max_bytes: int, encoding: str, file: IO[bytes] | None
) -> Rows:
    """Read the row groups that begin in a range, several rows at a time."""
    try:
        with _open_parquet(part.path) as table:
            groups = _groups(table)
            starts = _starts(groups, size(part.path))
            names = [name for name in dict.fromkeys(columns.used) if _is_used(table.schema_arrow, name)]
            unpacked = sum(group.total_byte_size for group in groups)
            for number, group in enumerate(groups):
                if not part.start <= starts[number] < part.end:
                    continue
                address = whole._replace(at=number, words=f"row group {number}")
                length = starts[number + 1] - starts[number]
                if group.total_byte_size > _MAX_GROUP_BYTES or (
                    group.total_byte_size > _FREE_GROUP_BYTES and unpacked > _MAX_RATIO * size(part.path)
                ):
                    problem = f"it would unpack to {group.total_byte_size} bytes: write it with smaller row groups"
                    yield address, address.reject("too-large", problem, length)
                    continue
                # By the mean size of a row, a batch takes about 4 MB, whatever the size of the row group.
                at_once = max(1, min(1024, _BATCH_BYTES * group.num_rows // max(1, group.total_byte_size)))
                done = 0
                try:
                    for batch in table.iter_batches(at_once, row_groups=[number], columns=names, use_threads=False):
                        yield from _read_batch(batch, address, columns, max_bytes, done, length)
                        done += batch.num_rows
                except FORMAT_ERRORS as error:
                    lost = length * max(0, group.num_rows - done) // max(1, group.num_rows)
                    yield address, address.reject("damaged", str(error).replace(part.path, part.name), lost)
            if part.start == 0 and (rows := sum(group.num_rows for group in groups)) != table.metadata.num_rows:
                raise ValueError(f"its row groups have {rows} of {table.metadata.num_rows} rows")
    except FORMAT_ERRORS as error:
        reason = "too-large" if "would unpack to" in str(error) else "damaged"
        yield whole, whole.reject(reason, str(error).replace(part.path, part.name), part.end - part.start)


# --- Arrow ---


def _open_arrow(path: str) -> Any:
    """Open a file at its schema. A local file is memory-mapped, so that batches are not copied."""
    with storage_errors(f"cannot read {path}"):
        file = pa.memory_map(str(to_path(path))) if is_local(path) else pa.PythonFile(open_file(path), "r")
    file.seek(len(_ARROW_MAGIC) if file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC else 0)
    return file


def _arrow_messages(file: Any, end: int) -> Iterator[tuple[int, Any]]:
    """Yield the offset of each message and the message, up to the end mark or to one that begins at `end` or later.

    The stream format is a sequence of messages. The file format adds a magic word at both ends and an index.
    The index is not used. Raise EOFError if the file ends without its end mark, ValueError if bytes follow it.
    """
    while (at := file.tell()) < end:
        try:
            message = pa.ipc.read_message(file)
        except EOFError:
            file.seek(max(0, at))
            follows = file.read(file.size() - at)
            mark = next((mark for mark in (_ARROW_END, _ARROW_END[4:]) if follows.startswith(mark)), None)
            file.seek(0)
            is_file = file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC
            if mark is None or (is_file and not follows.endswith(_ARROW_MAGIC[:6])):
                raise EOFError(f"the file ends at byte {file.size()}, without the mark of its end or its index") from None
            if not is_file and len(follows) > len(mark):
                raise ValueError(f"{len(follows) - len(mark)} bytes follow the mark of the end at byte {at}") from None
            return
        yield at, message


def arrow_batches(path: str) -> tuple[pa.Schema, list[int]]:
    """Return the schema, and the start of each record batch up to the first damage."""
    places: list[int] = []
    with _open_arrow(path) as file:
        schema = pa.ipc.read_schema(pa.ipc.read_message(file))
        with contextlib.suppress(*FORMAT_ERRORS):  # the task that reads the last range reports it
            places.extend(at for at, message in _arrow_messages(file, file.size() + 1) if message.type == "record batch")
    return schema, places


def read_arrow(
    part: FileRange, whole: RowAddress, columns: Columns, max_bytes: int, encoding: str, file: IO[bytes] | None
) -> Rows:
    """Read the record batches that begin in a range."""
    at = part.start
    with _open_arrow(part.path) as table:
        is_last = part.end >= table.size()
        try:
            schema = pa.ipc.read_schema(pa.ipc.read_message(table))
            table.seek(max(part.start, table.tell()))
            for at, message in _arrow_messages(table, part.end + is_last):
                address, length = whole._replace(at=at, words=f"record batch at byte {at}"), table.tell() - at
                if message.type != "record batch":
                    raise ValueError(f"a message of type {message.type} at byte {at}")
                try:
                    batch = pa.ipc.read_record_batch(message, schema)
                except FORMAT_ERRORS as error:
                    yield address, address.reject("damaged", str(error), length)
                    continue
                yield from _read_batch(batch, address, columns, max_bytes, 0, length)
        except FORMAT_ERRORS as error:
            reason = "truncated" if isinstance(error, EOFError) or "xpected to" in str(error) else "damaged"
            address = whole._replace(at=table.tell(), words=f"after byte {at}")
            yield address, address.reject(reason, str(error).replace(part.path, part.name), max(0, part.end - at))


# --- rows of both ---


def check_columns(path: str, kinds: dict[str, Any], columns: Columns) -> None:
    """Raise UsageError if a table lacks a required column, or its text column contains something else."""
    options = {"`text_column`": columns.text, "`id_column`": columns.id, "`title_column`": columns.title}
    if columns.title == Columns().title:
        del options["`title_column`"]  # titles are optional unless requested
    for option, name in options.items():
        if name and name not in kinds:
            there = ", ".join(map(repr, kinds)) or "none"
            raise UsageError(f"{path} has no column {name!r}: set {option} to one of {there}{did_you_mean(name, kinds)}")
    if not _is_text(kinds[columns.text]):
        texts = ", ".join(repr(name) for name, kind in kinds.items() if _is_text(kind)) or "none has"
        raise UsageError(
            f"{path}: the column {columns.text!r} contains {kinds[columns.text]}, not text: set `text_column` to one of {texts}"
        )


def _is_text(kind: Any) -> bool:
    """Return True if a column contains text: strings, or lists of strings, which are paragraphs."""
    types = pa.types
    while types.is_dictionary(kind) or types.is_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_used(schema: pa.Schema, name: str) -> bool:
    """Return True if a column occurs exactly once and contains text or integers, which can be ids."""
    types = pa.types
    at = schema.get_field_index(name)
    return at >= 0 and bool(_is_text(schema.types[at]) or types.is_integer(schema.types[at]))


def _read_batch(batch: Any, whole: RowAddress, columns: Columns, max_bytes: int, first: int, length: int) -> Rows:
    """Yield the rows of a batch, numbered from `first`; `whole` is the address of the batch or row group of `length` bytes."""
    try:
        if batch.nbytes > _MAX_BATCH_BYTES:
            yield whole, whole.reject("too-large", f"a batch of rows that would unpack to {batch.nbytes} bytes", length)
            return
        names = [name for name in columns.used if _is_used(batch.schema, name)]
        arrays = [batch.column(name).view(_in_bytes(batch.column(name).type)) for name in names]
        for array in arrays:
            array.validate(full=True)  # offsets of a damaged file can point anywhere, and reading them would crash
    except FORMAT_ERRORS as error:
        yield whole, whole.reject("damaged", str(error), length)
        return
    for number in range(batch.num_rows):
        address = whole._replace(at=f"{whole.at}:{first + number}", words=f"{whole.words}, row {first + number}")
        try:
            yield address, {name: _decoded(array[number].as_py()) for name, array in zip(names, arrays, strict=True)}
        except UnicodeDecodeError as error:
            yield address, address.reject("bad-utf-8", f"{error.reason} at byte {error.start} of the text")
        except FORMAT_ERRORS as error:
            yield address, address.reject("damaged", str(error))


def _in_bytes(kind: Any) -> Any:
    """Return a type with its strings replaced by bytes, so that each string is decoded, and can fail, separately."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _in_bytes(kind.value_type), kind.ordered)
    if pa.types.is_list(kind):
        return pa.list_(_in_bytes(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_in_bytes(kind.value_type))
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return binary.get(kind, kind)


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_decoded(part) for part in value] if isinstance(value, list) else value

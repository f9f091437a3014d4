"""Iterate over the rows of a record batch, and decode strings one by one, so that a broken string loses only its row."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...records import Reject
from .columns import Columns, Row, RowAddress, make_row
from .limits import MAX_PARAGRAPHS, Allowance

__all__ = ["is_text", "is_used", "read_batch"]

_BINARY = (  # binary type with the same memory layout as a string type
    (pa.types.is_string, pa.binary()),
    (pa.types.is_large_string, pa.large_binary()),
    (pa.types.is_string_view, pa.binary_view()),
)


def is_text(kind: pa.DataType) -> bool:
    """Return True if a column contains text: strings, or lists of strings, which are paragraphs.

    >>> is_text(pa.string()), is_text(pa.list_(pa.large_string())), is_text(pa.int64())
    (True, True, False)
    """
    if pa.types.is_dictionary(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    if pa.types.is_dictionary(kind):  # dictionary-encoded strings
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_used(schema: pa.Schema, name: str) -> bool:
    """Return True if a column occurs exactly once and contains text or integers, which can be ids."""
    at = schema.get_field_index(name)
    return at >= 0 and bool(is_text(schema.types[at]) or pa.types.is_integer(schema.types[at]))


def read_batch(
    batch: pa.RecordBatch,
    whole: RowAddress,
    columns: Columns,
    max_bytes: int,
    allowance: Allowance,
    *,
    first: int = 0,
    size: int = 0,
) -> Iterator[Row | Reject]:
    """Yield the rows of a batch, numbered from `first`; `whole` is the address of the batch or row group.

    Reasons: ``damaged`` if Arrow rejects the columns, which loses `size` bytes; ``too-large`` if a value has more than
    `max_bytes` bytes, which is not copied.  Raise `TooLarge` when all rows together exceed the `allowance`.
    """
    try:
        names = [name for name in columns.used if is_used(batch.schema, name)]
        arrays = [_as_bytes(batch.column(name)) for name in names]
    except (pa.ArrowException, MemoryError, ValueError) as error:
        yield whole.reject("damaged", str(error), size)
        return
    for number in range(batch.num_rows):
        address = whole._replace(at=f"{whole.at}:{first + number}", words=f"{whole.words}, row {first + number}")
        try:
            values = [array[number] for array in arrays]
            sizes = [_size(value) for value in values]
            if max(sizes, default=0) > max_bytes:
                yield address.reject("too-large", f"a value of more than {max_bytes} bytes or {MAX_PARAGRAPHS} paragraphs")
                sizes, values = [0], []
            row = {name: _decoded(value.as_py()) for name, value in zip(names, values, strict=False)}
        except UnicodeDecodeError as error:
            yield address.reject("bad-utf-8", f"{error.reason} at byte {error.start} of the text")
        except (pa.ArrowException, ValueError) as error:
            yield address.reject("damaged", str(error))
        else:
            if values or not arrays:
                yield make_row(row, address, columns, max_bytes)
        allowance.take(sum(sizes))


def _as_bytes(array: pa.Array) -> pa.Array:
    """View strings as bytes, so that each is decoded separately, and check offsets that point outside the batch."""
    array = array.view(_in_bytes(array.type))
    array.validate(full=True)
    return array


def _in_bytes(kind: pa.DataType) -> pa.DataType:
    """Return a type with its strings replaced by bytes."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _in_bytes(kind.value_type), kind.ordered)
    if pa.types.is_list(kind):
        return pa.list_(_in_bytes(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_in_bytes(kind.value_type))
    return next((binary for holds, binary in _BINARY if holds(kind)), kind)


def _size(value: Any) -> int:
    """Return the bytes of a value without copying it; for a list with too many items, a number over any limit."""
    if not value.is_valid:
        return 0
    if isinstance(value, pa.ListScalar | pa.LargeListScalar):
        if len(value) > MAX_PARAGRAPHS:
            return sys.maxsize
        parts = value.values
        if pa.types.is_dictionary(parts.type):
            lengths = pc.binary_length(parts.dictionary).take(parts.indices)
        else:
            lengths = pc.binary_length(parts)
        return int(pc.sum(lengths.cast(pa.int64())).as_py() or 0)
    if isinstance(value, pa.DictionaryScalar):
        value = value.dictionary[value.index.as_py()]
        return _size(value)
    return value.as_buffer().size if isinstance(value, pa.BinaryScalar) else 0


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_decoded(part) for part in value] if isinstance(value, list) else value

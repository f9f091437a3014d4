"""The rows of a record batch, one at a time, with strings decoded one by one: a broken one costs its own row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ...records import Reject
from .columns import Columns, Place, Row, make_row

__all__ = ["is_text", "read_batch"]


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column holds text: strings, or lists of strings that are paragraphs.

    >>> is_text(pa.string()), is_text(pa.list_(pa.large_string())), is_text(pa.int64())
    (True, True, False)
    """
    if pa.types.is_dictionary(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def read_batch(
    batch: pa.RecordBatch, whole: Place, columns: Columns, max_bytes: int, *, first: int = 0, size: int = 0
) -> Iterator[Row | Reject]:
    """Yield the rows of a batch, the row `first` and those that follow of what stands at `whole`.

    ``damaged``: Arrow refuses its columns, so that `size` bytes are lost.
    """
    try:
        names = [name for name in columns.used if _is_used(batch.schema, name)]
        arrays = [_as_bytes(batch.column(name)) for name in names]
    except (pa.ArrowException, MemoryError, ValueError) as error:
        yield whole.reject("damaged", str(error), size)
        return
    for number in range(batch.num_rows):
        place = whole._replace(at=f"{whole.at}:{first + number}", words=f"{whole.words}, row {first + number}")
        try:
            values = {name: _decoded(array[number].as_py()) for name, array in zip(names, arrays, strict=True)}
        except UnicodeDecodeError as error:
            yield place.reject("bad-utf-8", f"{error.reason} at byte {error.start} of the text")
            continue
        except (pa.ArrowException, ValueError) as error:
            yield place.reject("damaged", str(error))
            continue
        yield make_row(values, place, columns, max_bytes)


def _is_used(schema: pa.Schema, name: str) -> bool:
    """Tell whether a column is there, once, and holds text or whole numbers, which may be ids."""
    at = schema.get_field_index(name)
    return at >= 0 and bool(is_text(schema.types[at]) or pa.types.is_integer(schema.types[at]))


def _as_bytes(array: pa.Array) -> pa.Array:
    """View strings as bytes, so that each is decoded by itself, and check what would lead out of the batch."""
    if pa.types.is_dictionary(array.type) or pa.types.is_string_view(array.type):
        array.validate(full=True)
        array = array.cast(pa.string())
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        array = array.view(pa.binary() if pa.types.is_string(kind) else pa.large_binary())
    elif (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and is_text(kind):
        inner = pa.large_binary() if pa.types.is_large_string(kind.value_type) else pa.binary()
        array = array.view(pa.list_(inner) if pa.types.is_list(kind) else pa.large_list(inner))
    array.validate(full=True)
    return array


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_decoded(part) for part in value] if isinstance(value, list) else value

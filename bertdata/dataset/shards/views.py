"""Map a local shard into memory, as record batches with zero-copy views of their columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...config import LABEL_1_COUNTS, PairsConfig
from ...errors import VerificationError
from ..manifest_records import ShardEntry
from .schema import pair_schema
from .write import check_end, raise_for

__all__ = ["CHANGED", "DIFFER", "REMAKE", "VERIFY", "ColumnView", "View", "columns_of", "map_rows", "padded"]

READ = (
    *("input_ids", "token_type_ids", "document_starts", "next_sentence_label", "continues_word"),
    *("masked_lm_positions", "masked_lm_labels"),
)
REMAKE = "build it again with `overwrite`"
CHANGED = f"differs from its manifest (SHA-256): {REMAKE}"
VERIFY = "Shards(…, verify=True) names the damaged file"
DIFFER = "differ in their {}: read them apart, or make them alike"
Array = npt.NDArray[Any]


class ColumnView(NamedTuple):
    """A column of a record batch, as views of the mapped file: values and, for lists, row ends [N + 1]."""

    values: Array
    ends: Array


class View(NamedTuple):
    """A record batch of rows, and the columns that models read."""

    batch: pa.RecordBatch
    columns: dict[str, ColumnView]

    @property
    def origin(self) -> Array:
        """The origin numbers of its rows [N], or 0 for rows of earlier versions, which have none."""
        if "origin" in self.batch.schema.names:
            return np.asarray(self.batch.column("origin").to_numpy())
        return np.zeros(self.batch.num_rows, np.uint16)

    def row(self, number: int) -> dict[str, Any]:
        """Return a row, with lists of numbers as arrays and other values as Python objects."""
        values = {name: self.batch.column(name)[number] for name in self.batch.schema.names}
        return {name: _value(value) for name, value in values.items()}


def _value(value: pa.Scalar) -> Any:
    numbers = pa.types.is_list(value.type) and not pa.types.is_string(value.type.value_type)
    return value.values.to_numpy(zero_copy_only=False) if numbers else value.as_py()


def map_rows(path: Path, shard: ShardEntry, config: PairsConfig, vocab_size: int, format: str) -> list[View]:
    """Map a shard's record batches. Raise VerificationError if it is incomplete or has other rows than its manifest.

    Args:
        path: The shard.
        shard: Its entry in the manifest.
        config: The manifest's configuration.
        vocab_size: Number of tokens in the vocabulary.
        format: File format.
    """
    try:
        with pa.memory_map(str(path)) as source:
            if format == "arrow-file":
                file = pa.ipc.open_file(source)
                batches = [file.get_batch(index) for index in range(file.num_record_batches)]
            else:
                check_end(path)
                batches = list(pa.ipc.open_stream(source))
        for batch in batches:
            batch.validate()
            _check_columns(path, batch.schema, config, vocab_size)
        names = [name for name in READ if name in batches[0].schema.names] if batches else []
        views = [View(batch, {name: _column(batch.column(name)) for name in names}) for batch in batches]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise_for(path, error, "damaged", REMAKE)
    rows = sum(batch.num_rows for batch in batches)
    if rows != shard.rows:
        raise VerificationError(f"{path} contains {rows} rows, but its manifest lists {shard.rows}: {REMAKE}")
    return views


def columns_of(config: PairsConfig) -> tuple[str, ...]:
    """Return the columns that models read, for a configuration of rows."""
    words = {"continues_word"} if config.chinese_words != "none" else set()
    return tuple(name for name in READ if name in _needed(config) | words)


def _needed(config: PairsConfig) -> set[str]:
    needed = {"input_ids", "token_type_ids"}
    needed |= {"next_sentence_label"} if config.objective in LABEL_1_COUNTS else set()
    needed |= {"document_starts"} if config.pack else set()
    return needed | ({"masked_lm_positions", "masked_lm_labels"} if config.masking == "static" else set())


def _check_columns(path: Path, schema: pa.Schema, config: PairsConfig, vocab_size: int) -> None:
    """Raise VerificationError if a column that models read is missing or has the wrong type."""
    needed, packed = _needed(config), config.pack
    for field in pair_schema(vocab_size, ["origin", *(name for name in READ if packed or name != "document_starts")]):
        types = [column.type for column in schema if column.name == field.name]
        if (types or field.name in needed) and types != [field.type]:
            problem = f"has no one column {field.name}" if len(types) != 1 else f"has a column {field.name} of {types[0]}"
            raise VerificationError(f"{path} {problem}, not of {field.type}: {REMAKE}")


def _column(column: pa.Array) -> ColumnView:
    """Return a zero-copy view of a column."""
    if not pa.types.is_list(column.type):
        return ColumnView(column.to_numpy(), np.zeros(0, np.int32))
    ends = column.offsets.to_numpy()
    if pa.types.is_boolean(column.type.value_type):
        return ColumnView(np.frombuffer(column.values.buffers()[1] or b"", np.uint8), ends)
    return ColumnView(column.values.to_numpy(), ends)


def padded(values: Array, ends: Array, rows: Array, width: int, fill: int) -> Array:
    """Gather ragged rows [B] into [B, width], padded with `fill`. Row i is ``values[ends[i]:ends[i + 1]]``.

    >>> padded(np.array([5, 6, 7]), np.array([0, 1, 3]), np.array([1, 0]), 3, 0).tolist()
    [[6, 7, 0], [5, 0, 0]]
    """
    indices = ends[rows][:, None] + np.arange(width)
    inside = indices < ends[rows + 1][:, None]
    return np.asarray(np.where(inside, values[np.minimum(indices, len(values) - 1)], fill), values.dtype)

"""Shards: the Arrow schemas, and how record batches become files and are read back.

The default is the Arrow IPC stream format, uncompressed, one record batch a shard: `datasets` and pyarrow map it without a
copy.  The schema carries the ``huggingface`` features key, so `datasets` shows the right column types.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from .errors import VerificationError
from .files import digest, replacing
from .records import Document

__all__ = ["DOCUMENT", "DocumentBatch", "name", "padded", "pair_batch", "pair_schema", "read_batches", "write"]


def _with_features(schema: pa.Schema) -> pa.Schema:
    """Add the features key in the form that every release of `datasets` since 2.0 reads."""

    def feature(kind: pa.DataType) -> dict[str, Any]:
        if pa.types.is_list(kind):
            return {"feature": feature(kind.value_type), "_type": "Sequence"}
        return {"dtype": str(kind), "_type": "Value"}

    features = {column.name: feature(column.type) for column in schema}
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


DOCUMENT = _with_features(
    pa.schema(
        [
            ("id", pa.string()),
            ("source", pa.string()),
            ("language", pa.string()),
            ("title", pa.string()),
            ("url", pa.string()),
            ("sentences", pa.list_(pa.string())),
            ("paragraph_starts", pa.list_(pa.uint32())),
        ]
    )
)


def pair_schema(vocab_size: int, names: Container[str]) -> pa.Schema:
    """Return the schema of rows that have these columns; ids take two bytes up to 65,536 words.

    ``continues_word`` tells of each token whether it goes on with the word before it.  ``masked_lm_positions`` and
    ``masked_lm_labels`` are the masked places of a row, whose ``input_ids`` then are the masked ones, and what stood there.
    ``a_document`` and ``b_document`` are the ids of the documents that A and B came from.
    """
    ids = pa.list_(pa.uint16() if vocab_size <= 1 << 16 else pa.uint32())
    columns = {
        "input_ids": ids,
        "token_type_ids": pa.list_(pa.uint8()),
        "next_sentence_label": pa.int8(),
        "continues_word": pa.list_(pa.bool_()),
        "masked_lm_positions": pa.list_(pa.uint16()),
        "masked_lm_labels": ids,
        "a_document": pa.string(),
        "b_document": pa.string(),
    }
    return _with_features(pa.schema([(name, kind) for name, kind in columns.items() if name in names]))


def name(split: str, index: int, count: int, format: str) -> str:
    """Name a shard as `datasets` looks for it: ``data/train-00003-of-00016.arrow``."""
    return f"data/{split}-{index:05d}-of-{count:05d}.{'parquet' if format == 'parquet' else 'arrow'}"


class DocumentBatch:
    """Gather documents into one record batch, holding their text once, as UTF-8."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str, str, str]] = []
        self._starts = array("i", [0])  # document -> first sentence
        self._ends = array("i", [0])  # sentence -> end of its text
        self._text = bytearray()
        self._paragraphs = array("I")
        self._paragraph_ends = array("i", [0])

    @property
    def bytes(self) -> int:
        """The text gathered so far, in bytes."""
        return len(self._text)

    def add(self, document: Document) -> None:
        """Add a document."""
        self.rows.append(document[:5])
        for sentence in document.sentences:
            self._text += sentence.encode("utf-8", "replace")
            self._ends.append(len(self._text))
        self._starts.append(len(self._ends) - 1)
        self._paragraphs.extend(document.paragraph_starts)
        self._paragraph_ends.append(len(self._paragraphs))

    def take(self) -> pa.RecordBatch:
        """Return the batch and start an empty one."""
        sentences = pa.StringArray.from_buffers(len(self._ends) - 1, pa.py_buffer(self._ends), pa.py_buffer(self._text))
        paragraphs = pa.array(self._paragraphs, pa.uint32())
        columns = [pa.array([row[i] for row in self.rows], pa.string()) for i in range(5)]
        columns += [
            pa.ListArray.from_arrays(pa.array(self._starts, pa.int32()), sentences),
            pa.ListArray.from_arrays(pa.array(self._paragraph_ends, pa.int32()), paragraphs),
        ]
        self.__init__()  # type: ignore[misc]
        return pa.RecordBatch.from_arrays(columns, schema=DOCUMENT)


def pair_batch(schema: pa.Schema, columns: dict[str, Any]) -> pa.RecordBatch:
    """Make a record batch of flat ids: ``input_ids`` [T], ``token_type_ids`` [T], ``ends`` [N + 1], labels [N].

    `columns` holds these NumPy arrays, and the lists of strings that provenance adds.  Masked places are flat too, [M]; where
    those of a row end, ``masked_lm_ends`` [N + 1] tells.
    """
    arrays = []
    for column in schema:
        values = columns[column.name]
        if pa.types.is_list(column.type):
            ends = columns["masked_lm_ends" if column.name.startswith("masked_lm_") else "ends"]
            flat = pa.array(np.ascontiguousarray(values), column.type.value_type)
            arrays.append(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat))
        else:
            arrays.append(pa.array(values, column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def write(root: Path, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], format: str) -> dict[str, Any]:
    """Write a shard whole or not at all; return its name, rows, batches, bytes and SHA-256 for the manifest."""
    rows = count = 0
    with replacing(root / name) as file:
        if format == "parquet":
            writer = pq.ParquetWriter(file, schema, compression="zstd")
        else:
            writer = (pa.ipc.new_stream if format == "arrow-stream" else pa.ipc.new_file)(file, schema)
        with writer:
            for batch in batches:
                writer.write_batch(batch)
                rows, count = rows + batch.num_rows, count + 1
                del batch  # or it stays while the next one is made
        file.flush()
        path = Path(file.name)
        sha256, size = digest(path), path.stat().st_size
    return {"name": name, "rows": rows, "batches": count, "bytes": size, "sha256": sha256}


def _check_end(path: Path) -> None:
    """Raise OSError unless a stream ends with its end marker: cut where a batch ends, Arrow reads it as a shorter one."""
    with open(path, "rb") as file:
        file.seek(-8, os.SEEK_END)
        if file.read() != b"\xff\xff\xff\xff\x00\x00\x00\x00":
            raise OSError("its end is missing")


def read_batches(path: Path, format: str, start: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
    """Read the record batches ``[start, end)`` of a shard, one at a time: none is held while the next is read.

    Raise VerificationError for a file that is cut or damaged.
    """
    try:
        if format == "parquet":
            with pq.ParquetFile(path) as file:
                for group in range(start, file.num_row_groups if end is None else end):
                    yield from file.read_row_group(group).combine_chunks().to_batches()
            return
        with pa.OSFile(str(path)) as source:  # pages of a mapped file would stay with the process
            if format == "arrow-file":
                reader = pa.ipc.open_file(source)
                for index in range(start, reader.num_record_batches if end is None else end):
                    yield reader.get_batch(index)
            else:
                yield from _stream(pa.ipc.open_stream(source), path, start, end)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise VerificationError(f"{path} is missing or damaged ({error}): build the data set again") from error


def _stream(reader: pa.RecordBatchReader, path: Path, start: int, end: int | None) -> Iterator[pa.RecordBatch]:
    """Read the record batches ``[start, end)`` of a stream; of one read to its end, the end mark is checked."""
    index = 0
    while end is None or index < end:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            _check_end(path)
            return
        if index >= start:
            yield batch
        del batch
        index += 1


def padded(values: npt.NDArray[Any], ends: npt.NDArray[Any], rows: npt.NDArray[Any], width: int, fill: int) -> npt.NDArray[Any]:
    """Take rows [B] out of ragged ones, row i being ``values[ends[i]:ends[i + 1]]``: [B, width], filled up with `fill`.

    >>> padded(np.array([5, 6, 7]), np.array([0, 1, 3]), np.array([1, 0]), 3, 0).tolist()
    [[6, 7, 0], [5, 0, 0]]
    """
    places = ends[rows][:, None] + np.arange(width)
    inside = places < ends[rows + 1][:, None]
    return np.asarray(np.where(inside, values[np.minimum(places, len(values) - 1)], fill), values.dtype)

"""Read a bounded part of a dataset: documents and rows from positions spread evenly over its shards.

At most _MAX_SHARDS shards are opened, and one record batch is read of each. Of rows, only the pages of the mapped file that hold
the chosen rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...dataset import shards
from ...dataset.manifest_types import CorpusManifest, PairsManifest, ReadableManifest
from ...storage.files import is_local
from ...tokens.vocab import Vocabulary
from ..examples import check_rows, pick

_MAX_SHARDS = 12
_MAX_ROWS, _MAX_TOKENS, _RUN = 16_384, 4_000_000, 64  # rows to read, their tokens, and consecutive rows per run
_MAX_REQUEST_BYTES = 32 << 20  # maximum bytes of a record batch to fetch from a store
Array = npt.NDArray[Any]


class DocumentSample(NamedTuple):
    """Documents [D]: their table, the characters of their sentences [S], and each document's sentences and characters [D]."""

    table: pa.Table
    sentences: Array
    per_document: Array
    characters: Array


class RowSample(NamedTuple):
    """Rows [N]: their table, each row's number in the dataset, and its position in its shard, from 0 to 1."""

    table: pa.Table
    numbers: Array
    positions: Array

    def flat(self, name: str) -> tuple[Array, Array]:
        """Return the values of a list column, and where each row begins and the last one ends [N + 1]."""
        return shards.flat(self.table.column(name).combine_chunks())


def read_documents(directory: Path, manifest: CorpusManifest) -> DocumentSample | None:
    """Read documents. Return None without any, or if their record batches in a store are too large."""
    batches = [(before, batch) for before, _, batch in _first_batches(directory, manifest)]
    if not batches:
        return None
    check_rows(directory, batches, manifest)
    table = pa.Table.from_batches([batch for _, batch in batches])
    column = table.column("sentences").combine_chunks()
    values, ends = column.flatten(), np.cumsum([0, *pc.list_value_length(column).to_pylist()])
    lengths = pc.utf8_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(lengths)])
    return DocumentSample(table, lengths, np.diff(ends), np.diff(sums[ends]))


def read_rows(directory: Path, manifest: PairsManifest, vocabulary: Vocabulary) -> RowSample | None:
    """Read some runs of neighbouring rows from each chosen shard. Return None as `read_documents` does."""
    most = max(_RUN, min(_MAX_ROWS, _MAX_TOKENS // manifest.settings.max_seq_length))
    runs = max(1, most // _RUN // max(1, min(_MAX_SHARDS, sum(shard.rows > 0 for shard in manifest.shards))))  # of a shard
    parts, positions = list[tuple[int, pa.RecordBatch]](), []
    for before, rows, batch in _first_batches(directory, manifest):
        for start in range(0, batch.num_rows, max(_RUN, -(-batch.num_rows // runs))):
            parts.append((before + start, batch.slice(start, _RUN)))
            positions.append(np.arange(start, start + parts[-1][1].num_rows) / rows)
    if not parts:
        return None
    check_rows(directory, parts, manifest, vocabulary)
    numbers = [np.arange(first, first + part.num_rows) for first, part in parts]
    table = pa.Table.from_batches([part for _, part in parts]).combine_chunks()
    return RowSample(table, np.concatenate(numbers), np.concatenate(positions))


def _first_batches(directory: Path, manifest: ReadableManifest) -> Iterator[tuple[int, int, pa.RecordBatch]]:
    """Yield for evenly spread shards: the number of rows before it, its rows, and its first record batch."""
    before, filled = 0, []
    for shard in manifest.shards:
        if shard.rows:
            filled.append((before, shard))
        before += shard.rows
    for before, shard in map(filled.__getitem__, pick(len(filled), _MAX_SHARDS)):
        path = directory / shard.name
        if is_local(path):
            try:
                yield from ((before, shard.rows, batch) for batch in shards.map_batches(path)[:1])
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                shards.raise_for(path, error, "missing or damaged", "build the dataset again")
        elif shard.bytes // max(1, shard.batches) <= _MAX_REQUEST_BYTES:
            yield from ((before, shard.rows, batch) for batch in shards.read_batches(path, 0, 1))

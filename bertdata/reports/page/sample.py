"""Read a bounded part of a dataset: rows and documents from positions spread evenly over its shards, and lines of its lists.

However large a dataset is, at most _MAX_SHARDS shards are opened, and of each one record batch: of rows, only the pages of the
mapped file in which the chosen ones lie; of documents, the two megabytes that build-corpus writes at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...dataset import shards
from ...dataset.manifest_records import RowFile
from ...dataset.manifest_types import CorpusManifest, PairsManifest, ReadableManifest
from ...errors import VerificationError
from ...storage.files import is_local, open_file
from ...tokens.vocab import Vocabulary
from ...verification.pairs import flat
from ..checks import check_rows
from ..examples import pick

__all__ = ["DocumentSample", "RowSample", "entries", "read_documents", "read_rows"]

_MAX_SHARDS = 12
_MAX_ROWS, _MAX_TOKENS, _RUN = 16_384, 4_000_000, 64  # rows to read, their tokens, and consecutive rows per run
_MAX_REQUEST_BYTES = 32 << 20  # maximum bytes of a record batch to fetch from a store
_MAX_LIST_BYTES = 1 << 18  # bytes to read of a list
Array = npt.NDArray[Any]


class DocumentSample(NamedTuple):
    """Documents that were read: their table, and characters of their sentences [S], sentences and characters of each [D]."""

    table: pa.Table
    sentences: Array
    per_document: Array
    characters: Array


class RowSample(NamedTuple):
    """Rows that were read: their table, each one's number in the dataset [N], and its position in its shard, 0 to 1 [N]."""

    table: pa.Table
    numbers: Array
    positions: Array

    def flat(self, name: str) -> tuple[Array, Array]:
        """Return a column of lists end to end, and where each row begins and the last ends [N + 1]."""
        return flat(self.table.column(name).combine_chunks())


def read_documents(directory: Path, manifest: CorpusManifest) -> DocumentSample | None:
    """Read documents. Return None if there are none, or if their record batches in a store are too large."""
    found = [(before, batch) for before, _, batch in _first_batches(directory, manifest)]
    if not found:
        return None
    check_rows(directory, found, manifest)
    table = pa.Table.from_batches([batch for _, batch in found])
    column = table.column("sentences").combine_chunks()
    lengths = pc.utf8_length(column.flatten()).to_numpy(zero_copy_only=False).astype(np.int64)
    counts = pc.list_value_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
    ends = np.cumsum(counts)
    sums = np.concatenate([[0], np.cumsum(lengths)])
    return DocumentSample(table, lengths, counts, sums[ends] - sums[ends - counts])


def read_rows(directory: Path, manifest: PairsManifest, vocabulary: Vocabulary) -> RowSample | None:
    """Read rows, some runs of neighbours from each chosen shard; None as for `read_documents`."""
    most = max(_RUN, min(_MAX_ROWS, _MAX_TOKENS // manifest.settings.max_seq_length))
    chosen = min(_MAX_SHARDS, sum(shard.rows > 0 for shard in manifest.shards)) or 1
    found, positions = list[tuple[int, pa.RecordBatch]](), []
    for before, rows, batch in _first_batches(directory, manifest):
        for start in _runs(batch.num_rows, most // chosen):
            found.append((before + start, batch.slice(start, _RUN)))
            positions.append(np.arange(start, start + found[-1][1].num_rows) / rows)
    if not found:
        return None
    try:
        table = pa.Table.from_batches([part for _, part in found]).combine_chunks()
        check_rows(directory, [(0, part) for part in table.to_batches()], manifest, vocabulary)
    except (pa.ArrowException, VerificationError):
        check_rows(directory, found, manifest, vocabulary)  # takes longer, and names the row by its number
        raise
    numbers = [np.arange(first, first + part.num_rows) for first, part in found]
    return RowSample(table, np.concatenate(numbers), np.concatenate(positions))


def _runs(rows: int, wanted: int) -> list[int]:
    """Return where runs begin that are spread over a shard, all of it where it is small.

    >>> _runs(100, 500), _runs(6400, 128)
    ([0, 64], [0, 3200])
    """
    runs = -(-rows // _RUN)
    count = max(1, min(runs, wanted // _RUN))
    return [runs * index // count * _RUN for index in range(count)]


def _first_batches(directory: Path, manifest: ReadableManifest) -> Iterator[tuple[int, int, pa.RecordBatch]]:
    """Yield for evenly spread shards: the number of rows before it, its rows, and its first record batch."""
    before, filled = 0, []
    for shard in manifest.shards:
        if shard.rows:
            filled.append((before, shard))
        before += shard.rows
    for before, shard in map(filled.__getitem__, pick(len(filled), _MAX_SHARDS)):
        for batch in _first_batch(directory / shard.name, shard, manifest):
            yield before, shard.rows, batch


def _first_batch(path: Path, shard: RowFile, manifest: ReadableManifest) -> Iterator[pa.RecordBatch]:
    if manifest.kind == "pairs" and is_local(path):
        try:
            yield from shards.map_batches(path)[:1]
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            shards.raise_for(path, error, "missing or damaged", "build the dataset again")
    elif is_local(path) or shard.bytes // max(1, shard.batches) <= _MAX_REQUEST_BYTES:
        yield from islice(shards.read_batches(path, 0, 1), 1)


def entries(directory: Path, files: Sequence[RowFile], most: int = 3) -> dict[str, list[tuple[str, str]]]:
    """Return, by reason, the id of some rejects or drops, and where or why."""
    by_reason: dict[str, list[tuple[str, str]]] = {}
    filled = [file for file in files if file.rows]
    for file in map(filled.__getitem__, pick(len(filled), _MAX_SHARDS)):
        with open_file(directory / file.name) as lines:
            for line in lines.read(_MAX_LIST_BYTES).splitlines()[: file.rows]:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue  # the last line, which is cut, or a damaged one, which `verify` reports
                if isinstance(record, dict) and len(records := by_reason.setdefault(str(record.get("reason")), [])) < most:
                    records.append((str(record.get("id", "")), str(record.get("where") or record.get("detail") or "–")))
    return by_reason

"""Store claims about documents, and the decisions on them, as arrays with named columns that serialize to bytes.

A claim is one row that a task sends to a rule about a document, for example "here is a text with this hash". Each rule defines
the columns. An optional payload, one byte string per row, has data of variable length, such as the document's id or signature:

    columns   hash (128 bits)          row        payload
              [0x8c1f…, 0x03ab…]       0          enwiki:12
              [0x17d0…, 0xe241…]       3          enwiki:15
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..shuffle import Pieces
from .duplicates import Indices

__all__ = ["Claims", "Columns", "Table", "join_in_batches", "join", "read", "split"]

Columns = npt.NDArray[Any]  # with named fields
_TABLES_PER_JOIN = 1024


class Table(NamedTuple):
    """Rows with named columns, and an optional payload of type large_binary.

    >>> columns = np.array([(7, 1.5), (8, 2.5)], [("row", "<u4"), ("size", "<f8")])
    >>> table = Table(columns, pa.array([b"one", b"two"], pa.large_binary()))
    >>> read = Table.from_bytes(table.to_bytes(), table.columns.dtype, has_payload=True)
    >>> read.columns["row"].tolist(), read.payload.to_pylist()
    ([7, 8], [b'one', b'two'])
    """

    columns: Columns
    payload: pa.Array | None = None

    def take(self, chosen: Indices) -> Table:
        """Return a subset of the rows."""
        return Table(self.columns[chosen], None if self.payload is None else self.payload.take(pa.array(chosen)))

    def to_bytes(self) -> bytes:
        """Serialize the number of rows, the columns, the lengths of the payloads, and the payloads."""
        fixed = np.array(len(self.columns), "<u8").tobytes() + self.columns.tobytes()
        if self.payload is None or not len(self.payload):
            return fixed
        # Arrow stores byte strings as one buffer of data and one of offsets. Write lengths of 4
        # bytes instead of offsets of 8, and the data in one piece.
        ends = np.frombuffer(self.payload.buffers()[1], "<i8")[self.payload.offset :][: len(self.payload) + 1]
        data = memoryview(self.payload.buffers()[2] or b"")[ends[0] : ends[-1]]
        return b"".join((fixed, np.diff(ends).astype("<u4").tobytes(), data))

    @classmethod
    def from_bytes(cls, data: bytes, dtype: np.dtype[Any], has_payload: bool) -> Table:
        """Deserialize the output of `to_bytes`."""
        (count,) = np.frombuffer(data, "<u8", 1).tolist()
        columns = np.frombuffer(data, dtype, count, 8)
        if not has_payload:
            return cls(columns)
        start = 8 + columns.nbytes
        ends = np.zeros(count + 1, "<i8")
        np.cumsum(np.frombuffer(data, "<u4", count, start), out=ends[1:])
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)[start + 4 * count :]]
        payload = pa.Array.from_buffers(pa.large_binary(), count, buffers)
        payload.validate()
        return cls(columns, payload)


class Claims(NamedTuple):
    """Claims of many tasks. `task` [N] is the number of the task that sent each claim."""

    columns: Columns
    task: npt.NDArray[np.uint32]
    payload: pa.Array | None = None

    @classmethod
    def of(cls, task: int, table: Table) -> Claims:
        """Return the claims of one task."""
        return cls(table.columns, np.full(len(table.columns), task, np.uint32), table.payload)

    @property
    def nbytes(self) -> int:
        """The memory size in bytes."""
        return int(self.columns.nbytes + self.task.nbytes + (0 if self.payload is None else self.payload.nbytes))

    def take(self, chosen: Indices) -> Claims:
        """Return a subset of the claims."""
        columns, payload = Table(self.columns, self.payload).take(chosen)
        return Claims(columns, self.task[chosen], payload)


def split(table: Table, partition: Indices) -> Iterator[tuple[int, Table]]:
    """Yield the rows of each partition, in order of partitions. Rows keep their order within a partition."""
    # Sort by partition, then cut where the partition changes.
    order = np.argsort(partition, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(partition[order])) + 1) if len(order) else []:
        yield int(partition[members[0]]), table.take(members)


def read(pieces: Pieces, dtype: np.dtype[Any], has_payload: bool) -> Iterator[tuple[int, Table]]:
    """Yield the number and the claims of each task."""
    return ((task, Table.from_bytes(data, dtype, has_payload)) for task, data in pieces)


def join(claims: Iterable[tuple[int, Table]], dtype: np.dtype[Any]) -> Claims:
    """Join the claims of all tasks in a partition.

    Join _TABLES_PER_JOIN tables at a time, because 100,000 tasks may have only a few claims each.
    """
    remaining, joined = iter(claims), [Claims(np.zeros(0, dtype), np.zeros(0, np.uint32))]
    while batch := [*islice(remaining, _TABLES_PER_JOIN)]:
        joined.append(_joined([Claims.of(task, table) for task, table in batch]))
    return _joined(joined)


def join_in_batches(claims: Iterable[tuple[int, Table]], max_bytes: int) -> Iterator[Claims]:
    """Join the claims of tasks into batches of about `max_bytes` in memory."""
    batch, size = list[Claims](), 0
    for task, table in claims:
        batch.append(Claims.of(task, table))
        size += batch[-1].nbytes
        del table  # not kept while the next one is read
        if size >= max_bytes:
            yield _joined(batch)
            batch, size = [], 0
    if batch:
        yield _joined(batch)


def _joined(batch: list[Claims]) -> Claims:
    payloads = [claims.payload for claims in batch if claims.payload is not None]
    columns, tasks = (np.concatenate([claims[field] for claims in batch]) for field in (0, 1))
    return Claims(columns, tasks, pa.concat_arrays(payloads) if payloads else None)

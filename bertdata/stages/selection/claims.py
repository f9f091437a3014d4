"""Store claims about documents, and the decisions on them, as arrays with named columns that serialize to bytes.

A claim is one row that a task sends to a rule about a document, for example "here is a text with this hash". Each rule defines
the columns. An optional payload, one byte string per row, has data of variable length, such as the document's id or signature:

    columns   hash (128 bits)          row        payload
              [0x8c1f…, 0x03ab…]       0          enwiki:12
              [0x17d0…, 0xe241…]       3          enwiki:15
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .duplicates import Indices

__all__ = ["Columns", "Table", "concat", "join", "split"]

Columns = npt.NDArray[Any]  # with named fields
_TABLE_BYTES = 1000  # memory of a table in addition to its rows


class Table(NamedTuple):
    """Rows with named columns, and an optional payload of type large_binary. A table without rows has no payload.

    >>> columns = np.array([(7, 1.5), (8, 2.5)], [("row", "<u4"), ("size", "<f8")])
    >>> table = Table(columns, pa.array([b"one", b"two"], pa.large_binary()))
    >>> read = Table.from_bytes(table.to_bytes(), table.columns.dtype)
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
    def from_bytes(cls, data: bytes, dtype: np.dtype[Any]) -> Table:
        """Deserialize the output of `to_bytes`."""
        (count,) = np.frombuffer(data, "<u8", 1).tolist()
        columns = np.frombuffer(data, dtype, count, 8)
        start = 8 + columns.nbytes
        if len(data) == start:
            return cls(columns)
        ends = np.zeros(count + 1, "<i8")
        np.cumsum(np.frombuffer(data, "<u4", count, start), out=ends[1:])
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)[start + 4 * count :]]
        payload = pa.Array.from_buffers(pa.large_binary(), count, buffers)
        payload.validate()
        return cls(columns, payload)


def split(table: Table, partition: npt.NDArray[Any]) -> Iterator[tuple[int, Table]]:
    """Yield the rows of each partition, in order of partitions. Rows keep their order within a partition."""
    # Sort by partition, then cut where the partition changes.
    order = np.argsort(partition, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(partition[order])) + 1) if len(order) else []:
        yield int(partition[members[0]]), table.take(members)


def join(tables: Iterable[tuple[int, Table]], max_bytes: int) -> Iterator[Table]:
    """Join tables of tasks, with the task as a column `task`, into tables of about `max_bytes` in memory."""
    batch, size = list[Table](), 0
    for task, (columns, payload) in tables:
        made = np.empty(len(columns), [("task", "<u4"), *columns.dtype.descr])
        made["task"] = task
        for name in columns.dtype.names or ():
            made[name] = columns[name]
        batch.append(Table(made, payload))
        size += made.nbytes + (payload.nbytes if payload else 0) + _TABLE_BYTES
        del columns, payload  # not kept while the next table is read
        if size >= max_bytes:
            yield concat(batch)
            batch, size = [], 0
    if batch:
        yield concat(batch)


def concat(tables: Iterable[Table], dtype: Any = None) -> Table:
    """Concatenate tables. Without any, the result has columns of this type and no rows."""
    columns, payloads = [np.zeros(0, dtype)] if dtype is not None else [], list[pa.Array]()
    for table in tables:
        columns.append(table.columns)
        payloads += [] if table.payload is None else [table.payload]
    return Table(np.concatenate(columns), pa.concat_arrays(payloads) if payloads else None)

"""The files of a round: record batches of claims and of losses, end to end, and references that tell where each lies.

texts-claims-00012.arrow   what task 12 claims, by bucket; with two levels of buckets, by group of them
texts-lost-00007.arrow     what is lost in bucket 7, by task
texts-together-….arrow     the same with two levels: by block of tasks
texts-merged-….arrow       with two levels: the claims of a block in a group, by bucket
texts-split-….arrow        the losses of a block in a group, by task
texts-gone-00012.arrow     what task 12 loses in the round
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...dataset import shards
from ...dataset.run import STATE
from ...io.files import to_path
from .duplicates import Claims

__all__ = ["LOST", "NONE", "Ref", "apart", "claimed", "joined", "name", "read", "together", "write", "write_claims"]

Ref = tuple[int, int, int, int]  # the file's number, where a record batch begins in it (-1: none), bytes and digest
NONE = (-1, 0, 0)

_CLAIMS = pa.schema([("high", pa.uint64()), ("low", pa.uint64()), ("row", pa.uint32()), ("part", pa.uint32())])
LOST = pa.schema(  # the document or paragraph that is lost, why (an index of REASONS), and the earlier one that is kept instead
    [
        ("row", pa.uint32()),
        ("part", pa.uint32()),
        ("reason", pa.uint8()),
        ("first_task", pa.uint32()),
        ("first_row", pa.uint32()),
        ("first", pa.string()),
    ]
)
_TASK = pa.field("task", pa.uint32())  # the last column of what several tasks have together
_SCHEMAS = {
    "claims": _CLAIMS,
    "merged": _CLAIMS.append(_TASK),
    "lost": LOST,
    "together": LOST.append(_TASK),
    "split": LOST,
    "gone": LOST,
}


def name(round: str, what: str, number: int) -> str:
    """Name a file of a round, below the root of the run."""
    return f"{STATE}/work/{round}-{what}-{number:05d}.arrow"


def write(
    root: str, round: str, what: str, number: int, keyed: Iterable[tuple[int, pa.RecordBatch]]
) -> Iterator[tuple[int, Ref]]:
    """Write record batches, each for a key; yield for each key the reference."""
    keys: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for key, batch in keyed:
            keys.append(key)
            yield batch

    _, pieces = shards.write_pieces(to_path(root), name(round, what, number), batches())
    for key, piece in zip(keys, pieces, strict=True):
        yield key, (number, *piece)


def read(root: str, round: str, what: str, refs: Iterable[Ref]) -> Iterator[pa.RecordBatch]:
    """Read the record batches that references tell of, in their order; those without one give none."""
    directory = to_path(root)
    pieces = ((directory / name(round, what, number), shards.Piece(*piece)) for number, *piece in refs if piece[0] >= 0)
    return shards.read_pieces(_SCHEMAS[what], pieces)


def write_claims(
    root: str, round: str, what: str, number: int, claims: Claims, of: npt.NDArray[np.int64]
) -> Iterator[tuple[int, Ref]]:
    """Write claims by what each goes to; yield references, in order."""
    order = np.argsort(of, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(of[order])) + 1) if len(order) else []
    return write(root, round, what, number, ((int(of[own[0]]), _batch(claims.take(own), what)) for own in parts))


def _batch(claims: Claims, what: str) -> pa.RecordBatch:
    schema = _SCHEMAS[what]
    return pa.record_batch([pa.array(getattr(claims, field)) for field in schema.names], schema=schema)


def claimed(root: str, round: str, refs: list[Ref], merged: bool = False) -> Iterator[Claims]:
    """Read claims: of each task, or of each merged file."""
    numbers = [number for number, start, _, _ in refs if start >= 0]
    for number, batch in zip(numbers, read(root, round, "merged" if merged else "claims", refs), strict=True):
        columns: dict[str, Any] = {name: batch.column(name).to_numpy() for name in batch.schema.names}
        yield Claims(**{"task": np.full(batch.num_rows, number, np.uint32), **columns})


def joined(parts: Iterable[Claims]) -> Claims:
    """Put claims together."""
    none = Claims(*np.zeros((2, 0), np.uint64), *np.zeros((3, 0), np.uint32))
    return Claims(*(np.concatenate(columns) for columns in zip(none, *parts, strict=True)))


def together(lost: Iterable[tuple[int, pa.RecordBatch]], key: Callable[[int], int]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Put what tasks lose together whose keys are the same and that follow one another."""
    for found, own in groupby(lost, lambda item: key(item[0])):
        yield found, _concatenated([_with_task(batch, task) for task, batch in own])


def _with_task(batch: pa.RecordBatch, task: int) -> pa.RecordBatch:
    return pa.record_batch([*batch.columns, np.full(batch.num_rows, task, np.uint32)], schema=_SCHEMAS["together"])


def apart(root: str, round: str, refs: Iterable[Ref]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Read what `together` put together; yield what each task loses, in order of tasks and for each in the order of `refs`."""
    read_batches = list(read(root, round, "together", refs))
    if not read_batches:
        return
    batch = _concatenated(read_batches)
    task = batch.column("task").to_numpy()
    order = np.argsort(task, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(task[order])) + 1):
        yield int(task[own[0]]), batch.select(LOST.names).take(pa.array(own))


def _concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch

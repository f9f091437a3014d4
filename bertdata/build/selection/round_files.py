"""Read and write the files of a round: record batches of claims and of losses, end to end, and a reference to each.

texts-claims-00012.arrow   what task 12 claims, by bucket; with two levels of buckets, by group of them
texts-lost-00007.arrow     what is lost in bucket 7, by task
texts-together-….arrow     the same with two levels: by block of tasks
texts-merged-….arrow       with two levels: the claims of a block in a group, by bucket
texts-split-….arrow        the losses of a block in a group, by task
texts-gone-00012.arrow     what task 12 loses in the round
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa

from ...dataset import shards
from ...dataset.run import STATE
from ...io.files import to_path
from .duplicates import WHOLE, Claims, Indices
from .minhash import VALUES

__all__ = [
    "LOST",
    "NONE",
    "Ref",
    "group_losses",
    "in_batches",
    "join_claims",
    "name",
    "read",
    "read_claims",
    "split_losses",
    "write",
    "write_claims",
]

Ref = tuple[int, int, int, int]  # the file's number, where a record batch begins in it (-1: none), bytes and digest
NONE = (-1, 0, 0)

_PAYLOADS = {"id": pa.string(), "signature": pa.binary(VALUES)}  # what a claim may carry of its document: one of them at most
_CLAIMS = {"high": pa.uint64(), "low": pa.uint64(), "task": pa.uint32(), "row": pa.uint32(), "part": pa.uint32(), **_PAYLOADS}
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
_PARTS = 1024  # claims of tasks that are held as they were read: in record batches, which take 3 kB however few the claims are
_TOGETHER = LOST.append(pa.field("task", pa.uint32()))  # of several tasks


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

    _, ranges = shards.write_ranges(to_path(root), name(round, what, number), batches())
    for key, range_ in zip(keys, ranges, strict=True):
        yield key, (number, *range_)


def read(root: str, round: str, what: str, refs: Iterable[Ref], schema: pa.Schema = LOST) -> Iterator[pa.RecordBatch]:
    """Read the record batches of references, in their order; a reference without one gives none."""
    directory = to_path(root)
    ranges = ((directory / name(round, what, number), shards.BatchRange(*range_)) for number, *range_ in refs if range_[0] >= 0)
    return shards.read_ranges(schema, ranges)


def _schema(columns: tuple[str, ...], merged: bool) -> pa.Schema:
    return pa.schema([(name, _CLAIMS[name]) for name in (*columns, *["task"] * merged)])


def write_claims(
    root: str,
    round: str,
    columns: tuple[str, ...],
    number: int,
    parts: Iterable[Claims],
    to: Callable[[Claims], Indices],
    merged: bool,
) -> Iterator[tuple[int, Ref]]:
    """Write these columns of claims, by what each goes to: a record batch for each in each of `parts`; yield references."""
    schema = _schema(columns, merged)

    def batches() -> Iterator[tuple[int, pa.RecordBatch]]:
        for claims in parts:
            of = to(claims)
            order = np.argsort(of, kind="stable")
            for members in np.split(order, np.flatnonzero(np.diff(of[order])) + 1) if len(order) else []:
                yield int(of[members[0]]), _batch(claims.take(members), schema)

    return write(root, round, "merged" if merged else "claims", number, batches())


def _batch(claims: Claims, schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array(getattr(claims, "payload" if name in _PAYLOADS else name)) for name in schema.names], schema=schema
    )


def read_claims(root: str, round: str, columns: tuple[str, ...], refs: list[Ref], merged: bool = False) -> Iterator[Claims]:
    """Read claims: of each task, or of each merged file; columns that were not written are those of whole documents."""
    numbers = [number for number, start, _, _ in refs if start >= 0]
    batches = read(root, round, "merged" if merged else "claims", refs, _schema(columns, merged))
    for number, batch in zip(numbers, batches, strict=True):
        known: dict[str, Any] = {"low": np.uint64(0), "task": np.uint32(number), "part": np.uint32(WHOLE)}
        known |= {name: batch.column(name).to_numpy() for name in batch.schema.names if name not in _PAYLOADS}
        payload = [batch.column(name) for name in batch.schema.names if name in _PAYLOADS]
        values = (np.broadcast_to(known[name], batch.num_rows) for name in Claims._fields[:5])
        yield Claims(*values, *payload)
        del batch, known, payload, values  # or they stay while the next one is read


def join_claims(parts: Iterable[Claims]) -> Claims:
    """Put claims together, `_PARTS` at a time: 100,000 tasks may have some claims each in a bucket."""
    left, joined = iter(parts), [Claims(*np.zeros((2, 0), np.uint64), *np.zeros((3, 0), np.uint32))]
    while some := [*islice(left, _PARTS)]:
        joined.append(_joined(some))
    return _joined(joined)


def _joined(every: list[Claims]) -> Claims:
    payloads = [claims.payload for claims in every if claims.payload is not None]
    columns = zip(*(claims[:5] for claims in every), strict=True)
    return Claims(*map(np.concatenate, columns))._replace(payload=pa.concat_arrays(payloads) if payloads else None)


def in_batches(parts: Iterable[Claims], most: int) -> Iterator[Claims]:
    """Put claims together until they have `most` bytes in memory, again and again."""
    held, size = list[Claims](), 0
    for claims in parts:
        held.append(claims)
        size += claims.nbytes
        del claims
        if size >= most:
            yield join_claims(held)
            held, size = [], 0
    if held:
        yield join_claims(held)


def group_losses(lost: Iterable[tuple[int, pa.RecordBatch]], key: Callable[[int], int]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Put what tasks lose together whose keys are the same and that follow one another."""
    for group_key, members in groupby(lost, lambda item: key(item[0])):
        yield group_key, _concatenated([_with_task(batch, task) for task, batch in members])


def _with_task(batch: pa.RecordBatch, task: int) -> pa.RecordBatch:
    return pa.record_batch([*batch.columns, np.full(batch.num_rows, task, np.uint32)], schema=_TOGETHER)


def split_losses(root: str, round: str, refs: Iterable[Ref]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Read what `group_losses` gave; yield what each task loses, in order of tasks and for each in the order of `refs`."""
    read_batches = list(read(root, round, "together", refs, _TOGETHER))
    if not read_batches:
        return
    batch = _concatenated(read_batches)
    task = batch.column("task").to_numpy()
    order = np.argsort(task, kind="stable")
    for of_task in np.split(order, np.flatnonzero(np.diff(task[order])) + 1):
        yield int(task[of_task[0]]), batch.select(LOST.names).take(pa.array(of_task))


def _concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch

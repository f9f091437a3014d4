"""Make record batches of what rules have decided: a batch for each task, of the documents and paragraphs that it loses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .duplicates import Claims, first_of_each
from .rounds import LOST

__all__ = ["REASONS", "address", "lose", "lose_later", "record", "split_address"]

REASONS = ("repeated id", "duplicate", "near-duplicate", "duplicate paragraphs", "mixture", "sample", "words")


def address(task: npt.NDArray[Any], row: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return addresses of documents in 64 bits, task above row: they sort as the corpus does, and tell which are the same."""
    return np.asarray(task.astype(np.uint64) << np.uint64(32) | row.astype(np.uint64))


def split_address(at: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Split addresses of documents into tasks and rows."""
    return (at >> np.uint64(32)).astype(np.uint32), (at & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def lose_later(claims: Claims, reason: int, as_of: Any = None) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Drop all claims but the first of each hash; the payload of claims is the ids of their documents.

    `as_of` [N] is the date of the first where the list of drops is to name it, else 0.
    """
    if claims.payload is None:  # of a bucket without claims
        return iter(())
    first = first_of_each(claims)
    later = np.flatnonzero(first != np.arange(len(first)))
    at = address(claims.task, claims.row)
    order = later[np.lexsort((claims.part[later], at[later]))]  # by address: `_lost` yields task by task
    ids = claims.payload.take(pa.array(first[order]))
    if as_of is not None:
        dated = zip(ids.to_pylist(), as_of[order].tolist(), strict=True)
        ids = pa.array([_dated(id, int(seconds)) for id, seconds in dated], pa.string())
    return lose(at[order], claims.part[order], at[first[order]], ids, reason)


def lose(
    at: npt.NDArray[np.uint64],
    part: npt.NDArray[np.uint32],
    first: npt.NDArray[np.uint64],
    ids: pa.Array,
    reason: int,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield a record batch for each task: what it loses, in order, and what is kept instead.

    at, first: addresses of documents, task << 32 | row, tasks of `at` in ascending order.  part: paragraphs, or WHOLE.  ids: what
    `first` are called.  All [N].
    """
    (task, row), (first_task, first_row) = split_address(at), split_address(first)
    for of_task in np.split(np.arange(len(at)), np.flatnonzero(np.diff(task)) + 1) if len(at) else []:
        reasons = np.full(len(of_task), reason, np.uint8)
        yield (
            int(task[of_task[0]]),
            record(row[of_task], part[of_task], reasons, first_task[of_task], first_row[of_task], ids.take(pa.array(of_task))),
        )


def _dated(id: str, seconds: int) -> str:
    date = datetime.fromtimestamp(seconds, timezone.utc).date()
    return f"{id}, whose newer copy of {date} is kept" if seconds else id


def record(*columns: Any) -> pa.RecordBatch:
    """Make a record batch of what a task loses."""
    return pa.record_batch([column if isinstance(column, pa.Array) else pa.array(column) for column in columns], schema=LOST)

"""Store the decisions of rules: documents and paragraphs that a task loses, or pairs of documents for the next rule to
compare."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...dataset.run import STATE
from ...errors import VerificationError
from ...storage.files import digest, is_local, replacing
from ...storage.ranges import range_digest
from ...storage.readers import read_whole
from ...storage.storage import storage_errors
from .claims import Columns, Table, concat, split
from .duplicates import first_of_each

__all__ = [
    "LOST",
    "PAIRS",
    "REASONS",
    "WHOLE_DOCUMENT",
    "Losses",
    "lose_later",
    "lost",
    "merged",
    "read_kept",
    "whole",
    "write_kept",
]

WHOLE_DOCUMENT = (1 << 32) - 1  # as a paragraph number: the complete document
REASONS = ("repeated id", "duplicate", "near-duplicate", "duplicate paragraphs", "mixture", "sample", "words")
_KEPT_DOCUMENT = [("first_task", "<u4"), ("first_row", "<u4")]  # the earlier document, which is kept
PAIRS = np.dtype([("row", "<u4"), *_KEPT_DOCUMENT])
# The loss of `paragraph`, or of the document (WHOLE_DOCUMENT), or, with the reason "words", of its text after the first
# `words` words. The payload is the id of the document that is kept.
LOST = np.dtype(
    [("row", "<u4"), ("paragraph", "<u4"), ("words", "<u4"), ("reason", f"S{max(map(len, REASONS))}"), *_KEPT_DOCUMENT]
)
_DIGEST_BYTES = 8


@dataclass(frozen=True)
class Losses:
    """The documents and paragraphs that a task has lost in these rounds."""

    root: Path
    task: int
    rounds: tuple[str, ...]

    @cached_property
    def table(self) -> Table:
        """All losses, round after round."""
        return concat((read_kept(self.root, round, self.task, LOST) for round in self.rounds), LOST)

    def digests(self) -> list[str]:
        """Hash the files that the table is read from."""
        return [digest(_path(self.root, round, self.task)) for round in self.rounds]

    def left(self, rows: int) -> npt.NDArray[np.bool_]:
        """Return a mask of `rows` documents that is True for documents kept completely or in part."""
        left, lost = np.ones(rows, bool), self.table.columns
        left[lost["row"][whole(lost)]] = False
        return left


def whole(lost: Columns) -> npt.NDArray[np.bool_]:
    """Return a mask of the losses that are complete documents."""
    return np.asarray((lost["paragraph"] == WHOLE_DOCUMENT) & (lost["words"] == 0))


def _path(root: Path, round: str, task: int) -> Path:
    return root / f"{STATE}/work/{round}-gone-{task:05d}"


def write_kept(root: Path, round: str, task: int, table: Table) -> None:
    """Write a round's decisions for a task, even if there are none, so that a missing file is an error."""
    data = table.to_bytes()
    with replacing(_path(root, round, task)) as file:
        file.write(range_digest(data).to_bytes(_DIGEST_BYTES, "big") + data)


def read_kept(root: Path, round: str, task: int, dtype: np.dtype[Any]) -> Table:
    """Read the output of `write_kept`. Raise VerificationError if it is missing or damaged."""
    path, found = _path(root, round, task), b""
    with storage_errors(f"cannot read {path}"), contextlib.suppress(FileNotFoundError):
        found = path.read_bytes() if is_local(path) else read_whole(path)
    data = found[_DIGEST_BYTES:]
    if range_digest(data).to_bytes(_DIGEST_BYTES, "big") != found[:_DIGEST_BYTES]:
        raise VerificationError(f"{path} is missing or damaged: run the same command again")
    return Table.from_bytes(data, dtype)


def lost(ids: pa.Array, **columns: Any) -> Table:
    """Return losses of complete documents, or of the paragraph or words in these columns. `ids` are those of kept documents."""
    made = np.zeros(len(ids), LOST)
    made["paragraph"] = WHOLE_DOCUMENT
    for name, values in columns.items():
        made[name] = values
    return Table(made, ids)


def lose_later(claims: Table, reason: str, newer: Any = None) -> Iterator[tuple[int, Table]]:
    """Drop all claims except the first of each hash. The payload of a claim is its document's id.

    `newer` [N] is the date of the first copy, in seconds since 1970, if the list of drops needs it, else 0.
    """
    # A claim loses if it is not the first of its hash. Sorting put the earliest document first.
    columns, first = claims.columns, first_of_each(claims.columns["hash"])
    later = np.flatnonzero(first != np.arange(len(first)))
    if claims.payload is None or not len(later):
        return
    ids = claims.payload.take(pa.array(first[later]))
    if newer is not None:
        dated = zip(ids.to_pylist(), newer[later].tolist(), strict=True)
        ids = pa.array([_dated(id, int(seconds)) for id, seconds in dated], pa.large_binary())
    own, kept = columns[later], columns[first[later]]
    paragraph = own["paragraph"] if "paragraph" in (columns.dtype.names or ()) else WHOLE_DOCUMENT
    losses = lost(
        ids, row=own["row"], paragraph=paragraph, reason=reason.encode(), first_task=kept["task"], first_row=kept["row"]
    )
    yield from split(losses, own["task"])


def merged(tables: Iterable[Table], dtype: np.dtype[Any]) -> Table:
    """Merge a task's losses from all partitions of a round. Each document or paragraph is listed once. Pairs are all kept.

    A document may lose in several partitions, one per band of its signature, against different documents. The list then names the
    earliest of them in the corpus.
    """
    table = concat(tables, dtype)
    columns = table.columns
    names = ("row", "paragraph") if dtype == LOST else ("row", "first_task", "first_row")
    # Sorted by document, then by the earlier document: the first entry of each document is the
    # earliest one that it lost against, and only this entry is kept.
    order = np.lexsort([columns[name] for name in ("first_row", "first_task", *names[::-1])])
    new = np.ones(len(order), bool)
    new[1:] = np.any([np.diff(columns[name][order]) != 0 for name in names], axis=0)
    return table.take(order[new])


def _dated(id: bytes, seconds: int) -> bytes:
    date = datetime.fromtimestamp(seconds, timezone.utc).date()
    return id + f", whose newer copy of {date} is kept".encode() if seconds else id

"""Write and read record batches that go from step to step: end to end in one file, each read alone by a reference.

A file of Arrow's has an index at its end, which a reader has to fetch first.  Here a reference has that: where a record batch
begins, how long it is, and a digest, so that a record batch is one request to a store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ...io.ahead import ahead
from ...io.files import is_local, replacing
from ...io.ranges import range_digest, read_range
from .write import raise_for

__all__ = ["BatchRange", "read_ranges", "write_ranges"]


class BatchRange(NamedTuple):
    """Where a record batch lies in a file, and a digest of it; plain numbers, for there may be millions."""

    start: int
    length: int
    digest: int


def write_ranges(root: Path, name: str, batches: Iterable[pa.RecordBatch]) -> tuple[dict[str, Any], list[BatchRange]]:
    """Write record batches to a file, whole or not at all; return its entry, and where each lies."""
    ranges: list[BatchRange] = []
    hashed, size = hashlib.sha256(), 0
    with replacing(root / name) as file:
        for batch in batches:
            data = memoryview(batch.serialize())
            file.write(data)
            hashed.update(data)
            ranges.append(BatchRange(size, len(data), range_digest(data)))
            size += len(data)
            del batch, data  # or they stay while the next ones are made
    return {"name": name, "bytes": size, "sha256": hashed.hexdigest()}, ranges


def read_ranges(schema: pa.Schema, ranges: Iterable[tuple[Path, BatchRange]]) -> Iterator[pa.RecordBatch]:
    """Read record batches of this schema, in the order given, each by one request; of a store's some are on their way at a time.

    Raise VerificationError where one is not what was written, StorageError where a disk or a store fails.
    """
    for path, data in _ahead(iter(ranges)):
        try:
            batch = pa.ipc.read_record_batch(pa.py_buffer(data), schema)
            batch.validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise_for(path, error, "missing or damaged", "run the same command again")
        yield batch
        del batch, data


def _ahead(ranges: Iterator[tuple[Path, BatchRange]]) -> Iterator[tuple[Path, bytes]]:
    first = next(ranges, None)
    if first is None:
        return
    every = chain([first], ranges)
    if is_local(first[0]):
        yield from ((item[0], _read(item)) for item in every)
    else:
        yield from ((path, data) for (path, _), data in ahead(_read, every))


def _read(item: tuple[Path, BatchRange]) -> bytes:
    return read_range(item[0], *item[1])

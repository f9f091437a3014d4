"""Record batches that go from step to step: end to end in one file, each to be read alone by who knows where it lies.

A file of Arrow's has an index at its end, which a reader has to fetch first.  Here a reference tells it: where a piece begins,
how long it is, and a digest, so that a piece is one request to a store.
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
from ...io.pieces import piece_digest, read_piece
from .write import raise_for

__all__ = ["Piece", "read_pieces", "write_pieces"]


class Piece(NamedTuple):
    """Where a record batch lies in a file, and a digest of it; plain numbers, for there may be millions."""

    start: int
    length: int
    digest: int


def write_pieces(root: Path, name: str, batches: Iterable[pa.RecordBatch]) -> tuple[dict[str, Any], list[Piece]]:
    """Write record batches to a file, whole or not at all; return its entry, and where each lies."""
    pieces: list[Piece] = []
    hashed, size = hashlib.sha256(), 0
    with replacing(root / name) as file:
        for batch in batches:
            data = memoryview(batch.serialize())
            file.write(data)
            hashed.update(data)
            pieces.append(Piece(size, len(data), piece_digest(data)))
            size += len(data)
            del batch, data  # or they stay while the next ones are made
    return {"name": name, "bytes": size, "sha256": hashed.hexdigest()}, pieces


def read_pieces(schema: pa.Schema, pieces: Iterable[tuple[Path, Piece]]) -> Iterator[pa.RecordBatch]:
    """Read record batches of this schema, in the order given, each by one request; of a store's some are on their way at a time.

    Raise VerificationError where one is not what was written, StorageError where a disk or a store fails.
    """
    for path, data in _ahead(iter(pieces)):
        try:
            batch = pa.ipc.read_record_batch(pa.py_buffer(data), schema)
            batch.validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise_for(path, error, "missing or damaged", "run the same command again")
        yield batch
        del batch, data


def _ahead(pieces: Iterator[tuple[Path, Piece]]) -> Iterator[tuple[Path, bytes]]:
    first = next(pieces, None)
    if first is None:
        return
    every = chain([first], pieces)
    if is_local(first[0]):
        yield from ((item[0], _read(item)) for item in every)
    else:
        yield from ((path, data) for (path, _), data in ahead(_read, every))


def _read(item: tuple[Path, Piece]) -> bytes:
    return read_piece(item[0], *item[1])

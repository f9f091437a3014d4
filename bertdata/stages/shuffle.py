"""Move bytes on one machine from the tasks that make them to the partitions that need them, through a file per task.

    task 0   write(0, [(0, b"a"), (2, b"b")])  ─┐      read(0) yields (0, b"a"), (1, b"c")
    task 1   write(1, [(0, b"c"), (1, b"d")])  ─┴──►   read(1) yields (1, b"d")
                                                       read(2) yields (0, b"b")

A task's file has its pieces in order of partition, then an index of their ends. A partition reads its entry in the index of
every file. With Beam, the engine's own GroupByKey does the same.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..dataset.build import STATE
from ..errors import VerificationError
from ..storage.files import replacing
from ..storage.problems import storage_errors

_INDEX_ENTRIES = struct.Struct("<QQQQ")  # two index entries, each an end and a digest: of the previous piece and of this piece
_ENTRY_BYTES = _INDEX_ENTRIES.size // 2


@dataclass(frozen=True)
class FileShuffle:
    """Move pieces through local files below `root`, named after `name` and the task.

    Tasks are numbered from 0 to `tasks` - 1, and partitions from 0 to `partitions` - 1.
    """

    root: Path
    name: str
    tasks: int
    partitions: int

    def file(self, task: int) -> str:
        """Return the name of a task's file, relative to the root."""
        return f"{STATE}/work/{self.name}-{task:05d}.pieces"

    def write(self, task: int, pieces: Iterable[tuple[int, bytes | bytearray]]) -> None:
        """Write a task's file."""
        # The layout of a task's file, with three partitions of which the second is empty:
        #
        #   bytes of piece 0 | bytes of piece 2 | index: (0, -) (end 0, digest) (end 0, 0) (end 2, digest)
        #
        # The index has one entry more than there are partitions, so partition p is always between
        # entries p and p + 1. It is at the end, because the lengths are known only after all pieces
        # are written.
        last = -1
        lengths, digests = (np.zeros(self.partitions + 1, "<u8") for _ in range(2))
        with replacing(self.root / self.file(task)) as file:
            for partition, data in pieces:
                assert partition > last, "at most one piece per partition, in order of partitions"
                last = partition
                file.write(data)
                lengths[partition + 1], digests[partition + 1] = len(data), _digest(data)
            file.write(np.stack([np.cumsum(lengths, dtype="<u8"), digests], 1).tobytes())

    def read(self, partition: int) -> Iterator[tuple[int, bytes]]:
        """Yield the pieces of a partition, as (task number, bytes) in order of tasks."""
        with storage_errors(f"cannot read {self.root / self.file(0)} and those after it"):
            for task in range(self.tasks):
                path = f"{self.root}/{self.file(task)}"
                try:
                    data = self._read(path, partition)
                except (FileNotFoundError, ValueError):
                    raise VerificationError(f"{path} is missing or damaged: run the same command again") from None
                if data:
                    yield task, data

    def _read(self, path: str, partition: int) -> bytes:
        """Read one piece. Raise ValueError if its bytes differ from the written ones."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Three reads per task file: the end of all pieces, the two index entries, and the piece.
            # In a truncated file the pieces do not end where the index begins. Without this check, an entry of
            # another partition, or none, could be read in its place.
            size = os.fstat(descriptor).st_size
            index = size - _ENTRY_BYTES * (self.partitions + 1)
            last = os.pread(descriptor, 8, size - _ENTRY_BYTES) if index >= 0 else b""
            if len(last) < 8 or int.from_bytes(last, "little") != index:
                raise ValueError
            entries = os.pread(descriptor, _INDEX_ENTRIES.size, index + _ENTRY_BYTES * partition)
            start, _, end, digest = _INDEX_ENTRIES.unpack(entries)
            data = os.pread(descriptor, end - start, start) if start < end <= index else b""
        finally:
            os.close(descriptor)
        if len(data) != end - start or (data and _digest(data) != digest):
            raise ValueError
        return data


def _digest(data: bytes | bytearray) -> int:
    """Return a digest of 64 bits that detects accidental damage."""
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")

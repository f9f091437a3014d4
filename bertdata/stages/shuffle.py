"""Move bytes from the tasks that make them to the partitions that need them: each task calls `put`, each partition `get`.

    task 0   put(0, [(0, b"a"), (2, b"b")])  ─┐      get(0) yields (0, b"a"), (1, b"c")
    task 1   put(1, [(0, b"c"), (1, b"d")])  ─┴──►   get(1) yields (1, b"d")
                                                     get(2) yields (0, b"b")

There are two implementations.  On one machine, `FileShuffle` writes one file per task: its pieces in order of partition, then an
index of their ends.  A partition reads its entry in the index of every file.  On a cluster, `EngineShuffle` passes the
pieces to the engine's GroupByKey.  Both deliver the same bytes in the same order.
"""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..dataset.run import STATE
from ..errors import VerificationError
from ..storage.files import replacing
from ..storage.progress import NO_CONTEXT, InContext, TaskContext
from ..storage.ranges import range_digest
from ..storage.storage import storage_errors

__all__ = ["EngineShuffle", "FileShuffle", "Moved", "Pieces", "Receive", "Shuffle"]

Moved = int | tuple[int, bytes]  # what `put` yields: a task number, whose file has the bytes, or (task number, bytes)
_INDEX_ENTRIES = struct.Struct("<QQQQ")  # two index entries, each an end and a digest: of the previous piece and of this piece
_ENTRY_BYTES = _INDEX_ENTRIES.size // 2
_IN_MEMORY = 64 << 20  # bytes of an engine's partition kept in memory; a larger one goes to a temporary file


class Pieces:
    """The pieces of one partition, as (task number, bytes) in order of tasks. Each iteration reads them again."""

    def __init__(self, read: Callable[[], Iterator[tuple[int, bytes]]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return self._read()


class Shuffle(Protocol):
    """Moves pieces from tasks, numbered from 0, to `partitions`."""

    @property
    def partitions(self) -> int: ...

    def put(self, task: int, pieces: Iterable[tuple[int, bytes | bytearray]]) -> Iterator[tuple[int, Moved]]:
        """Take a task's pieces, at most one per partition, in order of partitions. Yield keyed elements for `get`."""

    def get(self, partition: int, members: Iterable[Any]) -> contextlib.AbstractContextManager[Pieces]:
        """Return the pieces of a partition. `members` are the elements that an engine collected for it. Files need none."""


@dataclass(frozen=True)
class FileShuffle:
    """Move pieces through local files below `root`, named after `name` and the task.

    Tasks are numbered from 0 to `tasks` - 1. Only one number per task crosses between steps, whatever the number of partitions.
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
                lengths[partition + 1], digests[partition + 1] = len(data), range_digest(data)
            file.write(np.stack([np.cumsum(lengths, dtype="<u8"), digests], 1).tobytes())

    def put(self, task: int, pieces: Iterable[tuple[int, bytes | bytearray]]) -> Iterator[tuple[int, int]]:
        """Write a task's file and yield its number, with the same key for all tasks."""
        self.write(task, pieces)
        yield 0, task

    def each_partition(self, written: tuple[int, Iterable[int]]) -> Iterator[tuple[int, int]]:
        """Yield every partition after all tasks have written."""
        # A partition that was read before all tasks have written would silently miss documents.
        if len(found := {*written[1]}) != self.tasks:
            raise VerificationError(f"of {self.tasks} tasks {len(found)} have written their files: run the same command again")
        return ((partition, 0) for partition in range(self.partitions))

    @contextlib.contextmanager
    def get(self, partition: int, members: Iterable[Any] = ()) -> Iterator[Pieces]:
        """Read the pieces of a partition from the files of all tasks."""
        yield Pieces(partial(self._read_all, partition))

    def _read_all(self, partition: int) -> Iterator[tuple[int, bytes]]:
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
        if len(data) != end - start or (data and range_digest(data) != digest):
            raise ValueError
        return data


@dataclass(frozen=True)
class EngineShuffle:
    """Move pieces through the GroupByKey of an engine."""

    partitions: int

    def put(self, task: int, pieces: Iterable[tuple[int, bytes | bytearray]]) -> Iterator[tuple[int, tuple[int, bytes]]]:
        """Yield each piece and its task number, keyed by partition. Task 0 yields an element for every partition, so that each
        exists."""
        filled = set()
        for partition, data in pieces:
            filled.add(partition)
            yield partition, (task, bytes(data))
        # An engine's GroupByKey creates a group only for keys that occur. Every partition must
        # exist, also without documents, because each one writes a file.
        if task == 0:
            yield from ((partition, (0, b"")) for partition in range(self.partitions) if partition not in filled)

    @contextlib.contextmanager
    def get(self, partition: int, members: Iterable[tuple[int, bytes]]) -> Iterator[Pieces]:
        """Sort the pieces that the engine delivers, and drop repeated ones."""
        places: dict[int, tuple[int, int]] = {}
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            for task, data in members:
                # An engine may run a task twice and deliver both results. They are equal, so the
                # first is enough.
                if data and task not in places:
                    places[task] = file.tell(), len(data)
                    file.write(data)

            def read() -> Iterator[tuple[int, bytes]]:
                for task, (start, length) in sorted(places.items()):
                    file.seek(start)
                    yield task, file.read(length)

            yield Pieces(read)


@dataclass(frozen=True)
class Receive(InContext):
    """Call a function with a partition's number and the pieces that a step delivered for it."""

    shuffle: Shuffle
    function: Callable[[int, Pieces, TaskContext], Any]

    def __call__(self, group: tuple[int, Iterable[Any]], context: TaskContext = NO_CONTEXT) -> Any:
        partition, members = group
        with self.shuffle.get(partition, members) as pieces:
            result = self.function(partition, pieces, context)
            return list(result) if isinstance(result, Iterator) else result

"""Pass tasks and other values to workers in files, so that the size of a submitted job does not grow with the input.

    .bertdata/work/plan-tasks.jsonl      the tasks, one per line; a job contains at most `_MAX_RANGES` ranges of it
    .bertdata/work/plan-inputs.json      any other JSON value

Both files follow from the run's identity and the local paths, so a resumed run writes the same files again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..codec import decode, encode
from ..records import Task
from ..storage.files import PRIVATE_MODE, replacing
from ..storage.ranges import range_digest, read_range
from .staging import STATE

__all__ = ["StoredValue", "TaskRange", "ranges", "write_tasks"]

# Ranges of the task file that a job contains, about 10 kB. Dask makes at most one partition per range for all later steps, so a
# run with fewer tasks than this gets a range per task.
_MAX_RANGES = 256


class TaskRange(NamedTuple):
    """Consecutive lines of the task file, as offset, length and digest."""

    start: int
    length: int
    digest: int

    def tasks(self, root: Path) -> Iterator[Task]:
        """Read the tasks from the build directory `root`. Raise VerificationError if they do not belong to this job."""
        return (_task(line) for line in self._lines(root))

    def split(self, root: Path) -> Iterator[tuple[int, TaskRange]]:
        """Yield the number of each task in this range, and a range that contains only this task."""
        start = self.start
        for line in self._lines(root):
            yield _task(line).number, TaskRange(start, len(line), range_digest(line))
            start += len(line)

    def _lines(self, root: Path) -> list[bytes]:
        return read_range(_path(root, "tasks.jsonl"), *self).splitlines(keepends=True)


def _task(line: bytes) -> Task:
    return decode(json.loads(line), Task)


def ranges(tasks: Sequence[Task]) -> list[TaskRange]:
    """Return the ranges of the file that `write_tasks` writes: at most `_MAX_RANGES`, for any number of tasks."""
    blocks: list[TaskRange] = []
    for block in _blocks(tasks):
        start = blocks[-1].start + blocks[-1].length if blocks else 0
        blocks.append(TaskRange(start, len(block), range_digest(block)))
    return blocks


def write_tasks(root: Path, tasks: Sequence[Task]) -> None:
    """Write the task file in the build directory `root`."""
    with replacing(_path(root, "tasks.jsonl"), PRIVATE_MODE) as file:
        for block in _blocks(tasks):
            file.write(block)


def _blocks(tasks: Sequence[Task]) -> Iterator[bytes]:
    """Yield the lines of each range."""
    size, remaining = max(1, -(-len(tasks) // _MAX_RANGES)), iter(tasks)
    while block := _lines(islice(remaining, size)):
        yield block


def _lines(tasks: Iterable[Task]) -> bytes:
    return "".join(f"{json.dumps(task)}\n" for task in tasks).encode()


def _path(root: Path, name: str) -> Path:
    return root / STATE / "work" / f"plan-{name}"


class StoredValue(NamedTuple):
    """A reference to a JSON value, or to records, in a plan file of the build directory `root`."""

    root: Path
    name: str
    length: int
    digest: int

    @classmethod
    def of(cls, root: Path, name: str, value: Any) -> StoredValue:
        """Return a reference to a value without writing it.

        A job can refer to the value before its output directory exists. Call `write` before the job runs.
        """
        data = _value(value)
        return cls(root, name, len(data), range_digest(data))

    @classmethod
    def written(cls, root: Path, name: str, value: Any) -> StoredValue:
        """Write a value and return a reference to it."""
        stored = cls.of(root, name, value)
        stored.write(value)
        return stored

    def write(self, value: Any) -> None:
        """Write the value where `read` expects it."""
        with replacing(_path(self.root, f"{self.name}.json"), PRIVATE_MODE) as file:
            file.write(_value(value))

    def read(self) -> Any:
        """Read the value. Raise VerificationError if it does not belong to this job."""
        path = _path(self.root, f"{self.name}.json")
        return json.loads(read_range(path, 0, self.length, self.digest))


def _value(value: Any) -> bytes:
    return f"{json.dumps(encode(value))}\n".encode()

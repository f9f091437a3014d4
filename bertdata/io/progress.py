"""Report how far the tasks of a run are: each worker writes it to a small file, which the driver reads meanwhile.

    .bertdata/progress/host-4711-1a-0    lines of 256 bytes, one for each task that this thread of this process has begun

A line names the step and the number of a task, and says what was read and counted, since when, in how many seconds, and whether
the task is done; the last line is written again while its task is at work.  An engine need do nothing but let its workers share
the directory.  In a store, where each line and each read would be a request, nothing is written, and a line that can't be
written is left out: no byte of an output depends on one.  The commit adds them up (`dataset/timings.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..records import FileRange

__all__ = ["FOLDER", "Finished", "ProgressReader", "TaskProgress", "Work", "current", "lines", "peak_memory", "working"]

FOLDER = "progress"  # in the state of a run; it goes with the records of tasks
_LINE = 256  # bytes
_EVERY = 0.5  # seconds between two lines of a task
_TASKS = 1 << 27  # of a run; a line of a higher number is none
_MOST = 1e11  # seconds: a clock shows that in the year 5138
_here = threading.local()


class TaskProgress(NamedTuple):
    """What a worker says of a task.

    bytes: of the input, that are read.  documents, rejects: that were counted.  began: seconds since 1970.  wall, cpu: seconds
    since then, of the clock and of the process.  memory: the most bytes that the process has held.  worker: host and number of
    the process, which the file's name tells.
    """

    step: str
    task: int
    done: bool
    bytes: int
    documents: int
    rejects: int
    began: float
    wall: float
    cpu: float
    memory: int
    worker: str = ""


def peak_memory() -> int:
    """Return the most bytes of memory that this process has held (getrusage(2), which counts kB on Linux and bytes on macOS)."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class Work:
    """A task at work in this thread: what it has read and counted; `add` and `read` tell it now and then."""

    def __init__(self, state: Path | None, step: str, task: int, depth: int = 0) -> None:
        self.step, self.task, self.depth = step, task, depth
        self.bytes = self.documents = self.rejects = 0
        self._began, self._start, self._cpu = time.time(), time.monotonic(), time.process_time()
        self._unread: dict[str, tuple[int, int, int]] = {}  # by path: start and end of what it reads, and bytes not read yet
        self._due = 0.0
        self._path, self._at = _file(state, depth) if isinstance(state, Path) else (None, 0)
        self.tell()

    def reads(self, parts: Iterable[FileRange]) -> None:
        """Count what is read of these parts of files from now on, each byte once; whoever reads it."""
        for part in parts:
            path = part.path if "://" in part.path else str(Path(part.path))
            start, end, left = self._unread.get(path, (part.start, part.start, 0))
            self._unread[path] = (min(start, part.start), max(end, part.end), left + part.end - part.start)

    def read(self, path: str, start: int, count: int) -> None:
        """Take note that so many bytes of a file were read."""
        if (known := self._unread.get(path)) is not None:
            first, end, left = known
            fresh = min(left, max(0, min(end, start + count) - max(first, start)))
            self._unread[path] = (first, end, left - fresh)
            self.add(bytes=fresh)

    def add(self, bytes: int = 0, documents: int = 0, rejects: int = 0) -> None:
        """Count, and tell it where that is due."""
        self.bytes, self.documents, self.rejects = self.bytes + bytes, self.documents + documents, self.rejects + rejects
        if self._path is not None and time.monotonic() >= self._due:
            self.tell()

    def finish(self) -> None:
        """Tell that the task is done: what it was to read counts as read, also where it needed less."""
        self.bytes += sum(left for _, _, left in self._unread.values())
        self.tell(done=True)

    def tell(self, *, done: bool = False) -> None:
        """Write the line of this task."""
        if self._path is None:
            return
        now = time.monotonic()
        self._due = now + _EVERY
        took = (round(now - self._start, 3), round(time.process_time() - self._cpu, 3))
        counts = (int(done), self.bytes, self.documents, self.rejects)
        line = json.dumps([self.step, self.task, *counts, round(self._began, 3), *took, peak_memory()]).encode()
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(file, line.ljust(_LINE - 1)[: _LINE - 1] + b"\n", self._at)
            finally:
                os.close(file)
        except OSError:  # no space, a limit, a directory that is gone: the task goes on
            self._path = None


def _file(state: Path, depth: int) -> tuple[Path | None, int]:
    """Return the file of this thread, and where its next line goes: over that of a task that was not done."""
    path = state / FOLDER / f"{os.uname().nodename}-{os.getpid()}-{threading.get_ident():x}-{depth}"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        end = path.stat().st_size // _LINE * _LINE if path.exists() else 0
        if not end:
            return path, 0
        with open(path, "rb") as file:
            file.seek(end - _LINE)
            last = _parse(file.read(_LINE))
    except OSError:
        return None, 0
    return path, end if last is None or last.done else end - _LINE


def _parse(data: bytes) -> TaskProgress | None:
    """Read a line; None for one that is not whole."""
    try:
        step, task, done, *rest = json.loads(data)
        size, documents, rejects = map(int, rest[:3])
        began, wall, cpu, memory = *map(float, rest[3:6]), int(rest[6])
        if not (
            0 <= int(task) < _TASKS and 0 <= began < _MOST and abs(wall) < _MOST and abs(cpu) < _MOST and abs(memory) < 1 << 60
        ):
            return None
        return TaskProgress(str(step), int(task), bool(done), size, documents, rejects, began, wall, cpu, memory)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


_NOBODY = Work(None, "", -1)


def current() -> Work:
    """Return the task at work in this thread; one of which nothing is told where there is none."""
    work: Work = getattr(_here, "work", _NOBODY)
    return work


@contextlib.contextmanager
def working(state: Path | None, step: str, task: int) -> Iterator[Work]:
    """Do a task of a run with this state in this thread, and tell how far it is; of one that fails the line stays as it is.

    Without a state it is only counted.
    """
    outer = getattr(_here, "work", None)
    _here.work = Work(state, step, task, 0 if outer is None else outer.depth + 1)
    try:
        yield _here.work
        _here.work.finish()
    finally:
        if outer is None:
            del _here.work
        else:
            _here.work = outer


class Finished:
    """What the finished tasks of a step add up to, each counted once: a bit tells of each whether it is."""

    def __init__(self) -> None:
        self.tasks = self.bytes = self.documents = self.rejects = 0
        self._bits = bytearray()

    def __contains__(self, task: int) -> bool:
        at, bit = divmod(task, 8)
        return at < len(self._bits) and bool(self._bits[at] >> bit & 1)

    def add(self, line: TaskProgress) -> None:
        """Count a task, but one that was done twice only once."""
        if line.task in self:
            return
        at, bit = divmod(line.task, 8)
        self._bits.extend(bytes(max(0, at + 1 - len(self._bits))))
        self._bits[at] |= 1 << bit
        self.tasks += 1
        self.bytes += line.bytes
        self.documents += line.documents
        self.rejects += line.rejects


class ProgressReader:
    """Read what the workers of a run say, each line once: `finished` tells of each step what its finished tasks add up to."""

    def __init__(self, state: Path) -> None:
        """Begin with what is there; lines of tasks that were at work before are of workers that were killed, and do not count."""
        self._folder = state / FOLDER
        self.finished: dict[str, Finished] = {}
        self._ends: dict[str, int] = {}
        self._old = dict(self._last())

    def look(self) -> list[TaskProgress]:
        """Read what is new; return the lines of the tasks that are at work."""
        last = dict(self._last())
        running = {(line.step, line.task): line for name, line in last.items() if not line.done and line != self._old.get(name)}
        return [line for (step, task), line in running.items() if task not in self.finished.get(step, ())]

    def _last(self) -> Iterator[tuple[str, TaskProgress]]:
        """Yield the new lines of each file, the last one last, and count those of finished tasks."""
        for name, line in _lines(self._folder, self._ends):
            if line.done:
                self.finished.setdefault(line.step, Finished()).add(line)
            yield name, line


def lines(state: Path) -> Iterator[TaskProgress]:
    """Yield what workers have said of each task that a run has begun: once, or more often where it was begun more than once."""
    return (line for _, line in _lines(state / FOLDER, {}))


def _lines(folder: Path, ends: dict[str, int]) -> Iterator[tuple[str, TaskProgress]]:
    """Yield the lines of each file behind its end, with the file's name; ends are moved behind lines of finished tasks."""
    names: list[str] = []
    if isinstance(folder, Path):  # not in a store
        with contextlib.suppress(OSError):
            names = sorted(os.listdir(folder))
    for name in names:
        with contextlib.suppress(OSError), open(folder / name, "rb") as file:
            file.seek(ends.get(name, 0))
            while line := _parse(file.read(_LINE)):
                if line.done:
                    ends[name] = file.tell()
                yield name, line._replace(worker=name.rsplit("-", 2)[0])

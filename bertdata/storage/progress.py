"""Count what a task reads and makes, and report it while the task runs.

A worker process sends its reports through its pipe, so they need no files. On an engine, they become Beam's own counters.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..records import FileRange

__all__ = ["NO_CONTEXT", "InContext", "TaskContext", "TaskProgress", "Work", "current", "peak_memory", "working"]

_REPORT_INTERVAL_S = 0.5  # seconds between two reports of a task
_here = threading.local()


class TaskProgress(NamedTuple):
    """The progress of one task.

    bytes: of the input, read so far.  documents, rejects: counted so far.  worker: process id.  reasons: counts of drops and
    rejects by name, such as ``drops: redirect``, once the task is done.
    """

    step: str
    task: int
    done: bool = False
    bytes: int = 0
    documents: int = 0
    rejects: int = 0
    worker: int = 0
    reasons: tuple[tuple[str, int], ...] = ()


Report = Callable[[TaskProgress], object]


def peak_memory() -> int:
    """Return the most bytes of memory that this process has held (getrusage(2), which counts kB on Linux and bytes on macOS)."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class Work:
    """The progress of a running task. `report` receives it at the start, at intervals and at the end."""

    def __init__(self, step: str, task: int, report: Report | None = None) -> None:
        self.step, self.task = step, task
        self.bytes = self.documents = self.rejects = 0
        self.reasons: Counter[str] = Counter()
        self._report, self._due = report, 0.0
        self._unread: dict[str, tuple[int, int, int]] = {}  # by path: start and end of the range to read, and bytes not read yet
        self.tell()

    def reads(self, parts: Iterable[FileRange]) -> None:
        """Count the bytes of these file ranges that any reader reads from now on, each byte once."""
        for part in parts:
            path = part.path if "://" in part.path else str(Path(part.path))
            start, end, left = self._unread.get(path, (part.start, part.start, 0))
            self._unread[path] = (min(start, part.start), max(end, part.end), left + part.end - part.start)

    def read(self, path: str, start: int, count: int) -> None:
        """Count this many bytes of a file as read."""
        if (known := self._unread.get(path)) is not None:
            first, end, left = known
            fresh = min(left, max(0, min(end, start + count) - max(first, start)))
            self._unread[path] = (first, end, left - fresh)
            self.add(bytes=fresh)

    def add(self, bytes: int = 0, documents: int = 0, rejects: int = 0) -> None:
        """Add to the counts, and report them if the last report is half a second old."""
        self.bytes, self.documents, self.rejects = self.bytes + bytes, self.documents + documents, self.rejects + rejects
        if self._report is not None and time.monotonic() >= self._due:
            self.tell()

    def finish(self) -> None:
        """Report that the task is done. All of its input counts as read, even if it needed less."""
        self.bytes += sum(left for _, _, left in self._unread.values())
        self.tell(done=True)

    def tell(self, *, done: bool = False) -> None:
        """Report the counts now."""
        if self._report is None:
            return
        self._due = time.monotonic() + _REPORT_INTERVAL_S
        counts, reasons = (self.bytes, self.documents, self.rejects), tuple(self.reasons.items()) if done else ()
        self._report(TaskProgress(self.step, self.task, done, *counts, os.getpid(), reasons))


_NO_WORK = Work("", -1)


def current() -> Work:
    """Return the task at work in this thread; outside a task, one that reports nothing."""
    work: Work = getattr(_here, "work", _NO_WORK)
    return work


@contextlib.contextmanager
def working(step: str, task: int, report: Report | None = None) -> Iterator[Work]:
    """Count what this thread does in the block as this task. A block that fails never reports that it is done."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # a task takes one core; its threads would fight for it
    outer = getattr(_here, "work", None)
    _here.work = Work(step, task, report)
    try:
        yield _here.work
        _here.work.finish()
    finally:
        _here.work = outer or _NO_WORK


class InContext:
    """A function of an element that also takes the worker's `TaskContext`, as its argument `context`."""

    def __call__(self, element: Any, context: TaskContext) -> Any:
        """Do the work of an element."""
        raise NotImplementedError


class TaskContext:
    """The context that a worker passes to each of its tasks.

    Attributes:
        report: Receives the progress of each task.
    """

    def __init__(self, report: Report | None = None) -> None:
        self._report = report

    def working(self, step: str, task: int) -> contextlib.AbstractContextManager[Work]:
        """Do a task in the block and report its progress."""
        return working(step, task, self._report)

    def call(self, function: Callable[..., Any], element: Any, *more: Any) -> Any:
        """Call a function of an element, with this context if it takes one."""
        return function(element, self) if isinstance(function, InContext) else function(element, *more)


NO_CONTEXT = TaskContext()  # of a call outside a run: it reports nothing

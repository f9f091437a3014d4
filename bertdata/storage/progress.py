"""Count what a task reads and makes, and report it while the task runs.

A worker process sends its reports through its pipe, so they need no files. On an engine, they become Beam's own counters.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..records import FileRange

__all__ = ["NO_CONTEXT", "NO_WORK", "CountedPath", "InContext", "TaskContext", "TaskProgress", "Work", "peak_memory"]

_REPORT_INTERVAL_S = 0.5  # seconds between two reports of a task


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


OnProgress = Callable[[TaskProgress], object]


def peak_memory() -> int:
    """Return the most bytes of memory that this process has held (getrusage(2), which counts kB on Linux and bytes on macOS)."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class Work:
    """The progress of a running task. `report` receives it at the start, at intervals and at the end."""

    def __init__(self, step: str, task: int, report: OnProgress | None = None) -> None:
        self.step, self.task = step, task
        self.bytes = self.documents = self.rejects = 0
        self.reasons: Counter[str] = Counter()
        self._report, self._due = report, 0.0
        self._paths: list[CountedPath] = []
        self.tell()

    def counted(self, parts: Sequence[FileRange]) -> list[FileRange]:
        """Return these file ranges with paths that count the bytes that readers read of each range, each byte once."""
        paths = [CountedPath(part, self) for part in parts]
        self._paths += paths
        return [part._replace(path=path) for part, path in zip(parts, paths, strict=True)]

    def add(self, bytes: int = 0, documents: int = 0, rejects: int = 0) -> None:
        """Add to the counts, and report them if the last report is half a second old."""
        self.bytes, self.documents, self.rejects = self.bytes + bytes, self.documents + documents, self.rejects + rejects
        if self._report is not None and time.monotonic() >= self._due:
            self.tell()

    def finish(self) -> None:
        """Report that the task is done. All of its input counts as read, even if it needed less."""
        self.bytes += sum(path.left for path in self._paths)
        self.tell(done=True)

    def tell(self, *, done: bool = False) -> None:
        """Report the counts now."""
        if self._report is None:
            return
        self._due = time.monotonic() + _REPORT_INTERVAL_S
        counts, reasons = (self.bytes, self.documents, self.rejects), tuple(self.reasons.items()) if done else ()
        self._report(TaskProgress(self.step, self.task, done, *counts, os.getpid(), reasons))


NO_WORK = Work("", -1)  # of a call outside a task: it reports nothing


class CountedPath(str):
    """The path of a task's input. A file that is opened by this path adds the bytes that are read to the task's progress."""

    def __new__(cls, part: FileRange, work: Work) -> CountedPath:
        return super().__new__(cls, part.path)

    def __init__(self, part: FileRange, work: Work) -> None:
        self._part, self._work, self.left = part, work, part.end - part.start  # bytes to read

    def read(self, start: int, count: int) -> None:
        """Count this many bytes from an offset on as read."""
        fresh = min(self.left, max(0, min(self._part.end, start + count) - max(self._part.start, start)))
        self.left -= fresh
        self._work.add(bytes=fresh)


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

    def __init__(self, report: OnProgress | None = None) -> None:
        self._report = report

    @contextlib.contextmanager
    def working(self, step: str, task: int) -> Iterator[Work]:
        """Do a task in the block and report its progress. A block that fails never reports that it is done."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # a task takes one core; its threads would fight for it
        work = Work(step, task, self._report)
        yield work
        work.finish()

    def bind(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of an element, with this context bound if it takes one."""
        return partial(function, context=self) if isinstance(function, InContext) else function


NO_CONTEXT = TaskContext()  # of a call outside a run: it reports nothing

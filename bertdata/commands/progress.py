"""Report the progress of a run to a `Reporter`: bytes read by local workers, or finished tasks on an engine."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ..dataset.run import count_done
from ..errors import BertDataError
from ..storage.files import is_local
from ..storage.progress import TaskProgress
from ..storage.storage import storage_errors

__all__ = ["Monitor", "Progress", "PythonReporter", "Reporter", "ProgressStep", "watched"]

_INTERVAL_S, _MAX_INTERVAL_S = 0.5, 5.0  # between two reports; the latter if each one needs requests to a store
_MIN_PAUSE_RATIO = 20  # minimum ratio of a pause to the duration of the check before it


class Progress(NamedTuple):
    """The progress of a step.

    Attributes:
        step: Label of the step.
        done: Number of finished tasks.
        total: Number of tasks, or 0 if unknown.
        bytes: Input bytes read so far.
        total_bytes: Input bytes of the step.
        documents: Documents kept so far.
        rejects: Malformed records so far.
        seconds: Time since this run started the step.
        bytes_per_second: Speed in this run, without the work of an earlier run.
        seconds_left: Estimated time left in this step, or None if not known yet.
        workers: Number of busy worker processes.
    """

    step: str
    done: int
    total: int
    bytes: int = 0
    total_bytes: int = 0
    documents: int = 0
    rejects: int = 0
    seconds: float = 0.0
    bytes_per_second: float = 0.0
    seconds_left: float | None = None
    workers: int = 0

    @property
    def share(self) -> float:
        """The finished share of the step, by bytes or, without a byte count, by tasks."""
        part, total = (self.bytes, self.total_bytes) if self.total_bytes else (self.done, self.total)
        return min(1.0, part / total) if total else 0.0


class ProgressStep(NamedTuple):
    """A step with progress: its label, the name of its records in ``.bertdata/tasks``, and its tasks and input bytes."""

    label: str
    name: str
    total: int
    bytes: int = 0


class Reporter(Protocol):
    """Receiver of a command's progress and messages. While tasks run, another thread calls `progress`. At the end, the
    thread of the command calls it once more for each step."""

    def progress(self, progress: Progress) -> None:
        """Report the progress of a running step."""

    def note(self, text: str) -> None:
        """Report something that is not a problem."""

    def warning(self, text: str) -> None:
        """Report a problem that does not stop the run."""


class PythonReporter:
    """Report to a Python program with a progress callback, log records and Python warnings."""

    def __init__(self, progress: Callable[[Progress], None] | None = None) -> None:
        self.progress = progress or (lambda _: None)

    def note(self, text: str) -> None:
        """Log a note."""
        logging.getLogger("bertdata").info(text)

    def warning(self, text: str) -> None:
        """Issue a warning."""
        warnings.warn(text, stacklevel=2)


class _Stage:
    """The reports of a step's tasks."""

    def __init__(self, step: ProgressStep, before: int = 0) -> None:
        self.step, self.done = step, before
        self.running: dict[int, TaskProgress] = {}
        self.bytes, self.documents, self.rejects = step.bytes * before // max(1, step.total), 0, 0  # of finished tasks
        self.first = self.bytes  # of an earlier run
        self.began = 0.0
        self.last = Progress(step.label, 0, step.total, self.bytes, step.bytes)

    @property
    def is_over(self) -> bool:
        """Whether all tasks are done."""
        return self.done >= self.step.total and not self.running

    @property
    def is_reported(self) -> bool:
        """Whether the last report had all tasks as done."""
        return self.last.done == self.step.total and not self.last.workers

    def receive(self, line: TaskProgress) -> None:
        """Record the progress of a task."""
        self.began = self.began or time.monotonic()
        self.running[line.task] = line
        if line.done:
            del self.running[line.task]
            self.done += 1
            self.bytes, self.documents = self.bytes + line.bytes, self.documents + line.documents
            self.rejects += line.rejects

    def look(self) -> Progress:
        """Return the progress now. Counts never go back: those of a lost worker's task stay until it is as far again."""
        step, last, running = self.step, self.last, [*self.running.values()]
        done = min(self.done, step.total) if step.total else self.done
        known = self.bytes + sum(line.bytes for line in running)
        read = min(known, step.bytes) if known else step.bytes * done // max(1, step.total)
        read = step.bytes if self.is_over and step.total else max(read, last.bytes)
        seconds = time.monotonic() - self.began if self.began else 0.0
        rate = max(0, read - self.first) / seconds if seconds > 0 else 0.0
        self.last = Progress(
            step.label,
            done,
            step.total,
            read,
            step.bytes,
            max(last.documents, self.documents + sum(line.documents for line in running)),
            max(last.rejects, self.rejects + sum(line.rejects for line in running)),
            seconds,
            rate,
            (step.bytes - read) / rate if rate > 0 and seconds > 1 else None,
            len({line.worker for line in running}),
        )
        return self.last


class Monitor:
    """Add up the progress of the tasks of a run.

    Args:
        roots: Directories in which the steps record finished tasks.
        steps: The steps to report.
        counts: Count these records at each check. Set this on an engine, because its workers cannot report to this process.
    """

    def __init__(self, roots: Sequence[Path], steps: Sequence[ProgressStep], counts: bool = False) -> None:
        self._roots, self._counts, self._lock = roots, counts, threading.Lock()
        self._planned = [_Stage(step, self._count(step)) for step in steps]
        self._stages = {stage.step.name: stage for stage in self._planned}
        self._since = time.monotonic()  # when the step that runs now could begin
        self.interval = _INTERVAL_S if not counts or all(map(is_local, roots)) else _MAX_INTERVAL_S

    def _count(self, step: ProgressStep) -> int:
        return sum(count_done(root, step.name) for root in self._roots)

    def receive(self, line: TaskProgress) -> None:
        """Record the progress of a task."""
        with self._lock:
            if line.step not in self._stages:
                self._stages[line.step] = _Stage(ProgressStep(line.step.capitalize(), line.step, 0))
            self._stages[line.step].receive(line)

    def look(self) -> list[Progress]:
        """Return the progress of each running step, or an empty list if a store fails. The next check tries again."""
        if self._counts:
            with contextlib.suppress(BertDataError), storage_errors():
                for stage in self._planned:
                    was_over, stage.done = stage.is_over, self._count(stage.step)
                    stage.began = stage.began or (self._since if stage.done else 0.0)
                    if stage.is_over and not was_over:
                        self._since = time.monotonic()
                return self._at_work()
            return []
        return self._at_work()

    def _at_work(self) -> list[Progress]:
        with self._lock:
            stages = [stage for stage in self._planned if (stage.done or stage.running) and not stage.is_reported]
            # Steps that were not planned come after the planned ones, and their number of tasks is unknown.
            if all(stage.is_over for stage in self._planned):
                stages += [stage for stage in self._stages.values() if stage.running and not stage.step.total]
            return [stage.look() for stage in stages]

    def ended(self) -> Iterator[Progress]:
        """Yield the final progress of each planned step."""
        self.look()
        for stage in self._planned:
            step, last = stage.step, stage.look()
            rate = (step.bytes - stage.first) / last.seconds if last.seconds > 0 else 0.0
            yield last._replace(done=step.total, bytes=step.bytes, bytes_per_second=rate, seconds_left=0.0, workers=0)


@contextlib.contextmanager
def watched(monitor: Monitor, reporter: Reporter) -> Iterator[None]:
    """Report the running steps at intervals until the block ends, then report each step once more, unless the block fails.

    If a check takes long, as counting many files does, the next reports come later, but at least every five seconds.
    """
    finished = threading.Event()

    def report() -> None:
        pause = monitor.interval
        while not finished.wait(pause):
            begun = time.monotonic()
            for progress in monitor.look():
                reporter.progress(progress)
            pause = min(max(monitor.interval, _MIN_PAUSE_RATIO * (time.monotonic() - begun)), _MAX_INTERVAL_S)

    watcher = threading.Thread(target=report, name="progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
    for progress in monitor.ended():
        reporter.progress(progress)

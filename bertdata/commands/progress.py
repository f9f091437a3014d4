"""Report to a caller how far a run is: by bytes of input, as its workers count them, or else by finished tasks."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..dataset.run import STATE, count_done
from ..errors import BertDataError
from ..io.files import is_local
from ..io.progress import Finished, ProgressReader, TaskProgress
from ..io.storage import storage_errors

__all__ = ["Progress", "Step", "watched"]

_MAX_LOAD = 0.05  # share of its time that the thread may spend looking
_MAX_PAUSE_S = 5.0  # between two reports, also where one look takes seconds on a busy machine


class Progress(NamedTuple):
    """How far a step is.

    step: its label.  done, total: tasks that are finished, and all; total is 0 where that is not known.  bytes, total_bytes: of
    the step's input.  documents, rejects: records that were kept, or refused as broken, so far.  seconds: since this run of the
    step began.  bytes_per_second: since then, without what an earlier run had done.  seconds_left: of this step, None where that
    is not known yet.  workers: processes that are at work.
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
        """The share of the step that is done: by bytes, or by tasks where it has none."""
        part, whole = (self.bytes, self.total_bytes) if self.total_bytes else (self.done, self.total)
        return min(1.0, part / whole) if whole else 0.0


class Step(NamedTuple):
    """A step whose progress is reported: its label, its records under ``.bertdata/tasks``, its tasks and bytes of input."""

    label: str
    name: str
    total: int
    bytes: int = 0


@contextlib.contextmanager
def watched(
    root: Path, steps: Sequence[Step], progress: Callable[[Progress], None] | None, spill: Path | None = None
) -> Iterator[None]:
    """Call `progress` for each running step until the block ends, then once more for each step.

    On a local disk the calls come twice a second, in a store every five seconds. Where a look at the run takes long they
    come less often, but at least every `_MAX_PAUSE_S` seconds and the time of one look.

    Args:
        root: where the run builds.
        steps: the steps to report.
        progress: called from a thread of its own; None reports nothing.
        spill: directory where some steps keep their records instead of `root`.
    """
    if progress is None or not steps:
        yield
        return
    watch, finished = _Watch([root] if spill is None else [spill, root], steps), threading.Event()

    def report() -> None:
        # The first reports come soon: the counts of a one-second run disappear when it ends.
        pause, usual_pause = (0.05, 0.5) if is_local(root) else (_MAX_PAUSE_S, _MAX_PAUSE_S)
        while not finished.wait(pause):
            began = time.monotonic()
            for step in watch.look():
                progress(step)
            took = time.monotonic() - began  # 0.1 s to list 100,000 records
            pause = min(max(min(2 * pause, usual_pause), took / _MAX_LOAD), _MAX_PAUSE_S)

    watcher = threading.Thread(target=report, name="progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
    for step in watch.ended():
        progress(step)


class _Watch:
    """What is known of a run's steps: `look` reads what its workers say and counts the records of finished tasks."""

    def __init__(self, roots: Sequence[Path], steps: Sequence[Step]) -> None:
        self._roots, self._steps = roots, steps
        self._reader = ProgressReader(roots[0] / STATE)  # in a store workers say nothing
        self._begun: dict[str, tuple[float, int]] = {}  # when a step was first seen at work, and how many bytes it had by then
        self._last: dict[str, Progress] = {}
        for step in steps:
            self._bytes_before(step)

    def _bytes_before(self, step: Step) -> None:
        self._last[step.name] = Progress(step.label, 0, step.total, self._finished(step.name).bytes, step.bytes)

    def _finished(self, name: str) -> Finished:
        return self._reader.finished.get(name) or Finished()

    def look(self) -> list[Progress]:
        """Return the progress of each running step, also of those without planned tasks; nothing where a store fails.

        The next look tries again: a request that fails once must not end the reports, much less the run.
        """
        with contextlib.suppress(BertDataError), storage_errors():
            return list(self._running())
        return []

    def _running(self) -> Iterator[Progress]:
        running: dict[str, list[TaskProgress]] = {}
        for line in self._reader.look():
            running.setdefault(line.step, []).append(line)
        for step in self._steps:
            # The records are gone once the run is committed; before that they are what counts.
            counted = sum(count_done(root, step.name) for root in self._roots)
            done = max(counted, self._finished(step.name).tasks)
            if (done or step.name in running) and not self._is_over(step):
                self._last[step.name] = self._progress(step, done, running.get(step.name, []))
                yield self._last[step.name]
        if all(map(self._is_over, self._steps)):  # what then is at work has no tasks that are known before
            for name, lines in running.items():
                yield self._progress(Step(name.capitalize(), name, 0), self._finished(name).tasks, lines)

    def _is_over(self, step: Step) -> bool:
        last = self._last[step.name]
        return last.done == last.total and not last.workers

    def _progress(self, step: Step, done: int, running: list[TaskProgress]) -> Progress:
        finished = self._finished(step.name)
        known = finished.bytes + sum(line.bytes for line in running)
        read = min(known, step.bytes) if known else step.bytes * done // max(1, step.total)
        workers = len({line.worker for line in running})
        last = self._last.get(step.name)
        before, documents, rejects = (last.bytes, last.documents, last.rejects) if last else (0, 0, 0)
        if done == step.total > 0 and not workers:
            read = step.bytes  # also where a task needed less of its input
        read = max(read, before)  # where a worker is lost its tasks begin anew: what is shown waits for them
        begun, first = self._begun.setdefault(step.name, (time.monotonic(), before))
        seconds = time.monotonic() - begun
        rate = (read - first) / seconds if seconds > 0 else 0.0
        left = (step.bytes - read) / rate if rate > 0 and seconds > 1 else None
        documents = max(documents, finished.documents + sum(line.documents for line in running))
        rejects = max(rejects, finished.rejects + sum(line.rejects for line in running))
        return Progress(step.label, done, step.total, read, step.bytes, documents, rejects, seconds, rate, left, workers)

    def ended(self) -> Iterator[Progress]:
        """Yield each step as it is when all is done."""
        self.look()
        for step in self._steps:
            last = self._last[step.name]
            begun, first = self._begun.get(step.name, (0.0, step.bytes))
            rate = (step.bytes - first) / last.seconds if last.seconds > 0 else 0.0  # as of the last look, some time before
            yield last._replace(done=step.total, bytes=step.bytes, bytes_per_second=rate, seconds_left=0.0, workers=0)

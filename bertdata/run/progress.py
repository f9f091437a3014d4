"""Measure the progress of a run by its finished tasks."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..dataset.tasks import count_done
from .job import Stage

if TYPE_CHECKING:
    from .plan import Plan


class Progress(NamedTuple):
    """The progress of a stage, after a task has finished.

    Attributes:
        stage: Name of the stage.
        done: Number of finished tasks.
        total: Number of tasks.
        seconds: Time since this run began the stage.
        seconds_left: Estimated time left in this stage, or None if not known yet.
    """

    stage: str
    done: int
    total: int
    seconds: float = 0.0
    seconds_left: float | None = None


def watched(stage: Stage, root: Path, results: Iterable[object]) -> Iterator[Progress]:
    """Yield the progress at the start of a stage and after each of its results.

    Tasks are cut to take about equally long. Those of an earlier run come back at once: the clock starts after them.
    """
    total, kept, begun = len(stage.tasks), count_done(root, stage.name), time.monotonic()
    first = begun
    yield Progress(stage.name, 0, total)
    for done, _ in enumerate(results, 1):
        now = time.monotonic()
        if done <= kept:
            first = now
        left = (now - first) * (total - done) / (done - kept) if done > kept else None
        yield Progress(stage.name, done, total, now - begun, left)


class Reporter:
    """Report a run to a Python program: a progress callback, log records and Python warnings."""

    def __init__(self, callback: Callable[[Progress], object] | None = None) -> None:
        self._callback = callback

    def plan(self, plan: Plan, workers: int | None, overwrite: bool) -> None:
        """Report the plan before it runs. A reporter that raises an exception ends the command."""
        for line in (plan.summary, *plan.notes):
            self.note(line)

    def progress(self, progress: Progress) -> None:
        """Report the progress of the running stage."""
        if self._callback:
            self._callback(progress)

    def note(self, text: str) -> None:
        """Report something that is not a problem."""
        logging.getLogger("bertdata").info(text)

    def warning(self, text: str) -> None:
        """Report a problem that does not stop the run."""
        warnings.warn(text, stacklevel=4)  # of the call of a public function

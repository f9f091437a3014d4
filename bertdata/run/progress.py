"""Measure a run by its finished tasks: while it runs, and from the files in its output."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..dataset.build import STATE, builds, is_complete
from ..dataset.tasks import count_done
from ..storage.files import is_local, read_json, to_path
from ..storage.lock import locked_by
from ..storage.problems import storage_errors
from .job import Stage

if TYPE_CHECKING:
    from .plan import Plan

STAGES = f"{STATE}/work/stages.json"  # of a build: the number of tasks of each stage


class Progress(NamedTuple):
    """The finished tasks of a stage, `done` of `total`, and the estimated time that it still takes, or None if not known yet."""

    stage: str
    done: int
    total: int
    seconds_left: float | None = None


def watched(stage: Stage, root: Path, results: Iterable[object]) -> Iterator[Progress]:
    """Yield the progress at the start of a stage and after each of its results.

    Tasks are cut to take about equally long. Those of an earlier run come back at once: the clock starts after them.
    """
    total, kept, first = len(stage.tasks), count_done(root, stage.name), time.monotonic()
    yield Progress(stage.name, 0, total)
    for done, _ in enumerate(results, 1):
        now = time.monotonic()
        first = now if done <= kept else first
        yield Progress(stage.name, done, total, (now - first) * (total - done) / (done - kept) if done > kept else None)


class Reporter:
    """Report a run to a Python program: a progress callback, log records and Python warnings."""

    def __init__(self, callback: Callable[[Progress], object] | None = None) -> None:
        self._callback = callback

    def plan(self, plan: Plan, workers: int, overwrite: bool) -> None:
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


def finished_tasks(root: Path) -> str:
    """Return the finished tasks of the last stage that a build has begun, such as ``3 of 9 tasks of extract``, or ``""``."""
    stages = [(count_done(root, name), total, name) for name, total in read_json(root / STAGES) or ()]
    return next(("{} of {} tasks of {}".format(*stage) for stage in reversed(stages) if stage[0]), "")


@storage_errors()
def run_state(directory: str | Path) -> str:
    """Return ``complete``, ``running …`` or ``unfinished …``, with the finished tasks, or an empty string without a run.

    A run that failed or was killed is unfinished. In a store, a running run looks unfinished, because stores have no locks.
    """
    directory = to_path(str(directory))
    begun = (root for root in builds(directory) if not is_complete(root))
    tasks = next(filter(None, map(finished_tasks, begun)), "0 tasks")
    if is_local(directory) and (owner := locked_by(directory / STATE / "lock")):
        return f"running ({tasks} finished), by {owner}"
    if is_complete(directory):
        return "complete"
    is_build = (directory / STATE).is_dir() and not (directory / STATE / "run.json").exists()  # which is of a training run
    return f"unfinished ({tasks} finished)" if is_build else ""

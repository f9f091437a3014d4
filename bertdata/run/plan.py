"""Plan a command and run the plan: lock its outputs, do the tasks here or with Beam, and return the datasets."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..dataset import manifest
from ..dataset.build import building, is_done, work_directory
from ..dataset.data_set import DataSet
from ..dataset.tasks import unfinished
from ..errors import StorageError, UsageError
from ..records import Task
from ..reports.summary import count, size
from ..storage.files import is_local
from ..storage.process import worker_count
from . import local
from .estimate import Estimate
from .job import Job
from .progress import Progress, Reporter
from .state import write_stages


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The work of a command. A plan whose outputs are complete already has no job.

    Attributes:
        outputs: The directories of the datasets to write, with the settings and inputs that affect their bytes.
        summary: The plan in one line.
        tasks: The tasks of the first stage.
        bytes: The bytes of input.
        estimate: The resources that the run takes.
        job: Makes the job from the build directory of each output (None if it is complete) and a directory for work files.
        notes: Further lines about the plan.
        warnings: Returns what to warn of in a finished dataset.
    """

    outputs: Mapping[Path, dict[str, Any]]
    summary: str
    tasks: Sequence[Task] = ()
    bytes: int = 0
    estimate: Estimate | None = None
    job: Callable[[Sequence[Path | None], Path], Job] | None = None
    notes: tuple[str, ...] = ()
    warnings: Callable[[DataSet[Any]], Iterable[str]] = lambda _: ()

    def to_do(self, overwrite: bool) -> list[Path]:
        """Return the directories of outputs to build: those that are not complete, or all with `overwrite`."""
        return [directory for directory, identity in self.outputs.items() if overwrite or not is_done(directory, identity)]


def reused_tasks(plan: Plan) -> Iterator[str]:
    """Yield a message for each output with finished tasks that this run reuses from an earlier run."""
    for directory, identity in plan.outputs.items():
        tasks = [f"{count(done, 'task')} of {name}" for name, done in unfinished(directory, identity).items() if done]
        if tasks:
            yield f"{directory}: an earlier run finished {', '.join(tasks)}, which this run reuses"


def run(
    plan: Plan,
    *,
    workers: int | None = None,
    overwrite: bool = False,
    beam_args: Sequence[str] = (),
    progress: Callable[[Progress], object] | Reporter | None = None,
) -> list[DataSet[Any]]:
    """Build the outputs that are not complete yet, here or, with options for Beam, on an engine. Return all outputs.

    Raise OutputExistsError, OutputLockedError, ResumeError for outputs that cannot be written, and whatever a task raises.
    """
    reporter = progress if isinstance(progress, Reporter) else Reporter(progress)
    if workers is not None and (type(workers) is not int or workers < 1):
        problem = f"`workers` is {workers!r}: use an integer of 1 or more, or None to let the command choose"
        raise UsageError(problem, field="workers", value=workers)
    engine = _engine(beam_args) if beam_args else None  # refuses wrong options before anything is written
    reporter.plan(plan, workers, overwrite)
    _check_space(plan, overwrite)
    for line in reused_tasks(plan):
        reporter.note(line)
    with contextlib.ExitStack() as stack:
        roots, complete = list[Path | None](), dict[Path, DataSet[Any]]()
        for directory, identity in plan.outputs.items():  # each stays locked until the block ends; the job commits
            roots.append(stack.enter_context(building(directory, identity, overwrite=overwrite)))
            if roots[-1] is None:
                complete[directory] = found = DataSet.read(directory, new=False)
                manifest.check_files(directory, found.manifest.listed)
        first = next(filter(None, roots), None)
        if first and plan.job:
            job = plan.job(roots, first if engine else stack.enter_context(work_directory(first)))
            for root in job.roots:
                write_stages(root, job.stages(plan.tasks))
            if engine:
                engine(job, plan.tasks)
            else:
                local.run(job, plan.tasks, worker_count(workers, len(plan.tasks), plan.bytes), reporter)
    data_sets = [complete.get(directory) or DataSet.read(directory) for directory in plan.outputs]
    for data_set in data_sets:
        for warning in plan.warnings(data_set):
            reporter.warning(warning)
    return data_sets


def _check_space(plan: Plan, overwrite: bool) -> None:
    """Raise StorageError if the disk has less than half of the estimated space: the estimate is right within a factor of two."""
    directory = next(filter(is_local, plan.to_do(overwrite)), None)
    if directory is None or plan.estimate is None or plan.estimate.is_limit or any(reused_tasks(plan)):
        return
    needed = plan.estimate.output + plan.estimate.work
    free = shutil.disk_usage(next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())).free
    if free < needed / 2:
        raise StorageError(
            f"{directory}: not enough space: the run takes about {size(round(needed))}, and {size(free)} are free. Free some "
            "space, then run the same command again, or use an `output` on a larger disk"
        )


def _engine(arguments: Sequence[str]) -> Callable[[Job, Sequence[Task]], None]:
    """Return the function that runs a job with Beam. Raise UsageError if its options are wrong."""
    folder = "bertdata.pipelines" if find_spec("bertdata.pipelines") else "pipelines"  # a clone that is not installed
    engine = import_module(f"{folder}.engine")
    return partial(engine.run, options=engine.parse(arguments))

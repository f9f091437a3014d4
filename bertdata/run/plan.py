"""Plan a command and run the plan: lock its outputs, do the tasks here or with Beam, and return the datasets."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..dataset import manifest
from ..dataset.build import building, is_done, unfinished, work_directory
from ..dataset.data_set import DataSet
from ..errors import StorageError
from ..records import Task
from ..reports.summary import size
from ..storage.files import PRIVATE_MODE, is_local, write_json
from ..storage.process import worker_count
from . import local
from .estimate import Estimate
from .job import Job
from .progress import STAGES, Progress, Reporter, finished_tasks


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The work of a command. A plan whose outputs are complete already has no job."""

    outputs: Mapping[Path, dict[str, Any]]  # directories to write, each with the settings and inputs that affect its bytes
    summary: str
    tasks: Sequence[Task] = ()  # of the first stage
    bytes: int = 0  # of input
    estimate: Estimate | None = None
    # Makes the job from the build directory of each output (None if it is complete) and a directory for work files
    job: Callable[[Sequence[Path | None], Path], Job] | None = None
    notes: tuple[str, ...] = ()  # further lines about the plan
    warnings: Callable[[DataSet[Any]], Iterable[str]] = lambda _: ()  # about a finished dataset

    def to_do(self, overwrite: bool) -> list[Path]:
        """Return the directories of outputs to build: those that are not complete, or all with `overwrite`."""
        return [directory for directory, identity in self.outputs.items() if overwrite or not is_done(directory, identity)]


def reused_tasks(plan: Plan) -> Iterator[str]:
    """Yield a message for each output with finished tasks that this run reuses from an earlier run."""
    for directory, identity in plan.outputs.items():
        if (root := unfinished(directory, identity)) and (tasks := finished_tasks(root)):
            yield f"{directory}: continue an earlier run, which finished {tasks}"


def run(
    plan: Plan,
    *,
    workers: int | None = None,
    overwrite: bool = False,
    beam_args: Sequence[str] = (),
    progress: Callable[[Progress], object] | Reporter | None = None,
) -> list[DataSet[Any]]:
    """Build the outputs that are not complete yet, here or, with options for Beam, on an engine. Return all outputs."""
    reporter = progress if isinstance(progress, Reporter) else Reporter(progress)
    count = worker_count(workers, len(plan.tasks), plan.bytes)
    if beam_args:
        folder = "bertdata.pipelines" if find_spec("bertdata.pipelines") else "pipelines"  # a clone that is not installed
        engine = import_module(f"{folder}.engine")
        options = engine.parse(beam_args)  # refuses wrong ones before anything is written
    reporter.plan(plan, count, overwrite)
    _check_space(plan, overwrite)
    for line in reused_tasks(plan):
        reporter.note(line)
    with contextlib.ExitStack() as stack:
        # Each output stays locked until the block ends. The job commits them.
        roots = [stack.enter_context(building(path, identity, overwrite=overwrite)) for path, identity in plan.outputs.items()]
        first = next(filter(None, roots), None)
        if first and plan.job:
            job = plan.job(roots, first if beam_args else stack.enter_context(work_directory(first)))
            for root in job.roots:
                write_json(root / STAGES, [[stage.name, len(stage.tasks)] for stage in job.stages(plan.tasks)], PRIVATE_MODE)
            if beam_args:
                engine.run(job, plan.tasks, options)
            else:
                local.run(job, plan.tasks, count, reporter)
    data_sets = [DataSet.read(path, new=root is not None) for path, root in zip(plan.outputs, roots, strict=True)]
    for data_set in data_sets:
        manifest.check_files(data_set.path, data_set.manifest.listed)
        for warning in plan.warnings(data_set):
            reporter.warning(warning)
    return data_sets


def _check_space(plan: Plan, overwrite: bool) -> None:
    """Raise StorageError if the disk has less than half of the estimated space: the estimate is right within a factor of two."""
    directory = next(filter(is_local, plan.to_do(overwrite)), None)
    if directory is None or plan.estimate is None or plan.estimate.is_limit or any(reused_tasks(plan)):
        return
    needed = plan.estimate.output + plan.estimate.work
    disk = shutil.disk_usage(next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists()))
    if disk.total > 0 and disk.free < needed / 2:  # /proc and some mounts report no size
        raise StorageError(
            f"{directory}: not enough space. The run takes about {size(round(needed))}, and {size(disk.free)} are free. "
            "Free some space, then run the same command again, or use an `output` on a larger disk"
        )

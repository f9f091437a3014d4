"""Run a job on this machine: one stage after another, each task in a worker process."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext

from ..records import Task
from ..storage.workers import Pool
from .job import Job
from .progress import Reporter, watched


def run(job: Job, tasks: Sequence[Task], workers: int, reporter: Reporter) -> None:
    """Do the stages of a job and commit it; with one worker, in this process. Files pass documents from stage to stage.

    Workers show their output if this process logs on the level INFO. A killed worker is replaced once. Raise what a task raises,
    and BertDataError if a second worker is killed.
    """
    with Pool(workers, logging.root.isEnabledFor(logging.INFO), reporter.warning) if workers > 1 else nullcontext() as pool:
        for stage in job.stages(tasks):
            results = pool.each(stage.work, stage.tasks) if pool else map(stage.work, stage.tasks)
            for progress in watched(stage, job.roots[0], results):
                reporter.progress(progress)
        job.commit()

"""Run a job on this machine: one stage after another, each task in a worker process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from ..errors import BertDataError
from ..records import Task
from ..storage.storage import storage_error
from ..storage.workers import Pool
from .job import Job
from .progress import Progress, watched


def run(
    job: Job,
    tasks: Sequence[Task],
    workers: int = 1,
    warn: Callable[[str], object] = print,
    report: Callable[[Progress], object] = lambda _: None,
) -> None:
    """Do the stages of a job and commit it; with one worker, in this process. Files pass documents from stage to stage.

    Workers show their output if this process logs on the level INFO. `warn` gets a message when a killed worker is replaced, and
    `report` the progress after each task. Raise the BertDataError that a task raises, and BertDataError for any other exception,
    or if a second worker is killed.
    """
    try:
        with Pool(workers, logging.root.isEnabledFor(logging.INFO), warn) if workers > 1 else nullcontext() as pool:
            for stage in job.stages(tasks):
                results = pool.each(stage.work, stage.tasks) if pool else map(stage.work, stage.tasks)
                for progress in watched(stage, job.roots[0], results):
                    report(progress)
            job.commit()
    except BertDataError:
        raise
    except Exception as error:
        if system := storage_error(error):
            raise system from error
        logging.getLogger(__name__).exception("a task failed")
        problem = f"{type(error).__name__}: {error}".splitlines()[-1]
        raise BertDataError(f"the run failed: {problem}: run the same command again, with --verbose for more") from error

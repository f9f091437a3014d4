"""Run a job on this machine: one stage after another, each task in a worker process."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext

from ..errors import BertDataError
from ..records import Task
from ..storage.storage import storage_error
from ..storage.workers import Pool
from .job import Job
from .progress import Reporter, watched


def run(job: Job, tasks: Sequence[Task], workers: int, reporter: Reporter) -> None:
    """Do the stages of a job and commit it; with one worker, in this process. Files pass documents from stage to stage.

    Workers show their output if this process logs on the level INFO. A killed worker is replaced once. Raise the BertDataError
    that a task raises, and BertDataError for any other exception, or if a second worker is killed.
    """
    try:
        with Pool(workers, logging.root.isEnabledFor(logging.INFO), reporter.warning) if workers > 1 else nullcontext() as pool:
            for stage in job.stages(tasks):
                results = pool.each(stage.work, stage.tasks) if pool else map(stage.work, stage.tasks)
                for progress in watched(stage, job.roots[0], results):
                    reporter.progress(progress)
            job.commit()
    except BertDataError:
        raise
    except Exception as error:
        if system := storage_error(error):
            raise system from error
        logging.getLogger(__name__).exception("a task failed")
        problem = f"{type(error).__name__}: {error}".splitlines()[-1]
        raise BertDataError(f"the run failed: {problem}: run the same command again, with --verbose for more") from error

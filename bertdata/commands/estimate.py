"""Estimate the time, memory and disk of a run: its own tasks run on samples of the input, in a temporary directory."""

from __future__ import annotations

import heapq
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..config.input_kinds import PROJECTS
from ..storage.files import is_local
from ..storage.process import cores, workers_for
from ..storage.progress import peak_memory

if TYPE_CHECKING:
    from ..config import CorpusConfig
    from ..stages.corpus.plan_tasks import CorpusPlan

__all__ = [
    "REPORT_BYTES",
    "SAMPLE_S",
    "Estimate",
    "Measured",
    "clock_of",
    "estimate",
    "existing",
    "free_space",
    "finish_time",
    "measure_corpus",
]

SAMPLE_S = 2.0  # of work on samples
_CORPUS_SAMPLE_S = 4.0  # of work on samples of raw text
_MAX_PICKS = 64  # sampled file ranges per kind and suffix
_START_CPU_S = 0.65  # CPU seconds of a command on a few documents: imports, plan, rounds that drop duplicates, commit and report
_WORKER_START_CPU_S = 0.35  # CPU seconds for the imports of a worker process
REPORT_BYTES = 50_000  # bytes of report.html, the data card and the manifest
_RELATIVE_ERROR = 0.3  # most outputs and times are between value / (1 + error) and value * (1 + error)
_DRIVER_MEMORY_BYTES = 120_000_000  # bytes of memory of the driver, without workers (docs/explanation/scale.md)
_FACT_BYTES_PER_DOCUMENT = 150  # bytes of facts and claims per document (docs/explanation/scale.md: 1 GB of 7 million articles)
_PARTITION_MEMORY_PER_BYTE = 4.4  # bytes of memory per byte of text while building a partition (docs/explanation/scale.md)


class Measured(NamedTuple):
    """What a sample cost. Some costs grow with the input, others do not."""

    bytes: float
    """Input that the other values are of."""
    stages: Sequence[Sequence[float]]
    """Seconds of each task, stage by stage."""
    output: float
    """Bytes of the dataset."""
    work: float = 0
    """Bytes of files that the run removes at its end."""
    most_work: float = 0
    """Upper bound of `work`; 0 for `work`."""
    documents: float = 0
    sampled: float = 0
    """Bytes of input that were read for this; 0 for all of `bytes`."""
    warm_up: float = 0.0
    """Seconds that each worker takes before its first task."""
    finish: float = 0.0
    """Seconds of a last step in one process. They are of all the input: `estimate` does not scale them."""
    fixed: float = 0.0
    """Bytes of output that do not grow with the input."""
    held: float = 0.0
    """Bytes of text that a worker of the run holds at a time."""
    max_documents: int = 0
    """Maximum number of documents of the run; 0 for all."""


class Estimate(NamedTuple):
    """What a run will take."""

    seconds: float
    """Time with this number of workers, if nothing else uses their cores."""
    workers: int
    worker_memory: int
    """Bytes of memory of a worker."""
    memory: int
    """Bytes of memory of all workers and the driver."""
    output: int
    """Bytes of the dataset."""
    work: int
    """Bytes of files that the run removes at its end."""
    most_work: int
    """Upper bound of `work`."""
    sampled: int
    """Bytes of input that were sampled."""
    sample_seconds: float
    error: float = _RELATIVE_ERROR
    """Relative error of `seconds` and `output`: a value is likely between `low` and `high` of it."""

    def low(self, value: float) -> float:
        """Return the lower end of the range of an estimated value."""
        return value / (1 + self.error)

    def high(self, value: float) -> float:
        """Return the upper end of the range of an estimated value."""
        return value * (1 + self.error)


def estimate(measure: Callable[[Path], Measured], total: int, tasks: int, *, workers: int | None = None) -> Estimate:
    """Run a sample of the work and scale it to all of the input.

    Args:
        measure: Runs samples of the tasks in a directory.
        total: Bytes of input.
        tasks: Number of tasks.
        workers: Number of workers; None for the default.
    """
    count, start = workers or workers_for(tasks, total), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bertdata-") as directory:
        measured = measure(Path(directory))
    took = time.monotonic() - start
    if measured.max_documents and measured.documents:
        total = min(total, math.ceil(measured.bytes * measured.max_documents / measured.documents))
    ratio = total / max(1, measured.bytes)
    worker_memory = peak_memory() + round(measured.held * _PARTITION_MEMORY_PER_BYTE)
    return Estimate(
        seconds=_seconds(measured, ratio, count),
        workers=count,
        worker_memory=worker_memory,
        memory=worker_memory * count + (_DRIVER_MEMORY_BYTES if count > 1 else 0),
        output=round(measured.output * ratio + measured.fixed),
        work=round(measured.work * ratio),
        most_work=round(max(measured.work, measured.most_work) * ratio),
        sampled=round(measured.sampled or measured.bytes),
        sample_seconds=took,
    )


def _seconds(measured: Measured, ratio: float, workers: int) -> float:
    """Return the seconds of a run: its start and end, and its stages one after another."""
    rounds = math.ceil(workers / cores())  # workers beyond the cores wait for each other
    start = _START_CPU_S + (_WORKER_START_CPU_S * (workers > 1) + measured.warm_up) * rounds
    return start + ratio * sum(finish_time(stage, min(workers, cores())) for stage in measured.stages) + measured.finish


def finish_time(tasks: Sequence[float], workers: int) -> float:
    """Return when the last worker is done, if each takes the next task as soon as it is idle.

    >>> finish_time([3, 1, 1, 1], 2), finish_time([5], 4), finish_time([], 2)
    (3.0, 5.0, 0.0)
    """
    # The heap has the time when each worker is idle. The next task goes to the first of them.
    #
    #   tasks 3 1 1 1, two workers      worker 0: 3          worker 1: 1 1 1        done at 3
    ends = [0.0] * workers  # equal values are a heap
    for seconds in tasks:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


def clock_of(paths: Iterable[str | Path]) -> Callable[[], float]:
    """Return the clock that times samples: CPU time for local files, as other programs may be running; wall time for a store."""
    return time.process_time if all(map(is_local, paths)) else time.monotonic


def existing(directory: Path) -> Path:
    """Return a directory, or the closest of its parents that exists, which is on the same disk."""
    return next(path for path in (directory.absolute(), *directory.absolute().parents) if os.path.isdir(path))


def free_space(directory: Path) -> int:
    """Return the bytes that are free on the disk where a directory is, or will be."""
    return shutil.disk_usage(existing(directory)).free


def measure_corpus(root: Path, plan: CorpusPlan, config: CorpusConfig, paths: Sequence[str | Path]) -> Measured:
    """Extract documents from samples of each kind of file, which `paths` are.

    Readers read ahead, so the bytes read say little about the documents finished.  A sample therefore ends at the end of
    its range, or when the reader asks for more input, because by then all documents it has read are finished.
    """
    from .corpus_sample import sample_files, task_seconds

    strata = sample_files(root, plan, config, _CORPUS_SAMPLE_S, _MAX_PICKS, clock_of(paths))
    documents = sum(each.documents * each.scale for each in strata)
    extracted, choice = sum(each.output * each.scale for each in strata), config.choice
    # Shards that lose documents are written again, and the old ones stay until the commit.
    rules = choice.mix.strip() or choice.sample_documents or choice.word_limits or choice.dedup_paragraphs
    again = bool(rules) or choice.dedup == "near"
    kept = min(1.0, choice.sample_documents / max(1.0, documents)) if choice.sample_documents else 1.0
    may_lose = again or choice.dedup != "none" or any(each.kind in PROJECTS for each in strata)
    return Measured(
        bytes=sum(each.total for each in strata),
        stages=[task_seconds(strata)],
        output=extracted * kept,
        work=_FACT_BYTES_PER_DOCUMENT * documents + again * extracted,
        most_work=_FACT_BYTES_PER_DOCUMENT * documents + may_lose * extracted,
        documents=documents,
        sampled=sum(each.read for each in strata),
        warm_up=sum(each.warm_up for each in strata),
        fixed=REPORT_BYTES,
        max_documents=config.max_documents,
    )

"""Estimate what a run will take by a second or two of its work on samples of its input: time, memory, disk, requests."""

from __future__ import annotations

import heapq
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..io.files import is_local
from ..io.process import cores, workers_for
from ..io.progress import peak_memory

if TYPE_CHECKING:
    from ..build.corpus.plan import CorpusPlan
    from ..config import CorpusConfig

__all__ = ["REPORT", "SECONDS", "Estimate", "Measured", "Sample", "estimate", "free_space", "longest", "of_corpus", "slowdown"]

T = TypeVar("T")
SECONDS = 2.0  # of work on samples
_MAX_PICKS = 64  # parts of the input of one kind and suffix that are sampled
_START = 0.9  # CPU seconds of a command without work: imports, plan, rounds that drop duplicates, commit and report
_WORKER = 0.45  # CPU seconds until a worker process has imported what it needs
_LARGEST_SLOWDOWN = 5.0  # of imports and the commit: a sample may be slow because its input is far away
REPORT = 50_000  # bytes of report.html, the data card and the manifest
_ERROR, _LARGEST_ERROR = 0.15, 1.0  # relative error of an estimate, at least; and at most, as from one sample of many
_DRIVER = 120_000_000  # bytes, beside its workers (docs/explanation/scale.md)
_DROPPED = 120  # bytes of a dropped copy in the list of drops: its id, and that of the copy that is kept
_FACTS = 150  # bytes of facts and claims of a document (docs/explanation/scale.md: 1 GB of 7 million articles)
_BUCKET = 4.4  # bytes of memory for each of text, while a bucket's pairs are built (docs/explanation/scale.md)
_RANGE = 2 << 20  # bytes of a request to a store
_GETS, _PUTS = 16, 10  # requests of a task beside those for its input: HEAD; LIST and PUT (docs/explanation/scale.md, counted)


class Measured(NamedTuple):
    """What a sample took, or what it makes of the whole input.

    Attributes:
        bytes: Input.
        seconds: Work of one process.
        output: Bytes of the dataset.
        work: Bytes of files that a run removes at its end.
        most_work: Upper bound of `work`; 0 for `work`.
        documents: Number of documents.
        error: Relative error, by the differences between samples.
        sampled: Bytes of input that were read for this; 0 for all of `bytes`.
        sample_seconds: Seconds spent on them; 0 for `seconds`.
        slowdown: Wall seconds per CPU second of the sample: other programs may use this machine too.
        stages: Seconds of each task of the whole input, stage by stage; none for tasks of equal size.
        finish: Seconds of a last step that one process does.
        fixed: Bytes of output that do not grow with the input.
    """

    bytes: float
    seconds: float
    output: float
    work: float = 0
    most_work: float = 0
    documents: float = 0
    error: float = _LARGEST_ERROR / 2
    sampled: float = 0
    sample_seconds: float = 0
    slowdown: float = 1.0
    stages: Sequence[Sequence[float]] = ()
    finish: float = 0.0
    fixed: float = 0.0


Sample = Callable[[Path], Measured]


class Estimate(NamedTuple):
    """What a run is to take.

    Attributes:
        seconds: Time with so many workers on this machine.
        workers: Number of workers.
        worker_memory: Bytes of memory of a worker.
        memory: Bytes of memory of all workers and the driver.
        output: Bytes of the dataset.
        work: Bytes of files that a run removes at its end.
        most_work: Upper bound of `work`.
        sampled: Bytes of input that were sampled.
        sample_seconds: Seconds of work on them.
        gets: Number of cheap requests to a store: GET, HEAD.
        puts: Number of expensive ones: PUT, LIST.
        error: Relative error of `seconds` and `output`: a value is likely between `low` and `high` of it.
    """

    seconds: float
    workers: int
    worker_memory: int
    memory: int
    output: int
    work: int
    most_work: int
    sampled: int
    sample_seconds: float
    gets: int
    puts: int
    error: float = 0.0

    def low(self, value: float) -> float:
        """Return the lower end of the range of an estimated value."""
        return value / (1 + self.error)

    def high(self, value: float) -> float:
        """Return the upper end of the range of an estimated value."""
        return value * (1 + self.error)


def estimate(
    sample: Sample,
    total: int,
    tasks: int,
    *,
    reads: Sequence[str | Path],
    writes: Sequence[Path],
    held: int = 0,
    most: int = 0,
    workers: int | None = None,
) -> Estimate:
    """Do a sample of a run's work and say what all of it will take.

    total: bytes of input.  reads, writes: where that and the output are.
    held: bytes of text that a worker holds at a time.  most: documents at the most; 0 for all.
    """
    count = workers or workers_for(tasks, total)
    with tempfile.TemporaryDirectory(prefix="bertdata-") as directory:
        measured = sample(Path(directory))
    if most and measured.documents:
        total = min(total, math.ceil(measured.bytes * most / measured.documents))
    ratio = total / max(1, measured.bytes)
    worker_memory = peak_memory() + round(held * _BUCKET)
    gets = 2 * math.ceil(total / _RANGE) if not all(map(is_local, reads)) else 0
    remote = not all(map(is_local, writes))
    return Estimate(
        seconds=_seconds(measured, ratio, tasks, count),
        workers=count,
        worker_memory=worker_memory,
        memory=worker_memory * count + (_DRIVER if count > 1 else 0),
        output=round(measured.output * ratio + measured.fixed),
        work=round(measured.work * ratio),
        most_work=round(max(measured.work, measured.most_work) * ratio),
        sampled=round(measured.sampled or measured.bytes),
        sample_seconds=measured.sample_seconds or measured.seconds,
        gets=gets + _GETS * tasks * remote,
        puts=_PUTS * tasks * remote,
        error=measured.error,
    )


def _seconds(measured: Measured, ratio: float, tasks: int, workers: int) -> float:
    """Return the wall seconds of a run: what does not grow with the input, and its stages one after another."""
    rounds = math.ceil(workers / cores())  # workers beyond the cores wait for each other
    fixed = (_START + _WORKER * rounds * (workers > 1)) * measured.slowdown + measured.finish
    stages = measured.stages or [[measured.seconds / max(1, tasks)] * tasks]
    return fixed + ratio * sum(longest(stage, min(workers, cores())) for stage in stages)


def longest(tasks: Sequence[float], workers: int) -> float:
    """Return when the last worker is done, if each takes the next task as soon as it is idle.

    >>> longest([3, 1, 1, 1], 2), longest([5], 4), longest([], 2)
    (3.0, 5.0, 0.0)
    """
    ends = [0.0] * workers  # equal values are a heap
    for seconds in tasks:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


def slowdown(seconds: float, cpu: float) -> float:
    """Return the wall seconds per CPU second of a sample, within bounds."""
    return min(_LARGEST_SLOWDOWN, max(1.0, seconds / max(0.01, cpu)))


def free_space(directory: Path) -> int:
    """Return the bytes that are free on the disk where a directory is, or will be."""
    there = next(path for path in (directory.absolute(), *directory.absolute().parents) if os.path.isdir(path))
    return shutil.disk_usage(there).free


def of_corpus(plan: CorpusPlan, config: CorpusConfig) -> Sample:
    """Return a function that extracts documents from samples of each kind of file.

    Readers read ahead, so the bytes read say little about the documents finished.  A sample therefore ends at its end, or where
    a reader asks for more input: then all that it had read is finished.
    """
    from .corpus_sample import lost_share, rewritten_share, sample_files, task_seconds

    def sample(root: Path) -> Measured:
        strata = sample_files(root, plan, config, 2 * SECONDS, _MAX_PICKS)
        read, seconds = sum(each.read for each in strata), sum(each.seconds for each in strata)
        cpu = sum(each.cpu for each in strata)
        documents = sum(each.documents * each.scale for each in strata)
        extracted = sum(each.output * each.scale for each in strata)
        share = sum(each.documents for each in strata) / max(1.0, documents)
        keys = [[key for each in strata for key in each.texts], [key for each in strata for key in each.ids]]
        lost = max(lost_share(of_all, share) for of_all in keys)
        output, choice = extracted * (1 - lost) + _DROPPED * lost * documents, config.choice
        # Shards that lose documents are written again, and the old ones stay until the commit.
        again = rewritten_share(lost, documents, plan.shards)
        if choice.shares or choice.sample_documents or choice.word_limits or choice.dedup_paragraphs or choice.dedup == "near":
            again = 1.0  # of nearly every shard
        if choice.sample_documents:
            output *= min(1.0, choice.sample_documents / max(1.0, documents * (1 - lost)))
        chooses = again or choice.dedup != "none" or any(each.kind == "wikipedia" for each in strata)
        error = math.sqrt(sum((each.output * each.scale * each.error) ** 2 for each in strata)) / max(1.0, extracted)
        return Measured(
            bytes=sum(each.total for each in strata),
            seconds=sum(each.seconds * each.scale for each in strata),
            output=output,
            work=_FACTS * documents + max(0.0, extracted - output) + again * output,
            most_work=_FACTS * documents + extracted * bool(chooses),
            documents=documents,
            error=min(_LARGEST_ERROR, _ERROR + error),
            sampled=read,
            sample_seconds=seconds,
            slowdown=slowdown(seconds, cpu),
            stages=[task_seconds(strata)],
            fixed=REPORT,
        )

    return sample

"""Estimate what a run will take by a second or two of its work on samples of its input: time, memory, disk, requests."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..errors import EmptyResultError
from ..io.files import is_local
from ..io.process import workers_for
from ..io.progress import Work, peak_memory, working
from ..records import Task, pack, unpack

if TYPE_CHECKING:
    from ..build.corpus.plan import CorpusPlan
    from ..build.documents import Corpus
    from ..build.sampling import Sample as Drawn
    from ..config import CorpusConfig, PairsConfig, VocabConfig
    from ..dataset.plan_files import StoredValue
    from ..exports.work import ExportShard
    from ..tokens.vocab import AnyVocabulary

__all__ = ["Estimate", "Measured", "Sample", "estimate", "free_space", "of_corpus", "of_export", "of_pairs", "of_vocab", "stored"]

T = TypeVar("T")
_SECONDS, _SAMPLES = 2.0, 4  # of work, and of how many tasks
_MAX_PICKS = 64  # parts of the input of one kind and suffix that are sampled
_START = 0.5  # seconds until the workers have imported what they need (docs/explanation/scale.md)
_FINISH = 1.5  # seconds of rounds that drop duplicates, of the commit and of its report
_REPORT = 50_000  # bytes of report.html, the data card and the manifest
_ERROR, _LARGEST_ERROR = 0.15, 1.0  # relative error of an estimate, at least; and at most, as from one sample of many
_DRIVER = 120_000_000  # bytes, beside its workers (docs/explanation/scale.md)
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
        documents: Number of documents.
        error: Relative error, by the differences between samples.
        sampled: Bytes of input that were read for this; 0 for all of `bytes`.
        sample_seconds: Seconds spent on them; 0 for `seconds`.
        finish: Seconds of the rest of the run, which does not depend on the input.
        slowdown: Wall seconds per CPU second of the sample: other programs may use this machine too.
    """

    bytes: float
    seconds: float
    output: float
    work: float = 0
    documents: float = 0
    error: float = _LARGEST_ERROR / 2
    sampled: float = 0
    sample_seconds: float = 0
    slowdown: float = 1.0
    finish: float = 0.0


Sample = Callable[[Path], Measured]


class Estimate(NamedTuple):
    """What a run is to take.

    seconds: with so many workers on this machine.  memory: bytes of a worker, and of all with the driver.  output, work: bytes on
    disk, of the data set and of files that go at its end.  sampled, sample_seconds: bytes of input that were sampled, and
    the seconds of work on them.  gets, puts: requests to a store, cheap ones (GET, HEAD) and dear ones (PUT, LIST).
    error: how far `seconds`, `output` and `work` may be off: a value is likely between `low` and `high` of it.
    """

    seconds: float
    workers: int
    worker_memory: int
    memory: int
    output: int
    work: int
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
    references: int = 0,
    held: int = 0,
    most: int = 0,
    workers: int | None = None,
) -> Estimate:
    """Do a sample of a run's work and say what all of it will take.

    total: bytes of input.  reads, writes: where that and the output are.  references: small reads that go from step to step.
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
        seconds=(_START + measured.finish) * measured.slowdown + measured.seconds * ratio / count,
        workers=count,
        worker_memory=worker_memory,
        memory=worker_memory * count + (_DRIVER if count > 1 else 0),
        output=round(measured.output * ratio),
        work=round(measured.work * ratio),
        sampled=round(measured.sampled or measured.bytes),
        sample_seconds=measured.sample_seconds or measured.seconds,
        gets=gets + (_GETS * tasks + 4 * references) * remote,
        puts=_PUTS * tasks * remote,
        error=measured.error,
    )


def free_space(directory: Path) -> int:
    """Return the bytes that are free on the disk where a directory is, or will be."""
    there = next(path for path in (directory.absolute(), *directory.absolute().parents) if os.path.isdir(path))
    return shutil.disk_usage(there).free


def _spaced(items: Sequence[T]) -> list[T]:
    """Choose `_SAMPLES` of the items, evenly spaced."""
    count = min(_SAMPLES, len(items))
    return [items[len(items) * (2 * number + 1) // (2 * count)] for number in range(count)]


class _Clock:
    """Add up the seconds of samples, and say when they are enough."""

    def __init__(self) -> None:
        self.seconds, self.is_over = 0.0, False

    @contextlib.contextmanager
    def running(self) -> Iterator[Work]:
        start = time.monotonic()
        with working(None, "sample", 0) as work:
            yield work
        self.seconds += time.monotonic() - start
        self.is_over = self.seconds >= _SECONDS


def of_corpus(plan: CorpusPlan, config: CorpusConfig) -> Sample:
    """Return a function that extracts documents from samples of each kind of file.

    Readers read ahead, so the bytes read say little about the documents finished.  A sample therefore ends at its end, or where
    a reader asks for more input: then all that it had read is finished.
    """
    from .corpus_sample import sample_files

    def sample(root: Path) -> Measured:
        strata = sample_files(root, plan, config, 2 * _SECONDS, _MAX_PICKS)
        read, seconds = sum(each.read for each in strata), sum(each.seconds for each in strata)
        cpu = sum(each.cpu for each in strata)
        documents = sum(each.documents * each.scale for each in strata)
        extracted = sum(each.output * each.scale for each in strata)
        wanted = config.choice.sample_documents
        output = extracted * min(1.0, wanted / max(1.0, documents)) if wanted else extracted
        # Shards that lose documents are written again, and the old ones stay until the commit.
        again = extracted if wanted or config.choice.dedup != "none" or any(each.kind == "wikipedia" for each in strata) else 0
        error = math.sqrt(sum((each.output * each.scale * each.error) ** 2 for each in strata)) / max(1.0, extracted)
        return Measured(
            bytes=sum(each.total for each in strata),
            seconds=sum(each.seconds * each.scale for each in strata),
            output=output + _REPORT,
            work=_FACTS * documents + again,
            documents=documents,
            error=min(_LARGEST_ERROR, _ERROR + error),
            sampled=read,
            sample_seconds=seconds,
            finish=_FINISH,
            slowdown=min(2.5, max(1.0, seconds / max(0.01, cpu))),
        )

    return sample


def _first_batches(tasks: Sequence[Task]) -> list[Task]:
    """Return some of the tasks, each with the first record batch of what it reads alone."""
    cut = []
    for task in _spaced(tasks):
        part = unpack(task.parts)[0]
        cut.append(task._replace(parts=pack([part._replace(end=min(part.end, part.start + 1))])))
    return cut


def of_vocab(corpus: Corpus, config: VocabConfig, of_corpus: Drawn) -> Sample:
    """Return what counts the words of some batches; the training at the end is not in it."""
    from ..build.vocab import CountWords

    def work(root: Path) -> CountWords:
        return CountWords(str(root), config, of_corpus.share_of_read, False, corpus.reader)

    return _of_first_batches(work, of_corpus.tasks, "work")


def of_pairs(corpus: Corpus, vocabulary: AnyVocabulary, configs: Sequence[PairsConfig]) -> Sample:
    """Return what turns some batches into rows, as if they were a bucket."""
    from ..build.rows.bucket import BuildBucket, Output
    from ..build.rows.buckets import Layout, Tokenize
    from ..build.rows.partners import Partners

    def sample(root: Path) -> Measured:
        clock, read, documents = _Clock(), 0, []
        layout = Layout(configs[0].seed, 1, 0.0, Partners.of(configs[0]))
        given = stored(root, vocabulary)
        tokenize = Tokenize(str(root), given, corpus.reader, layout, configs[0].chinese_words)
        for task in _first_batches(corpus.tasks):
            if not clock.is_over:
                with clock.running() as work:
                    documents += [document for _, document in tokenize.documents(task) if document.row >= 0]
                    read += work.bytes
        work_files = sum(len(each.tokens) + len(each.ends) + len(each.continues) + len(each.id) + 24 for each in documents)
        outputs = [Output(str(root / str(number)), config) for number, config in enumerate(configs)]
        written = 0
        with clock.running(), contextlib.suppress(EmptyResultError):
            written = sum(BuildBucket(given, outputs, layout).sample(documents))
        return Measured(read, clock.seconds, written, work_files, len(documents))

    return sample


def stored(root: Path, vocabulary: AnyVocabulary) -> StoredValue:
    """Write a vocabulary as a run does for its workers."""
    from ..dataset.plan_files import StoredValue

    return StoredValue.written(root, "vocabulary", vocabulary._asdict())


def of_export(work: Callable[[Path], ExportShard], tasks: Sequence[Task]) -> Sample:
    """Return what writes the first batches of some shards."""
    return _of_first_batches(work, tasks, "output")


def _of_first_batches(work: Callable[[Path], Callable[[Task], dict[str, Any]]], tasks: Sequence[Task], written: str) -> Sample:
    """Return what does the first batches of some tasks, whose files are ``output`` or ``work``."""

    def sample(root: Path) -> Measured:
        clock, read, size, perform = _Clock(), 0, 0, work(root)
        for task in _first_batches(tasks):
            if not clock.is_over:
                with clock.running() as at_work:
                    report = perform(task)
                    read, size = read + at_work.bytes, size + sum(file["bytes"] for file in report["files"])
        return Measured(read, clock.seconds, 0)._replace(**{written: size})

    return sample

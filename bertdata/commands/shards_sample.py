"""Sample the work of commands that read shards: some record batches, for train-vocab, make-pairs and export."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dataset.plan_files import StoredValue
from ..dataset.run import STATE
from ..errors import BertDataError, EmptyResultError
from ..io.progress import Work, working
from ..records import Task
from ..tokens import vocab
from .estimate import REPORT, SECONDS, Measured, Sample, slowdown

if TYPE_CHECKING:
    from ..build.documents import Corpus
    from ..build.sampling import Sample as Drawn
    from ..config import PairsConfig, VocabConfig
    from ..exports.work import ExportShard

__all__ = ["of_export", "of_pairs", "of_vocab", "stored"]

_BATCHES = 4  # record batches of a sample, of as many tasks where there are as many
_GROWTH = 0.6  # distinct words grow with this power of the text (Heaps' law), and the time to train on them does, too


class _Clock:
    """Add up the seconds of samples."""

    def __init__(self) -> None:
        self.seconds, self.cpu = 0.0, 0.0

    @property
    def is_over(self) -> bool:
        """Whether the samples have taken long enough."""
        return self.seconds >= SECONDS

    @property
    def slowdown(self) -> float:
        """Wall seconds per CPU second."""
        return slowdown(self.seconds, self.cpu)

    @contextlib.contextmanager
    def running(self) -> Iterator[Work]:
        start, cpu = time.monotonic(), time.process_time()
        with working("sample", 0) as work:
            yield work
        self.seconds, self.cpu = self.seconds + time.monotonic() - start, self.cpu + time.process_time() - cpu


def _batches(tasks: Sequence[Task]) -> list[Task]:
    """Return some record batches of all that the tasks read, evenly spaced, each as a task."""
    places = [(task, part, batch) for task in tasks for part in task.parts for batch in range(part.start, part.end)]
    count = min(_BATCHES, len(places))
    chosen = [places[len(places) * (2 * number + 1) // (2 * count)] for number in range(count)]
    return [
        task._replace(number=number, parts=(part._replace(start=batch, end=batch + 1),))
        for number, (task, part, batch) in enumerate(chosen)
    ]


def _by_task(tasks: Sequence[Task], seconds: float) -> list[float]:
    """Divide seconds among tasks by their record batches."""
    sizes = [sum(part.end - part.start for part in task.parts) for task in tasks]
    return [seconds * size / max(1, sum(sizes)) for size in sizes]


def _bytes(root: Path) -> int:
    """Return the bytes of a dataset without its state."""
    paths = (path for path in root.rglob("*") if STATE not in path.relative_to(root).parts)
    return sum(path.stat().st_size for path in paths if path.is_file())


def of_vocab(corpus: Corpus, config: VocabConfig, drawn: Drawn, total: int) -> Sample:
    """Return a function that counts the words of some batches of `total` bytes to read, and trains on them."""
    from ..build.vocab import CountWords, Train

    def sample(root: Path) -> Measured:
        clock, read, reports = _Clock(), 0, []
        count = CountWords(str(root), config, drawn.share_of_read, False, corpus.reader)
        for task in _batches(drawn.tasks):
            if not clock.is_over:
                with clock.running() as work:
                    reports.append(count(task))
                    read += work.bytes
        train, start = Train(str(root), config, drawn.share, corpus.reader), time.monotonic()
        with contextlib.suppress(BertDataError):  # such as too little text
            added, names = train.add_up([report] for report in reports)
            train([added], names)
        finish = (time.monotonic() - start) * (max(1, total) / max(1, read)) ** _GROWTH
        return Measured(
            read,
            clock.seconds,
            output=0,
            work=sum(file["bytes"] for report in reports for file in report["files"]),
            slowdown=clock.slowdown,
            stages=[_by_task(drawn.tasks, clock.seconds)],
            finish=finish,
            fixed=_bytes(root),
        )

    return sample


def of_pairs(corpus: Corpus, vocabulary: vocab.AnyVocabulary, configs: Sequence[PairsConfig]) -> Sample:
    """Return a function that turns some batches into rows, as if they were a bucket."""
    from ..build.rows.bucket import BuildBucket, Output
    from ..build.rows.buckets import Layout, Tokenize, Tokens
    from ..build.rows.partners import Partners

    def sample(root: Path) -> Measured:
        clock, read, documents = _Clock(), 0, list[Tokens]()
        layout = Layout(configs[0].seed, 1, 0.0, Partners.of(configs[0]))
        given = stored(root, vocabulary)
        tokenize = Tokenize(str(root), given, corpus.reader, layout, configs[0].chinese_words)
        for task in _batches(corpus.tasks):
            if not clock.is_over:
                with clock.running() as work:
                    documents += tokenize.documents(task)
                    read += work.bytes
        tokenized = clock.seconds
        work_files = sum(len(each.tokens) + len(each.ends) + len(each.continues) + len(each.id) + 24 for each in documents)
        outputs = [Output(str(root / str(number)), config) for number, config in enumerate(configs)]
        written = 0
        with clock.running(), contextlib.suppress(EmptyResultError):
            written = sum(BuildBucket(given, outputs, layout).sample(documents))
        (root / "vocabulary").mkdir()
        vocab.write(root / "vocabulary", vocabulary)
        buckets = max(1, configs[0].shards)
        return Measured(
            read,
            clock.seconds,
            written,
            work=work_files,
            documents=len(documents),
            slowdown=clock.slowdown,
            stages=[_by_task(corpus.tasks, tokenized), [(clock.seconds - tokenized) / buckets] * buckets],
            fixed=len(configs) * (REPORT + _bytes(root / "vocabulary")),
        )

    return sample


def stored(root: Path, vocabulary: vocab.AnyVocabulary) -> StoredValue:
    """Write a vocabulary as a run does for its workers."""
    return StoredValue.written(root, "vocabulary", vocabulary._asdict())


def of_export(work: Callable[[Path], ExportShard], tasks: Sequence[Task]) -> Sample:
    """Return a function that exports some batches."""

    def sample(root: Path) -> Measured:
        clock, read, reports, export = _Clock(), 0, list[dict[str, Any]](), work(root)
        for task in _batches(tasks):
            if not clock.is_over:
                with clock.running() as at_work:
                    reports.append(export(task))
                    read += at_work.bytes
        written = sum(file["bytes"] for report in reports for file in report["files"])
        stages = [_by_task(tasks, clock.seconds)]
        return Measured(read, clock.seconds, written, slowdown=clock.slowdown, stages=stages, fixed=REPORT)

    return sample

"""Sample the work of commands that read shards: train-vocab, make-pairs and export run their tasks on some record batches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dataset.plan_files import StoredValue
from ..dataset.run import STATE, building
from ..errors import BertDataError, EmptyResultError
from ..records import Task
from ..storage.progress import NO_CONTEXT, Work
from ..tokens import vocab
from .estimate import REPORT_BYTES, SAMPLE_S, Measured, clock_of

if TYPE_CHECKING:
    from ..config import PairsConfig, VocabConfig
    from ..exports.work import ExportShard
    from ..stages.corpus_reader import Corpus
    from ..stages.sampling import Sample as Drawn

__all__ = ["measure_export", "measure_pairs", "measure_vocab", "stored"]

_SAMPLE_BATCHES = 4  # record batches of a sample, of as many tasks where there are as many
_HEAPS_EXPONENT = 0.6  # distinct words grow with this power of the text (Heaps' law), and the time to train on them does, too
Clock = Callable[[], float]  # seconds


class _Done(NamedTuple):
    """Tasks that were run as a sample."""

    reports: list[Any]
    read: int
    """Bytes of input."""
    seconds: float
    stage: list[float]
    """Seconds of each of all tasks, for as many bytes as were read: a task's share of the record batches."""

    @property
    def written(self) -> int:
        """Bytes of the files that the tasks report."""
        return sum(file.bytes for report in self.reports for file in report.files)


def _run(work: Callable[[Task, Work], Any], tasks: Sequence[Task], clock: Clock) -> _Done:
    """Run a task's function on some record batches of all that the tasks read, evenly spaced, until the time is over."""
    places = [(task, part, batch) for task in tasks for part in task.parts for batch in range(part.start, part.end)]
    count, reports, read, start = min(_SAMPLE_BATCHES, len(places)), list[Any](), 0, clock()
    for number in range(count):
        if clock() - start < SAMPLE_S:
            task, part, batch = places[len(places) * (2 * number + 1) // (2 * count)]
            with NO_CONTEXT.working("sample", 0) as at_work:
                reports.append(work(task._replace(number=number, parts=(part._replace(start=batch, end=batch + 1),)), at_work))
            read += at_work.bytes
    seconds = clock() - start
    batches = [sum(part.end - part.start for part in task.parts) for task in tasks]
    return _Done(reports, read, seconds, [seconds * each / max(1, sum(batches)) for each in batches])


def _bytes(root: Path) -> int:
    """Return the bytes of a dataset without its state."""
    paths = (path for path in root.rglob("*") if STATE not in path.relative_to(root).parts)
    return sum(path.stat().st_size for path in paths if path.is_file())


def measure_vocab(root: Path, corpus: Corpus, config: VocabConfig, drawn: Drawn, total: int) -> Measured:
    """Count the words of some batches of `total` bytes to read, and train on them."""
    from ..stages.vocab import CountWords, Train

    clock = clock_of([corpus.reader.directory])
    done = _run(CountWords(root, config, drawn.share_of_read, False, corpus.reader), drawn.tasks, clock)
    train, start = Train(root, config, drawn.share, corpus.reader), clock()
    with contextlib.suppress(BertDataError):  # such as too little text
        train([report] for report in done.reports)
    finish = (clock() - start) * (max(1, total) / max(1, done.read)) ** _HEAPS_EXPONENT
    return Measured(done.read, [done.stage], output=0, work=done.written, finish=finish, fixed=_bytes(root))


def measure_pairs(
    root: Path, corpus: Corpus, vocabulary: vocab.Vocabulary, config: PairsConfig, lengths: Sequence[int]
) -> Measured:
    """Tokenize some batches and build their rows, as if they were a partition."""
    from ..stages.rows.build_rows import BuildPartition, RowsOutput
    from ..stages.rows.encoding import encoder_of_run
    from ..stages.rows.partitions import Layout, Tokenize
    from ..stages.rows.partners import Partners, origins_of
    from ..stages.shuffle import Pieces

    clock = clock_of([corpus.reader.directory])
    layout, start = Layout(config.seed, 1, 0.0, Partners.of(config)), clock()
    work_files = stored(root, vocabulary)
    encoder_of_run(work_files, config.chinese_words)
    warm_up = clock() - start
    done = _run(Tokenize(root, work_files, corpus.reader, layout, config.chinese_words), corpus.tasks, clock)
    pieces = [(number, bytes(data)) for number, of_task in enumerate(done.reports) for _, data in of_task]
    with contextlib.ExitStack() as stack:
        roots = {n: stack.enter_context(building(root / f"rows-{n}", {"sample": n})) for n in lengths}
        outputs = [RowsOutput(path, replace(config, max_seq_length=n)) for n, path in roots.items()]
        start = clock()
        with contextlib.suppress(EmptyResultError):
            BuildPartition(work_files, outputs, layout, tuple(origins_of(corpus.manifest)))(0, Pieces(lambda: iter(pieces)))
        partitions, seconds, written = config.shards, clock() - start, sum(map(_bytes, roots.values()))
    (root / "vocabulary").mkdir()
    vocab.write(root / "vocabulary", vocabulary)
    return Measured(
        done.read,
        [done.stage, [seconds / partitions] * partitions],
        output=written,
        work=sum(len(data) for _, data in pieces),
        warm_up=warm_up,
        fixed=len(lengths) * (REPORT_BYTES + _bytes(root / "vocabulary")),
        held=corpus.text_bytes * config.dupe_factor // max(1, config.shards),
    )


def stored(root: Path, vocabulary: vocab.Vocabulary) -> StoredValue:
    """Write a vocabulary as a run does for its workers."""
    return StoredValue.written(root, "vocabulary", vocabulary._asdict())


def measure_export(work: ExportShard, tasks: Sequence[Task]) -> Measured:
    """Export some batches."""
    done = _run(work, tasks, clock_of(part.path for task in tasks[:1] for part in task.parts))
    return Measured(done.read, [done.stage], output=done.written, fixed=REPORT_BYTES)

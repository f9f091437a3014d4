"""Make rows from documents: tokenize each batch once, move documents to partitions by hash, and build each partition's rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...config import PairsConfig
from ...dataset import manifest
from ...dataset.tasks import FilesReport, StoredValue
from ...records import Task
from ...run.job import Job, Stage, on_worker
from ...tokens.vocab import Vocabulary, of_run
from ..corpus_reader import Corpus, DocumentReader
from ..shuffle import FileShuffle
from .build_rows import PartitionReport, RowsOutput, build_partition
from .commit import commit
from .partitions import Layout, tokenize
from .partners import Partners, origins_of


@dataclass(frozen=True, kw_only=True)
class PairsJob(Job):
    """The work of make-pairs. Every partition is a uniform sample of its split, so pairs have partners from all of it.

    Attributes:
        outputs: An output for each row length: the corpus is tokenized once for all of them.
        shuffle: Files that pass documents to their partitions on one machine. With Beam, the engine passes them.
    """

    outputs: list[RowsOutput]
    vocabulary: StoredValue
    reader: DocumentReader
    layout: Layout
    origins: tuple[tuple[str, str], ...]
    chinese_words: str
    shuffle: FileShuffle

    @classmethod
    def of(
        cls, source: Corpus, vocabulary: Vocabulary, config: PairsConfig, lengths: Sequence[int],
        roots: Sequence[Path | None], work: Path,
    ) -> PairsJob:  # fmt: skip
        """Return the job of `make_pairs` for the row lengths that have a root."""
        by_length = {length: root for length, root in zip(lengths, roots, strict=True) if root is not None}
        layout = Layout(config.seed, config.shards, config.validation_fraction)
        layout = layout._replace(partners=Partners.of(config).spread(source, config, layout.train, layout.validation))
        first = next(iter(by_length.values()))
        return cls(
            roots=tuple(by_length.values()),
            packages=config.packages,
            outputs=[RowsOutput(root, replace(config, max_seq_length=length)) for length, root in by_length.items()],
            vocabulary=StoredValue.written(first, "vocabulary", vocabulary),
            reader=source.reader,
            layout=layout,
            origins=tuple(origins_of(source.manifest)),
            chinese_words=config.chinese_words,
            shuffle=FileShuffle(work, "tokens", len(source.tasks), layout.total),
        )

    @on_worker
    def tokenize(self, task: Task) -> list[tuple[int, tuple[int, bytes]]]:
        """Return the documents of a task by partition, as ids: (partition, (task, documents))."""
        pieces = tokenize(task, self.reader, self.vocabulary, self.layout, self.chinese_words)
        return [(partition, (task.number, piece)) for partition, piece in pieces]

    @on_worker
    def build(self, partition: int, pieces: Iterable[tuple[int, bytes]]) -> int:
        """Build the rows of a partition from the pieces of all tasks, which may come in any order and more than once."""
        by_task = {task: piece for task, piece in pieces if piece}
        in_order = [by_task[task] for task in sorted(by_task)]
        build_partition(self.vocabulary, self.outputs, self.layout, self.origins, partition, in_order)
        return partition

    def stages(self, tasks: Sequence[Task]) -> list[Stage]:
        """Return the stages of a run on this machine."""
        return [Stage("tokenize", self.write, tasks), Stage("pairs", self.build_from_files, range(self.layout.total))]

    @on_worker
    def write(self, task: Task) -> None:
        """Tokenize a task into its file of the shuffle. A resumed run keeps finished files."""
        self.once("tokenize", task, self._write, FilesReport, self.shuffle.root)

    def build_from_files(self, partition: int) -> int:
        """Build the rows of a partition from the files of all tasks."""
        return self.build(partition, self.shuffle.read(partition))

    def finish(self) -> None:
        """Write each output's vocabulary, data card and manifest."""
        commit(self.outputs, of_run(self.vocabulary), self.reader, self.reports("pairs", self.layout.total, PartitionReport))

    def _write(self, task: Task) -> FilesReport:
        self.shuffle.write(task.number, tokenize(task, self.reader, self.vocabulary, self.layout, self.chinese_words))
        return FilesReport(files=[manifest.entry(self.shuffle.root, self.shuffle.file(task.number))])

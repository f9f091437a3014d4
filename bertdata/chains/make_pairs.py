"""Make rows from documents: tokenize each batch once, distribute documents to partitions by hash, build rows, commit.

Every partition is a uniform sample of its split, except for rare languages, whose documents meet in few partitions. So pairs
built inside a partition have partners from the complete split. Documents reach their partition through a `Shuffle`. Static masks
are made last, with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..config import PairsConfig
from ..dataset.reports import FilesReport
from ..records import ReportReference
from ..stages.corpus_reader import Corpus
from ..stages.rows import partitions
from ..stages.rows.build_rows import BuildPartition, RowsOutput
from ..stages.rows.commit import PairsCommit
from ..stages.rows.partners import Partners, origins_of
from ..stages.shuffle import FileShuffle, Receive, Shuffle
from ..tokens.vocab import Vocabulary
from .steps import FlatMap, Map, Steps
from .transforms import Chain, Gather, GuardedCall, Regroup, TaskRunner, Tasks, shuffle_of

__all__ = ["MakePairs"]


class MakePairs(Chain):
    """Tasks -> documents by partition -> a shard of rows for each partition and output -> a manifest for each output.

    `roots` has the directory of each row length.
    """

    def __init__(self, source: Corpus, vocabulary: Vocabulary, config: PairsConfig, roots: Mapping[int, Path]) -> None:
        super().__init__(next(iter(roots.values())), source.tasks)
        self._source, self._vocabulary, self._config = source, self._store("vocabulary", vocabulary._asdict()), config
        self._outputs = [RowsOutput(root, replace(config, max_seq_length=length)) for length, root in roots.items()]
        layout = partitions.Layout(config.seed, config.shards, config.validation_fraction)
        partners = Partners.of(config).spread(source, config, layout.train, layout.validation)
        self._layout, self._origins = layout._replace(partners=partners), tuple(origins_of(source.manifest))

    def expand(self, begin: Steps) -> Steps:
        # The expensive part, tokenizing, comes before the shuffle and runs once per document,
        # whatever the number of outputs. The memory of a worker is that of one partition.
        shuffle = shuffle_of(begin, self._root, "tokens", len(self._tasks), self._layout.total)
        work = shuffle.root if isinstance(shuffle, FileShuffle) else self._root
        build = Receive(shuffle, BuildPartition(self._vocabulary, self._outputs, self._layout, self._origins))
        documents, packages = self._source.manifest.rows, self._config.packages
        commit = PairsCommit(self._vocabulary, self._outputs, self._source.reader, documents, work)
        return (
            self._tokenize(begin | "Tasks" >> Tasks(self._root, self._tasks), shuffle, work)
            | "Partition" >> Regroup(shuffle)
            | "Build pairs" >> Map(GuardedCall(build, *commit.roots(), packages=packages))
            | "Commit" >> Gather(commit, self._layout.total, packages=packages)
        )

    def _tokenize(self, tasks: Steps, shuffle: Shuffle, work: Path) -> Steps:
        """Move a task's documents to their partitions. A resumed run keeps finished files."""
        packages, reader = self._config.packages, self._source.reader
        tokenize = partitions.Tokenize(work, self._vocabulary, reader, self._layout, self._config.chinese_words)
        if isinstance(shuffle, FileShuffle):
            write = TaskRunner(work, "tokenize", partitions.WriteTokens(tokenize, shuffle), FilesReport, packages)
            return tasks | "Tokenize" >> Map(write) | "Written" >> Map(_written)
        return tasks | "Tokenize" >> FlatMap(GuardedCall(partitions.PutTokens(tokenize, shuffle), work, packages=packages))


def _written(report: ReportReference) -> tuple[int, int]:
    """Return the output of `FileShuffle.put` for a task, which an earlier run may have finished."""
    return 0, report.number

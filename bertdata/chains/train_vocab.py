"""Train a vocabulary on a corpus: count the words of a sample, task by task, and train on the counts."""

from __future__ import annotations

from pathlib import Path

from ..config import VocabConfig
from ..stages.corpus_reader import Corpus
from ..stages.sampling import Sample
from ..stages.vocab import STAGE, CountWords, Train, WordsReport
from .steps import Map, Steps
from .transforms import Chain, Gather, TaskRunner, Tasks

__all__ = ["TrainVocab"]


class TrainVocab(Chain):
    """Tasks -> word counts of each, by language -> one vocabulary."""

    def __init__(self, source: Corpus, config: VocabConfig, root: Path) -> None:
        self._sample = Sample.of(source, config)
        super().__init__(root, self._sample.tasks)
        self._source, self._config = source, config

    def expand(self, begin: Steps) -> Steps:
        root, config, sample, reader = self._root, self._config, self._sample, self._source.reader
        work = CountWords(root, config, sample.share_of_read, sample.share_of_read == sample.share, reader)
        return (
            begin
            | "Tasks" >> Tasks(self._root, self._tasks)
            | "Count words" >> Map(TaskRunner(self._root, "count", work, WordsReport, config.packages))
            | "Train" >> Gather(Train(root, config, sample.share, reader), len(self._tasks), STAGE, config.packages)
        )

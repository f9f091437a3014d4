"""Train a vocabulary on a cluster: ``bertdata train-vocab … -- --runner=FlinkRunner``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from bertdata.records import Task
from bertdata.stages.vocab import VocabJob


class TrainVocab(beam.PTransform):
    """Tasks of a corpus -> a file of word counts each -> one vocabulary, trained where "Commit" runs."""

    def __init__(self, job: VocabJob, tasks: Sequence[Task]) -> None:
        super().__init__()
        self._job, self._tasks = job, tasks

    def expand(self, begin: Any) -> Any:
        return (
            begin
            | "Tasks" >> beam.Create(self._tasks)
            | "Count words" >> beam.Map(self._job.count_words)
            | "Count" >> beam.combiners.Count.Globally()
            | "Commit" >> beam.Map(self._job.commit)  # adds up the counts and trains
        )

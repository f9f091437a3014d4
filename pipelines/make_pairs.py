"""Build training rows on a cluster: ``bertdata make-pairs … -- --runner=FlinkRunner``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from bertdata.records import Task
from bertdata.stages.rows.job import PairsJob

Piece = tuple[int, tuple[int, bytes]]  # a partition, and the tokenized documents that a task has for it: (task, documents)


class MakePairs(beam.PTransform):
    """Tasks of a corpus -> tokenized documents by partition -> rows with 50 % IsNext and 50 % NotNext, a shard per partition.

    A partition is a uniform sample of the corpus, so that its documents find partners from all of it. Partitions without
    documents are made, too: each writes a shard.
    """

    def __init__(self, job: PairsJob, tasks: Sequence[Task]) -> None:
        super().__init__()
        self._job, self._tasks = job, tasks

    def expand(self, begin: Any) -> Any:
        job, partitions = self._job, range(self._job.layout.total)
        documents = (
            begin
            | "Tasks" >> beam.Create(self._tasks)  # engines spread them over their workers
            | "Tokenize" >> beam.FlatMap(job.tokenize).with_output_types(Piece)
        )  # fmt: skip
        nothing = begin | "Partitions" >> beam.Create([(partition, (0, b"")) for partition in partitions])
        return (
            (documents, nothing)
            | beam.Flatten()
            | "By partition" >> beam.GroupByKey()
            | "Build rows" >> beam.MapTuple(job.build)
            | "Count" >> beam.combiners.Count.Globally()  # waits for all partitions
            | "Commit" >> beam.Map(job.commit)
        )

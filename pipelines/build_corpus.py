"""Extract documents from Wikipedia dumps and books on a cluster: ``bertdata build-corpus … -- --runner=FlinkRunner``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from bertdata.records import Task
from bertdata.stages.corpus.job import CorpusJob


class BuildCorpus(beam.PTransform):
    """Ranges of dumps and books -> a shard of documents each -> shards without duplicates -> a corpus.

    Before the first page is extracted, archives are unpacked, and template pages are collected from all dumps, from which one
    worker learns. Each task then waits for its number, which keeps the tasks on all workers. A task parses its pages, extracts
    their paragraphs, splits sentences, and writes a shard and a row of facts per document: hashes and sizes. One worker reads
    the facts of all tasks and decides which documents are lost.
    """

    def __init__(self, job: CorpusJob, tasks: Sequence[Task]) -> None:
        super().__init__()
        self._job, self._tasks = job, tasks

    def expand(self, begin: Any) -> Any:
        job, before = self._job, []
        tasks = begin | "Tasks" >> beam.Create(self._tasks)
        if job.archives:
            before.append(begin | "Archives" >> beam.Create(job.archives) | "Unpack" >> beam.Map(job.unpack))
        if job.samples:
            pages = self._tasks[: job.pages]
            before.append(begin | "Dumps" >> beam.Create(pages) | "Collect templates" >> beam.Map(job.collect))
        if before:
            ready = before | beam.Flatten() | "All ready" >> beam.combiners.Count.Globally()
            numbered = (
                tasks | "Number" >> beam.Map(lambda task: (task.number, task)),
                ready | "Learn" >> beam.FlatMap(job.learn) | "Ready" >> beam.Map(lambda number: (number, None)),
            )
            tasks = numbered | beam.CoGroupByKey() | "Task" >> beam.FlatMapTuple(lambda _, both: both[0])
        shards = tasks | "Extract" >> beam.Map(job.extract)
        if job.chooses:
            shards = (
                shards
                | "All" >> beam.combiners.Count.Globally()
                | "Choose" >> beam.FlatMap(job.choose)  # one task decides, and returns the numbers of all shards
                | "Spread" >> beam.Reshuffle()
                | "Rewrite" >> beam.Map(job.rewrite)
            )
        # A count of all elements waits for them. The commit is the only leaf: DaskRunner computes nothing else.
        return shards | "Count" >> beam.combiners.Count.Globally() | "Commit" >> beam.Map(job.commit)

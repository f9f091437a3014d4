"""Extract documents from Wikipedia dumps and books on a cluster: ``bertdata build-corpus … -- --runner=FlinkRunner``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from bertdata.records import Task
from bertdata.stages.corpus.job import CorpusJob


class BuildCorpus(beam.PTransform):
    """Ranges of dumps and books -> a shard of documents each -> shards without duplicates -> a corpus.

    Before the first page is extracted, template pages are collected from all ranges of dumps, and one worker learns from them. A
    task parses its pages, extracts their paragraphs, splits sentences, and writes a shard and a row of facts per document:
    hashes and sizes. One worker reads the facts of all tasks and decides which documents are lost.
    """

    def __init__(self, job: CorpusJob, tasks: Sequence[Task]) -> None:
        super().__init__()
        self._job, self._tasks = job, tasks

    def expand(self, begin: Any) -> Any:
        job = self._job
        tasks = begin | "Tasks" >> beam.Create(self._tasks)
        if job.archives:
            archives = begin | "Archives" >> beam.Create(job.archives) | "Unpack" >> beam.Map(job.unpack)
            unpacked = archives | "All archives" >> beam.combiners.Count.Globally() | "Unpacked" >> beam.FlatMap(job.numbers)
            tasks = (tasks, unpacked) | "After unpacking" >> _TasksAfter()
        if job.samples:
            learned = (
                begin
                | "Dumps" >> beam.Create(self._tasks[: job.pages])
                | "Collect templates" >> beam.Map(job.collect)
                | "All templates" >> beam.combiners.Count.Globally()
                | "Learn" >> beam.FlatMap(job.learn)  # one task learns, and returns the numbers of all tasks
            )
            tasks = (tasks, learned) | "After learning" >> _TasksAfter()
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


class _TasksAfter(beam.PTransform):
    """(tasks, numbers of tasks) -> the tasks, each when its number has come."""

    def expand(self, both: Any) -> Any:
        tasks, numbers = both
        return (
            (
                tasks | "Task by number" >> beam.Map(lambda task: (task.number, task)),
                numbers | "Number" >> beam.Map(lambda number: (number, None)),
            )
            | beam.Flatten()
            | "By number" >> beam.GroupByKey()
            | "Task" >> beam.MapTuple(lambda _, found: next(filter(None, found)))
        )

"""A data set to another format: a task for each shard, and a commit."""

from __future__ import annotations

from pathlib import Path

import apache_beam as beam

from bertdata.exports.work import ExportCommit, ExportShard
from bertdata.records import Task

from .transforms import Gather, Perform, Tasks

__all__ = ["Export"]


class Export(beam.PTransform):
    """Tasks -> files of each shard -> one manifest."""

    def __init__(self, tasks: list[Task], work: ExportShard, commit: ExportCommit, root: Path) -> None:
        super().__init__()
        self._tasks, self._work, self._commit, self._root = tasks, work, commit, root

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        return (
            begin
            | "Tasks" >> Tasks(self._tasks)
            | "Write" >> beam.ParDo(Perform(self._root, "export", self._work, self._work.packages))
            | "Commit" >> Gather(self._commit, len(self._tasks))
        )

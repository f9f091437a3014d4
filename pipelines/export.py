"""Export a dataset on a cluster: ``bertdata export … -- --runner=FlinkRunner``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from bertdata.exports.work import ExportJob
from bertdata.records import Task

__all__ = ["Export"]


class Export(beam.PTransform):
    """Shards of a dataset -> files of another format -> an index of all files."""

    def __init__(self, job: ExportJob, tasks: Sequence[Task]) -> None:
        super().__init__()
        self._job, self._tasks = job, tasks

    def expand(self, begin: Any) -> Any:
        return (
            begin
            | "Shards" >> beam.Create(self._tasks)
            | "Write" >> beam.Map(self._job.export)
            | "Count" >> beam.combiners.Count.Globally()
            | "Commit" >> beam.Map(self._job.commit)
        )

"""Export a dataset to another format: one task per shard, then a commit."""

from __future__ import annotations

from pathlib import Path

from ..config import ExportConfig
from ..exports.base import ExportReport, ExportSource
from ..exports.work import ExportCommit, ExportShard
from ..records import Task
from ..tokens.vocab import Vocabulary
from .steps import Map, Steps
from .transforms import Chain, Gather, TaskRunner, Tasks

__all__ = ["Export"]


class Export(Chain):
    """Tasks -> files of each shard -> one manifest."""

    def __init__(
        self, tasks: list[Task], source: ExportSource, config: ExportConfig, vocabulary: Vocabulary | None, root: Path
    ) -> None:
        super().__init__(root, tasks)
        arguments = (root, source, config, self._store("vocabulary", vocabulary._asdict()) if vocabulary else None)
        self._work, self._commit = ExportShard(*arguments), ExportCommit(*arguments)

    def expand(self, begin: Steps) -> Steps:
        return (
            begin
            | "Tasks" >> Tasks(self._root, self._tasks)
            | "Write" >> Map(TaskRunner(self._root, "export", self._work, ExportReport, self._work.packages))
            | "Commit" >> Gather(self._commit, len(self._tasks), packages=self._work.packages)
        )

"""Run an export: one task per shard, then a commit of all tasks' output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..codec import encode
from ..config import ExportConfig
from ..dataset import manifest
from ..dataset.manifest_records import RowFile
from ..dataset.manifest_types import ExportManifest
from ..dataset.tasks import StoredValue
from ..errors import EmptyResultError
from ..records import Task
from ..reports import card
from ..run.job import Job, Stage, on_worker
from ..tally import Tally
from ..tokens.vocab import Vocabulary, of_run, write
from . import FORMATS
from .base import ExportReport, ExportSource, Shard


@dataclass(frozen=True, kw_only=True)
class ExportJob(Job):
    """Write each shard in a format, then the index of all files."""

    source: ExportSource
    config: ExportConfig
    vocabulary: StoredValue | None
    count: int  # of tasks

    @classmethod
    def of(cls, vocab: Vocabulary | None, config: ExportConfig, roots: Sequence[Path | None], _: Path, **rest: Any) -> ExportJob:
        """Return the job of `export`."""
        (root,) = filter(None, roots)
        stored = StoredValue.written(root, "vocabulary", vocab) if vocab else None
        return cls(roots=(root,), packages=FORMATS[config.to].packages, config=config, vocabulary=stored, **rest)

    def stages(self, tasks: Sequence[Task]) -> list[Stage]:
        """Return the stages of a run on this machine."""
        return [Stage("export", self.export, tasks)]

    @on_worker
    def export(self, task: Task) -> int:
        """Write a shard in the format."""
        self.once("export", task, self._write, ExportReport)
        return task.number

    def _write(self, task: Task) -> ExportReport:
        """Write a shard, and report its files, rows and counts."""
        tally = Tally(self._stage)
        vocabulary = of_run(self.vocabulary) if self.vocabulary else None
        stem, batches = task.parts[0].name.rpartition(".")[0], self.source.batches(task, tally)
        shard = Shard(self.roots[0], task.number, stem, self.source.manifest(), vocabulary, batches, tally)
        files = [manifest.entry(shard.root, name) for name in FORMATS[self.config.to].write(shard)]
        tally.left = tally.entered - tally.dropped.total()
        return ExportReport(files=files, tally=tally.counts(), index=shard.index)

    @property
    def _stage(self) -> str:
        return "documents" if self.source.manifest().kind == "documents" else "rows"

    def finish(self) -> None:
        """Add up the counts; write the index of all files, the vocabulary, and finally the manifest."""
        root, format, source = self.roots[0], FORMATS[self.config.to], self.source.manifest()
        tally, reports = Tally(self._stage), [report for (report,) in self.reports("export", self.count, ExportReport)]
        for report in reports:
            tally.merge(Tally.of(report.tally))
        written = [report for report in reports if report.files]
        if not tally.left:
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(tally.dropped.items()))
            raise EmptyResultError(f"{self.source.directory} produces no rows (dropped: {reasons or 'none'})")
        vocabulary = of_run(self.vocabulary) if self.vocabulary else None
        names = format.finish(root, written) + (write(root, vocabulary) if vocabulary else [])
        shards = [RowFile(**encode(report.files[0]), rows=report.tally.left) for report in written]
        contents = ExportManifest(
            **manifest.head("export", self.config, shards, [tally], format.packages),
            of=source.kind,
            **(vocabulary.in_manifest() if vocabulary else {}),
            inputs=manifest.as_inputs(source, "corpus" if source.kind == "documents" else "pairs"),
            files=[*(file for report in written for file in report.files[1:]), *(manifest.entry(root, name) for name in names)],
        )
        manifest.check_rows(contents, tally.left)
        manifest.store(root, contents, card.write(source, contents) if format.has_card else "")

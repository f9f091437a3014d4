"""Run an export: one task per shard, then a commit of all tasks' output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..config import ExportConfig
from ..dataset import croissant, manifest
from ..dataset.manifest_records import ExportedShard
from ..dataset.manifest_types import ExportManifest, PairsManifest
from ..dataset.plan_files import StoredValue
from ..errors import EmptyResultError
from ..pieces import VocabularyEntries
from ..records import Task
from ..storage.progress import Work
from ..tally import Tally
from ..tokens import vocab
from . import FORMATS
from .base import ExportReport, ExportSource, Format, Shard

__all__ = ["ExportCommit", "ExportShard"]


def _given(vocabulary: StoredValue | None) -> vocab.Vocabulary | None:
    return None if vocabulary is None else vocab.of_run(vocabulary)


def _stage(format: Format) -> str:
    return "documents" if format.of == "documents" else "rows"


@dataclass(frozen=True)
class ExportShard:
    """Write a shard in a format, and report its files, rows and counts."""

    root: Path
    source: ExportSource
    config: ExportConfig
    vocabulary: StoredValue | None

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose versions affect the output's bytes."""
        return FORMATS[self.config.to].packages

    def __call__(self, task: Task, work: Work) -> ExportReport:
        format, contents = FORMATS[self.config.to], self.source.manifest()
        tally = Tally(_stage(format))
        stem = task.parts[0].name.rpartition(".")[0]
        batches = self.source.batches(task, work, tally)
        files = format.write(Shard(self.root, task.number, stem, contents, _given(self.vocabulary), batches, tally))
        tally.left = tally.entered - tally.dropped.total()
        return ExportReport(files=files, tally=tally.counts())


@dataclass(frozen=True)
class ExportCommit:
    """Add up the counts; write the index of all files, the vocabulary, and finally the manifest."""

    root: Path
    source: ExportSource
    config: ExportConfig
    vocabulary: StoredValue | None

    kind: ClassVar = ExportReport

    def roots(self) -> list[Path]:
        """Return the export's directory."""
        return [self.root]

    def __call__(self, reports: Iterable[list[ExportReport]]) -> None:
        root, format, source = self.root, FORMATS[self.config.to], self.source.manifest()
        tally, written = Tally(_stage(format)), list[ExportReport]()
        for (report,) in reports:
            tally.merge(Tally.of(report.tally))
            written += [report] if report.files else []
        if not tally.left:
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(tally.dropped.items()))
            raise EmptyResultError(f"{self.source.directory} produces no rows{f' (dropped: {reasons})' if reasons else ''}")
        vocabulary = _given(self.vocabulary)
        entries: VocabularyEntries = vocabulary.in_manifest() if vocabulary else {}
        names = format.finish(root, written) + (vocab.write(root, vocabulary) if vocabulary else [])
        firsts = ((report.files[0], report.tally.left) for report in written)
        shards = [ExportedShard(name=file.name, bytes=file.bytes, sha256=file.sha256, rows=rows) for file, rows in firsts]
        others = [file for report in written for file in report.files[1:]]
        contents = ExportManifest(
            **manifest.head("export", self.config, shards, [tally], format.packages),
            of=source.kind,
            of_config=source.config if isinstance(source, PairsManifest) else None,  # for `verify`, like the next line
            **entries,
            inputs=manifest.as_inputs(source, "corpus" if source.kind == "documents" else "pairs"),
            shards=shards,
            files=[*others, *(manifest.entry(root, name) for name in names)],
        )
        manifest.check_rows(contents, tally.left)
        manifest.store(root, contents, croissant=croissant.text(contents, croissant.columns(root, contents)))

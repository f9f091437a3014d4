"""Check a dataset: its manifest, its vocabulary, every file in parallel processes, and all counts."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..config import CONFIGS, CorpusConfig, PairsConfig
from ..dataset import manifest
from ..dataset.manifest import steady
from ..dataset.manifest_records import File, RowFile
from ..dataset.manifest_types import CorpusManifest, ExportManifest, Manifest, PairsManifest, ReadableManifest, VocabManifest
from ..errors import VerificationError
from ..storage.files import json_text, to_path
from ..storage.process import cores, worker_count
from ..storage.workers import Pool
from . import counts, documents, lists, pairs, row_checks, vocabulary
from .directory import CheckFailed, compare, fetched

__all__ = ["Problem", "Result", "verify"]

_BYTES_PER_WORKER = 64 << 20  # bytes per worker process by default: read in about a second, which is worth a process start


class Problem(NamedTuple):
    """A damaged or impossible file, and the reason."""

    name: str
    what: str


class Result(NamedTuple):
    """The amount read, the problems, and notes on harmless or unverifiable facts."""

    kind: str
    files: int
    rows: int
    bytes: int
    problems: list[Problem]
    notes: list[str]


class _Task(NamedTuple):
    group: str  # shards, rejects or drops
    entry: RowFile


class _Checked(NamedTuple):
    task: _Task
    problem: str
    counts: Counter[str]


@dataclass(frozen=True)
class _Job:
    """The data that a process needs to check files. Without a vocabulary, the ids of rows cannot be checked."""

    directory: str
    config: CorpusConfig | PairsConfig | None
    special: row_checks.SpecialPieces | None
    origins: int = 0

    def __call__(self, task: _Task) -> _Checked:
        try:
            with fetched(self.directory, task.entry) as path:
                return _Checked(task, "", self._laws(task, path))
        except CheckFailed as broken:
            return _Checked(task, str(broken), Counter())

    def _laws(self, task: _Task, path: Path) -> Counter[str]:
        entry = task.entry
        if task.group != "shards":
            return lists.check(path, entry, task.group)
        if isinstance(self.config, CorpusConfig):
            return documents.check(path, entry, self.config)
        if isinstance(self.config, PairsConfig) and self.special is not None:
            return pairs.check(path, entry, self.config, self.special, self.origins)
        return Counter()  # for an export, a broken vocabulary or an unknown option, only the digest can be checked


def verify(directory: str | Path, *, workers: int | None = None, progress: Callable[[int, int], None] | None = None) -> Result:
    """Read and check a complete dataset. `progress` gets the bytes done and the total.

    `workers` is the number of processes; by default one per usable CPU, or fewer for little input. Raise NoInputError or
    UsageError if there is no dataset that this version can read, and StorageError if the disk or the store fails.
    """
    directory = to_path(str(directory))
    with steady(directory):
        try:
            contents = manifest.read(directory)
        except VerificationError as error:
            problem = str(error).removeprefix(str(directory / manifest.NAME)).lstrip(": ")
            return Result("", 1, 0, 0, [Problem(manifest.NAME, problem)], [])
        problems, notes = compare(directory, contents)
        return _Whole(directory, manifest.parse(directory, manifest.read_bytes(directory)), contents, problems, notes).check(
            workers, progress or (lambda done, of: None)
        )


@dataclass
class _Whole:
    """A dataset under check. `problems` has the first problem of each file. `stored` is its manifest as JSON."""

    directory: Path
    stored: dict[str, object]
    manifest: Manifest
    problems: dict[str, str]
    notes: list[str]

    def check(self, workers: int | None, progress: Callable[[int, int], None]) -> Result:
        contents = self.manifest
        self._check_text()
        known = self._check_options()
        files: Sequence[File] = getattr(contents, "files", ())
        intact = {entry.name for entry in files if self._digest(entry)}
        special = None
        if known and isinstance(contents, VocabManifest | PairsManifest):
            special, problems = vocabulary.check(self.directory, intact, contents)
            self.problems |= problems
        config = contents.settings if known and isinstance(contents, ReadableManifest) else None
        rows = contents if isinstance(contents, PairsManifest) else None
        job = _Job(str(self.directory), config, special, len(rows.origins or ()) if rows else 0)
        tasks = [_Task(group, entry) for group in ("shards", "rejects", "drops") for entry in getattr(contents, group, ())]
        tasks = [task for task in tasks if task.entry.name not in self.problems]
        total, done = sum(task.entry.bytes for task in tasks), 0
        checked_files = []
        count = _processes(self.directory, workers, len(tasks), total)
        for checked in _over_processes(job, tasks, count, self.notes.append):
            checked_files.append(checked)
            done += checked.task.entry.bytes
            progress(done, total)
            if checked.problem:
                self.problems[checked.task.entry.name] = checked.problem
        if not self.problems:
            for problem in self._sums(checked_files):
                self.problems.setdefault(manifest.NAME, problem)
        order = {entry.name: number for number, entry in enumerate(contents.listed, 1)}
        found = [Problem(*item) for item in sorted(self.problems.items(), key=lambda item: (order.get(item[0], 0), item[0]))]
        listed = [*files, *([contents.card] if contents.card else [])]
        size = done + sum(entry.bytes for entry in listed)
        return Result(contents.kind, 1 + len(checked_files) + len(listed), contents.rows, size, found, self.notes)

    def _check_text(self) -> None:
        """Check the bytes of the manifest and the data card."""
        if (self.directory / manifest.NAME).read_bytes() != json_text(self.stored).encode("utf-8"):
            self.problems.setdefault(manifest.NAME, "has the original contents, but not the original bytes")
        for entry in [self.manifest.card] if self.manifest.card else []:
            self._digest(entry)

    def _digest(self, entry: File) -> bool:
        """Check the digest of a file that has the right size. Return True if it matches."""
        if entry.name not in self.problems:
            try:
                with fetched(str(self.directory), entry):
                    return True
            except CheckFailed as broken:
                self.problems[entry.name] = str(broken)
        return False

    def _check_options(self) -> bool:
        """Return True if all options are known. An unknown option may describe rows that these rules do not cover."""
        known = {field.name for field in dataclasses.fields(CONFIGS[self.manifest.kind])}
        if unknown := sorted(self.manifest.config.keys() - known):
            self.problems[manifest.NAME] = (
                f"has an option that this bertdata does not know: config.{ascii(unknown[0])[1:-1][:100]}"
            )
        return not unknown

    def _sums(self, checked_files: list[_Checked]) -> Iterator[str]:
        """Check the manifest's counts. A manifest with a valid digest may still be one that no command writes."""
        by_group: dict[str, Counter[str]] = {group: Counter() for group in ("shards", "rejects", "drops")}
        splits: dict[str, Counter[str]] = {split: Counter() for split in getattr(self.manifest, "splits", ())}
        for checked in checked_files:
            by_group[checked.task.group].update(checked.counts)
            if splits and checked.task.group == "shards":
                split = splits[checked.task.entry.name.removeprefix("data/").partition("-")[0]]
                split.update(checked.counts, shards=1)
        yield from counts.stages(self.manifest)
        if isinstance(self.manifest, CorpusManifest):
            yield from counts.documents(self.manifest, *by_group.values())
        elif isinstance(self.manifest, ExportManifest):
            yield from counts.export(self.manifest)
        elif isinstance(self.manifest, PairsManifest):
            yield from counts.pairs(self.manifest, splits)


def _processes(directory: Path, wanted: int | None, tasks: int, total: int) -> int:
    """Return the number of worker processes, or 1 if the data is in this process' memory."""
    return worker_count(max(1, min(tasks, min(cores(), 1 + total // _BYTES_PER_WORKER) if wanted is None else wanted)), tasks)


def _over_processes(job: _Job, tasks: list[_Task], workers: int, warn: Callable[[str], object]) -> Iterator[_Checked]:
    """Yield the result of each file as soon as it is checked."""
    if workers == 1:
        yield from map(job, tasks)
        return
    with Pool(workers, warn=warn) as pool:
        yield from pool.each(job, sorted(tasks, key=lambda task: -task.entry.bytes))

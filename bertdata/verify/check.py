"""Check a data set: its manifest, its vocabulary, every file over some processes, and the sums of it all."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .. import manifest
from ..config import FORMATS, PairsConfig, VocabConfig
from ..errors import BertDataError, UsageError, VerificationError
from ..files import is_private, json_text
from ..process import cores
from . import documents, lists, pairs, rows, sums, vocabulary
from .files import Broken, compare, fetched

__all__ = ["Problem", "Result", "verify"]

_EACH = 128 << 20  # bytes that make one more process worth its start, where nobody says how many


class Problem(NamedTuple):
    """A file that is not as it was written, or cannot be right, and what is wrong with it."""

    name: str
    what: str


class Result(NamedTuple):
    """What was read, what is wrong, and notes on what could not be told or does no harm."""

    kind: str
    files: int
    rows: int
    bytes: int
    problems: list[Problem]
    notes: list[str]


class _Task(NamedTuple):
    group: str  # shards, rejects, drops
    entry: dict[str, Any]


class _Checked(NamedTuple):
    task: _Task
    problem: str
    found: Counter[str]


@dataclass(frozen=True)
class _Job:
    """What a process needs to check files; without a vocabulary the ids of pairs can't be checked."""

    directory: str
    kind: str
    config: dict[str, Any]
    pieces: list[str] | None

    @cached_property
    def _special(self) -> rows.Special | None:
        return rows.special(self.pieces) if self.pieces else None

    def __call__(self, task: _Task) -> _Checked:
        try:
            with fetched(self.directory, task.entry) as path:
                return _Checked(task, "", self._laws(task, path))
        except Broken as broken:
            return _Checked(task, str(broken), Counter())

    def _laws(self, task: _Task, path: Path) -> Counter[str]:
        if task.group != "shards":
            return lists.check(path, task.entry, task.group)
        if self.kind == "documents":
            return documents.check(path, task.entry, self.config)
        if self._special is None:
            return Counter()  # of a broken vocabulary or configuration: its digest is all that can be checked
        return pairs.check(path, task.entry, PairsConfig(**self.config), self._special)


def verify(directory: Path, *, workers: int | None = None, progress: Callable[[int, int], None] | None = None) -> Result:
    """Read all of a data set; `progress` is told how many bytes are done, and of how many.

    `workers` processes read files: by default one a core, or fewer where there is little to read.  Raise NoInputError or
    UsageError where there is no data set that this bertdata reads, StorageError where the disk or the store fails.
    """
    try:
        made = manifest.read(directory)
    except VerificationError as error:
        told = str(error).removeprefix(str(directory / manifest.NAME)).lstrip(": ")
        return Result("", 1, 0, 0, [Problem(manifest.NAME, told)], [])
    problems, notes = compare(directory, made)
    return _Whole(directory, made, problems, notes).check(workers, progress or (lambda done, of: None))


@dataclass
class _Whole:
    """A data set under check: `problems` by file, the first that is found of each."""

    directory: Path
    made: dict[str, Any]
    problems: dict[str, str]
    notes: list[str]

    def check(self, workers: int | None, progress: Callable[[int, int], None]) -> Result:
        made = self.made
        self._check_text()
        known = self._check_config()
        pieces = self._vocabulary() if known and made["kind"] != "documents" else None
        job = _Job(str(self.directory), made["kind"] if known else "", made["config"], pieces)
        tasks = [_Task(group, entry) for group in ("shards", "rejects", "drops") for entry in made.get(group, [])]
        tasks = [task for task in tasks if task.entry["name"] not in self.problems]
        total, done = sum(task.entry["bytes"] for task in tasks), 0
        found = []
        for checked in _over_processes(job, tasks, _processes(self.directory, workers, len(tasks), total)):
            found.append(checked)
            done += checked.task.entry["bytes"]
            progress(done, total)
            if checked.problem:
                self.problems[checked.task.entry["name"]] = checked.problem
        if not self.problems:
            self._check_sums(found)
        order = {entry["name"]: number for number, entry in enumerate(manifest.listed(made), 1)}
        problems = [Problem(*item) for item in sorted(self.problems.items(), key=lambda item: (order.get(item[0], 0), item[0]))]
        others = [*made.get("files", []), *([made["card"]] if "card" in made else [])]
        size = done + sum(entry["bytes"] for entry in others)
        return Result(made["kind"], 1 + len(found) + len(others), made["rows"], size, problems, self.notes)

    def _check_text(self) -> None:
        """Check the bytes of the manifest and of the card."""
        made, where = self.made, self.directory / manifest.NAME
        if "sha256" not in made:
            self.notes.append(f"{where} holds no digest of itself, as those of older versions: its counts were checked, not it")
        elif where.read_bytes() != json_text(made).encode("utf-8"):
            self.problems.setdefault(manifest.NAME, "says what it said when it was written, but in other bytes")
        if "card" not in made and made["kind"] != "vocabulary":
            self.notes.append(f"{self.directory / manifest.CARD} was not checked: the manifest is of an older version")
        elif "card" in made:
            self._digest(made["card"])

    def _digest(self, entry: dict[str, Any]) -> bool:
        """Check the digest of a file that has the right size; tell whether it is right."""
        if entry["name"] not in self.problems:
            try:
                with fetched(str(self.directory), entry):
                    return True
            except Broken as broken:
                self.problems[entry["name"]] = str(broken)
        return False

    def _check_config(self) -> bool:
        """Tell whether the kind is one that is known, and the configuration one that its command has."""
        kind, config = self.made["kind"], self.made["config"]
        try:
            if kind == "pairs":
                PairsConfig(**config)
            elif kind == "vocabulary":
                VocabConfig(**config)
            elif kind != "documents":
                raise UsageError(f"kind {kind!r}")
            elif config.get("format") not in FORMATS:
                raise UsageError(f"format {config.get('format')!r}")
        except (UsageError, TypeError) as error:
            self.problems[manifest.NAME] = f"has a kind or a configuration that can't be: {error}"
            return False
        return True

    def _vocabulary(self) -> list[str] | None:
        """Check the files of the vocabulary; return its pieces, if they can be read."""
        entries = {entry["name"]: entry for entry in self.made.get("files", [])}
        if sorted(entries) != sorted(vocabulary.FILES):
            self.problems[manifest.NAME] = f"does not name {', '.join(vocabulary.FILES)}"
            return None
        found, problems = vocabulary.check(self.directory, {n for n, entry in entries.items() if self._digest(entry)}, self.made)
        self.problems |= problems
        return found.pieces if found else None

    def _check_sums(self, found: list[_Checked]) -> None:
        """Check what the manifest counts; a manifest of right digest may still not be one that a command writes."""
        try:
            for problem in self._sums(found):
                self.problems.setdefault(manifest.NAME, problem)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            self.problems[manifest.NAME] = f"is not as one of {self.made['kind']} is: {type(error).__name__} {error}"

    def _sums(self, found: list[_Checked]) -> Iterator[str]:
        by_group: dict[str, Counter[str]] = {group: Counter() for group in ("shards", "rejects", "drops")}
        splits: dict[str, Counter[str]] = {split: Counter() for split in self.made.get("splits", ())}
        for checked in found:
            by_group[checked.task.group].update(checked.found)
            if splits and checked.task.group == "shards":
                splits[checked.task.entry["name"].removeprefix("data/").partition("-")[0]].update(checked.found)
        yield from sums.stages(self.made)
        if self.made["kind"] == "documents":
            yield from sums.documents(self.made, *by_group.values())
        elif self.made["kind"] == "pairs":
            yield from sums.pairs(self.made, splits, PairsConfig(**self.made["config"]))


def _processes(directory: Path, wanted: int | None, tasks: int, total: int) -> int:
    """Return how many processes read; one where the data is in the memory of this one."""
    if is_private(directory):
        return 1
    return max(1, min(tasks, min(cores(), 1 + total // _EACH) if wanted is None else wanted))


def _over_processes(job: _Job, tasks: list[_Task], workers: int) -> Iterator[_Checked]:
    """Yield what is found of each file, as it is found."""
    if workers == 1:
        yield from map(job, tasks)
        return
    context = multiprocessing.get_context("spawn")  # no thread of this process is copied half-way
    pool = ProcessPoolExecutor(workers, context, _begin, (job,))
    try:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # for good in the processes that begin here
        try:
            futures = [pool.submit(_perform, task) for task in sorted(tasks, key=lambda task: -task.entry["bytes"])]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        raise BertDataError(
            f"a process that read {job.directory} died (is there too little memory?): run it again with --workers 1"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_job: _Job  # of this process, where it is one of the pool


def _begin(job: _Job) -> None:
    """Set up a process of the pool: it ends with the one that started it, which alone hears Ctrl-C."""
    global _job
    _job = job
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _perform(task: _Task) -> _Checked:
    return _job(task)

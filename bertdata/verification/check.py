"""Check a dataset: its manifest, its vocabulary, every file in parallel processes, and all counts."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from ..config import CorpusConfig
from ..dataset import manifest
from ..dataset.manifest import NAME, steady
from ..dataset.manifest_records import RowFile
from ..dataset.manifest_types import CorpusManifest, Manifest, PairsManifest, VocabManifest
from ..dataset.stored_vocabulary import read_vocabulary
from ..errors import VerificationError
from ..storage.files import json_text, to_path
from ..storage.process import worker_count
from ..storage.workers import Pool
from . import documents, sums
from .files import CheckFailed, check_list, compare, fetched
from .rows import RowRules

_BYTES_PER_WORKER = 64 << 20  # by default: read in about a second, which is worth a process start
_TOKENIZER = "tokenizer.json"
_GROUPS = ("shards", "rejects", "drops")


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
    file: RowFile


class _Checked(NamedTuple):
    task: _Task
    problem: str
    counts: Counter[str]


@dataclass(frozen=True)
class _CheckFile:
    """Check a file: its digest, and the rules for its contents. Without rules, as for an export, only the digest."""

    directory: str
    rules: CorpusConfig | RowRules | None

    def __call__(self, task: _Task) -> _Checked:
        counts: Counter[str] = Counter()
        try:
            with fetched(self.directory, task.file) as path:
                if task.group != "shards":
                    counts = check_list(path, task.file, task.group)
                elif isinstance(self.rules, RowRules):
                    counts = self.rules.check(path, task.file)
                elif self.rules:
                    counts = documents.check(path, task.file, self.rules)
        except CheckFailed as failed:
            return _Checked(task, str(failed), Counter())
        return _Checked(task, "", counts)


def verify(directory: str | Path, *, workers: int | None = None, progress: Callable[[int, int], None] | None = None) -> Result:
    """Read and check a complete dataset. `progress` gets the bytes done and the total.

    `workers` is the number of processes; by default one per usable CPU, or fewer for little input. Raise NoInputError or
    UsageError if this version can read no dataset there, and StorageError if the disk or the store fails.
    """
    directory = to_path(str(directory))
    with steady(directory):
        data = manifest.read_bytes(directory)
        try:
            contents = manifest.read(directory)
        except VerificationError as error:
            problem = str(error).removeprefix(str(directory / NAME)).lstrip(": ")
            return Result("", 1, 0, 0, [Problem(NAME, problem)], [])
        problems, notes = compare(directory, contents)
        if data != json_text(json.loads(data)).encode("utf-8"):
            problems.setdefault(NAME, "has the original contents, but not the original bytes")
        return _check(directory, contents, problems, notes, workers, progress or (lambda done, total: None))


def _check(
    directory: Path,
    contents: Manifest,
    problems: dict[str, str],
    notes: list[str],
    workers: int | None,
    progress: Callable[[int, int], None],
) -> Result:
    """Check the files of a dataset. `problems` has the first problem of each file."""
    small = [*getattr(contents, "files", ()), *([contents.card] if contents.card else [])]
    for file in (file for file in small if file.name not in problems):
        try:
            with fetched(str(directory), file):
                pass
        except CheckFailed as failed:
            problems[file.name] = str(failed)
    rules = _rules(directory, contents, problems)
    tasks = [_Task(group, file) for group in _GROUPS for file in getattr(contents, group, ()) if file.name not in problems]
    total, done, results = sum(task.file.bytes for task in tasks), 0, list[_Checked]()
    check, workers = _CheckFile(str(directory), rules), min(len(tasks), worker_count(workers, 1 + total // _BYTES_PER_WORKER))
    with Pool(workers, warn=notes.append) if workers > 1 else contextlib.nullcontext() as pool:
        for result in pool.each(check, sorted(tasks, key=lambda task: -task.file.bytes)) if pool else map(check, tasks):
            results.append(result)
            done += result.task.file.bytes
            progress(done, total)
            if result.problem:
                problems[result.task.file.name] = result.problem
    if not problems:
        groups: dict[str, Counter[str]] = {group: Counter() for group in _GROUPS}
        splits: dict[str, Counter[str]] = {split: Counter() for split in getattr(contents, "splits", ())}
        for result in results:
            groups[result.task.group].update(result.counts)
            if (split := sums.split_of(result.task.file.name)) in splits:
                splits[split].update(result.counts)
        for problem in sums.check(contents, groups, splits):
            problems.setdefault(NAME, problem)
    order = {file.name: number for number, file in enumerate(contents.listed, 1)}
    found = [Problem(*item) for item in sorted(problems.items(), key=lambda item: (order.get(item[0], 0), item[0]))]
    size = done + sum(file.bytes for file in small)
    return Result(contents.kind, 1 + len(results) + len(small), contents.rows, size, found, notes)


def _rules(directory: Path, contents: Manifest, problems: dict[str, str]) -> CorpusConfig | RowRules | None:
    """Return the rules for the shards, after checking the vocabulary. Rows cannot be checked with a damaged vocabulary."""
    if isinstance(contents, CorpusManifest):
        return contents.settings
    if not isinstance(contents, PairsManifest | VocabManifest) or any(file.name in problems for file in contents.files):
        return None
    try:
        tokens, special = read_vocabulary(directory, contents)
        tokenizer = Tokenizer.from_str((directory / _TOKENIZER).read_bytes().decode())
    except Exception as error:  # `tokenizers` has no narrower class
        problems[_TOKENIZER] = f"is not a tokenizer: {' '.join(str(error).split())}"
        return None
    if tokenizer.get_vocab_size() != len([token for token in tokens if token]):
        problems[_TOKENIZER] = f"has {tokenizer.get_vocab_size():,} tokens, but {len(tokens):,} in the manifest"
    return RowRules.of(contents, special) if isinstance(contents, PairsManifest) else None

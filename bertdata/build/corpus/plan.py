"""Cut dumps, books and other text into tasks of about equal size, and plan the checks that files beside them allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from ...config import CorpusConfig
from ...config.base import format_packages
from ...config.inputs import INPUTS
from ...errors import NoInputError
from ...io.files import to_path
from ...io.storage import storage_errors
from ...records import FileRange, Task
from ...sources import dumps
from ...text import sentences
from . import trial
from .sources import in_order, is_check, source

__all__ = ["CorpusPlan", "own_splitters", "packages", "plan"]

_FEW, _MANY = 64, 40_000  # tasks that an input gives at least, if each then has _LEAST bytes, and at the most
_LEAST, _MEANT = 2 << 20, 16 << 20  # bytes of a task: of small inputs, and of all but the largest


class CorpusPlan(NamedTuple):
    """What a run will do.

    Attributes:
        tasks: The tasks in order. Those that check files are last.
        inputs: What the manifest says of each input file.
        ignored: How many files no source reads, by kind of input and suffix.
    """

    tasks: list[Task]
    inputs: list[dict[str, Any]]
    ignored: dict[str, dict[str, int]] = {}

    @property
    def shards(self) -> int:
        """How many of the tasks write a shard."""
        return sum(not is_check(task.kind) for task in self.tasks)


def plan(config: CorpusConfig, sources: dict[str, list[tuple[str, str]]]) -> CorpusPlan:
    """Cut the input files, (name, path) by kind, into tasks of about `task_bytes`; the order given does not matter."""
    target = config.task_bytes or _target(sources)
    groups: list[tuple[str, list[FileRange]]] = []
    checks: list[tuple[str, list[FileRange]]] = []
    inputs: list[dict[str, Any]] = []
    for kind in in_order(sources):
        files = [_parts(kind, name, path, target, config) for name, path in sorted(sources[kind])]
        for parts in files:
            entry = _describe(kind, parts, config)
            for check in source(kind).checks(parts):
                entry |= check.entry
                checks.append((check.kind, check.parts))
            inputs.append(entry)
        whole = (
            _group(chain.from_iterable(files), target) if source(kind).grouped else ([p] for of_file in files for p in of_file)
        )
        groups += [(kind, group) for group in whole]
    if not inputs:
        raise NoInputError(f"nothing to read: give {', '.join(f'`{name}`' for name in INPUTS)} or `read`")
    config.choice.check(dict.fromkeys(kind for kind, _ in groups))
    if config.max_documents:
        groups, checks = trial.limit(groups, config.max_documents), []  # a trial does not read whole files to check them
    return CorpusPlan([Task(index, kind, tuple(parts)) for index, (kind, parts) in enumerate(groups + checks)], inputs)


def packages(config: CorpusConfig) -> tuple[str, ...]:
    """Return the packages whose versions decide the bytes of a corpus."""
    names = (*sentences.packages(config.sentence_splitter), *format_packages(config.format))
    if config.choice.dedup == "near":
        from ..selection import minhash

        names += minhash.packages()
    return names


def own_splitters(config: CorpusConfig) -> tuple[str, ...]:
    """Return the sentence splitters that are functions of the user's, ``module:function``."""
    return sentences.own_functions(config.sentence_splitter)


def _target(sources: dict[str, list[tuple[str, str]]]) -> int:
    """Return how many bytes a task has: so few that workers end at about the same time, so many that few files are made."""
    total = 0
    for kind, files in sources.items():
        for _, path in files:
            with storage_errors(f"cannot read {path}"):
                total += to_path(path).stat().st_size // (4 if kind == "wikipedia" and path.lower().endswith(".xml") else 1)
    return max(min(max(total // _FEW, _LEAST), _MEANT), total // _MANY)


def _parts(kind: str, name: str, path: str, target: int, config: CorpusConfig) -> list[FileRange]:
    with storage_errors(f"cannot read {path}"):
        ranges = source(kind).ranges(path, to_path(path).stat().st_size, target, config)
    return [FileRange(name, path, start, end) for start, end in ranges or [(0, 0)]]


def _describe(kind: str, parts: list[FileRange], config: CorpusConfig) -> dict[str, Any]:
    """Return what the manifest says of a file before it is read."""
    name, end, licence = parts[0].name, parts[-1].end, source(kind).licence
    date = dumps.dump_date(name)
    entry = {"name": name, "source": kind, "bytes": end, "pieces": len(parts), "licence": licence}
    entry |= source(kind).describe(parts, config)
    return {**entry, "date": date} if date else entry


def _group(parts: Iterable[FileRange], target: int) -> Iterator[list[FileRange]]:
    """Put small files together."""
    group: list[FileRange] = []
    size = 0
    for part in parts:
        if group and size + part.end - part.start > target:
            yield group
            group, size = [], 0
        group.append(part)
        size += part.end - part.start
    if group:
        yield group

"""Split dumps, books and other text into tasks of about equal size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from ...config import CorpusConfig
from ...config.input_kinds import INPUTS, PROJECTS
from ...dataset.manifest_records import Input
from ...errors import NoInputError
from ...records import FileRange, Task
from ...sources import dumps, rendered
from ...storage.files import to_path
from ...storage.problems import storage_errors
from ...text import sentences
from .sources import in_order, source

# A run has at least _MIN_TASKS tasks, unless they would be smaller than _MIN_TASK_BYTES, and not many more than _MAX_TASKS.
_MIN_TASKS = 64
_MAX_TASKS = 40_000
_MIN_TASK_BYTES = 2 << 20
_USUAL_TASK_BYTES = 16 << 20  # size of most tasks


class CorpusPlan(NamedTuple):
    """The planned work of a run.

    Attributes:
        tasks: The tasks in order. Each writes a shard.
        inputs: The manifest entry of each input file.
        ignored: Number of files that are skipped, by kind of input and suffix. `plan` leaves it empty: its caller fills it in.
    """

    tasks: list[Task]
    inputs: list[Input]
    ignored: dict[str, dict[str, int]] = {}


def plan(config: CorpusConfig, sources: dict[str, list[tuple[str, str]]]) -> CorpusPlan:
    """Split the input files, (name, path) by kind, into tasks of about `task_bytes`. The order of the files does not matter."""
    # Files are cut into ranges, and small ranges are grouped, so that all tasks take about equally
    # long. The plan depends only on the names and bytes of the files: the same input makes the same
    # shards on any machine.
    sources = _by_project(sources)
    target = config.task_bytes or _target(sources)
    tasks: list[Task] = []  # numbered at the end
    inputs: list[Input] = []
    for kind in in_order(sources):
        files = [_ranges(kind, name, path, target, config) for name, path in sorted(sources[kind])]
        for ranges in files:
            inputs.append(_entry(kind, ranges, source(kind).describe(ranges)))
        every_range = chain.from_iterable(files)
        of_kind = _group(every_range, target, source(kind).grouped)
        tasks += [Task(0, kind, tuple(group)) for group in of_kind]
    if not inputs:
        raise NoInputError(f"nothing to read. Pass {' or '.join(f'`{name}`' for name in INPUTS)}")
    # `mix` and `max_words` must name these sources.
    config.choice.check(dict.fromkeys(task.kind for task in tasks))
    if config.max_documents:
        tasks = [task for number, task in enumerate(tasks) if quota(number, len(tasks), config.max_documents)]
    return CorpusPlan([task._replace(number=number) for number, task in enumerate(tasks)], inputs)


def quota(number: int, tasks: int, max_documents: int) -> int:
    """Return the maximum number of documents of a task in a quick trial, which reads only the beginning of each task.

    >>> [quota(number, 4, 10) for number in range(4)]
    [2, 3, 2, 3]
    """
    return max_documents * (number + 1) // tasks - max_documents * number // tasks


def packages(config: CorpusConfig) -> tuple[str, ...]:
    """Return the packages whose versions affect the bytes of a corpus."""
    sentences.splitter(config.sentence_splitter)  # raises UsageError for a name that cannot be right
    names: tuple[str, ...] = ("charset-normalizer", "py3langid", config.sentence_splitter.partition(":")[0])
    if config.choice.dedup == "near":
        from ..selection import minhash

        names += minhash.packages()
    return names


def _by_project(sources: dict[str, list[tuple[str, str]]]) -> dict[str, list[tuple[str, str]]]:
    """Split the dumps into one kind of input per project."""
    found = {kind: files for kind, files in sources.items() if not kind.startswith("wikipedia")}
    for reader, kind in ((dumps, "wikipedia"), (rendered, "wikipedia_html")):
        for name, path in sources.get(kind, ()):
            with storage_errors(f"cannot read {path}"):
                found.setdefault(reader.read_site(path).project, []).append((name, path))
    return found


def _target(sources: dict[str, list[tuple[str, str]]]) -> int:
    """Return the task size in bytes.

    Small tasks let all workers finish at about the same time. Large tasks limit the number of files.
    """
    total = 0
    for kind, files in sources.items():
        for _, path in files:
            with storage_errors(f"cannot read {path}"):
                total += to_path(path).stat().st_size // (4 if kind in PROJECTS and path.lower().endswith(".xml") else 1)
    return max(min(max(total // _MIN_TASKS, _MIN_TASK_BYTES), _USUAL_TASK_BYTES), total // _MAX_TASKS)


def _ranges(kind: str, name: str, path: str, target: int, config: CorpusConfig) -> list[FileRange]:
    with storage_errors(f"cannot read {path}"):
        ranges = source(kind).ranges(path, to_path(path).stat().st_size, target, config)
    return [FileRange(name, path, start, end) for start, end in ranges or [(0, 0)]]


def _entry(kind: str, parts: list[FileRange], details: dict[str, str]) -> Input:
    """Return the manifest entry of a file before it is read."""
    size, licence, date = parts[-1].end, source(kind).licence, dumps.dump_date(parts[0].name)
    return Input(name=parts[0].name, source=kind, bytes=size, pieces=len(parts), licence=licence, date=date or "", **details)


def _group(parts: Iterable[FileRange], target: int, grouped: bool) -> Iterator[list[FileRange]]:
    """Group consecutive file ranges up to `target` bytes. Without `grouped`, only rendered pages are, which are small files."""
    group: list[FileRange] = []
    size = 0
    for part in parts:
        joins = grouped or (bool(group) and all(map(_is_small, (group[-1], part))))
        if group and (not joins or size + part.end - part.start > target):
            yield group
            group, size = [], 0
        group.append(part)
        size += part.end - part.start
    if group:
        yield group


def _is_small(part: FileRange) -> bool:
    """Return True for files of rendered pages, but not for a piece of a large archive."""
    return rendered.is_rendered(part.name) and not rendered.is_piece(part)

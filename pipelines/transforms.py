"""The steps all three pipelines share: spread tasks over workers, do each once, gather what they report."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
from apache_beam.transforms.combiners import ToListCombineFn

from bertdata.dataset import manifest
from bertdata.dataset.handed import Handed, TaskRange, ranges, write_tasks
from bertdata.dataset.run import check_begun, perform, tidy
from bertdata.dataset.staging import commit as committing
from bertdata.errors import UsageError, VerificationError
from bertdata.io.fence import fenced, token
from bertdata.io.files import is_local, to_path
from bertdata.io.storage import storage_errors
from bertdata.records import Report, Task

__all__ = ["Chain", "CommitStep", "TOGETHER", "Gather", "Perform", "Tasks", "Writing"]

Work = Callable[[Task], dict[str, Any]]
TOGETHER = 1000  # reports that one worker adds up: of 1 kB, or 25 kB where tasks name many templates


class Chain(beam.PTransform):
    """A chain of steps that builds in `root`: its tasks, and other values that its steps need, lie in files there.

    So what is submitted does not grow with the input.
    """

    def __init__(self, root: Path, tasks: Sequence[Task]) -> None:
        super().__init__()
        self._root, self._tasks = root, tasks
        self._values: list[tuple[Handed, Any]] = []

    def _hand(self, name: str, value: Any) -> Handed:
        """Return where workers find a value of JSON, once `hand_over` has written it."""
        handed = Handed.of(self._root, name, value)
        self._values.append((handed, value))
        return handed

    def hand_over(self) -> None:
        """Write what workers read, before the chain runs."""
        write_tasks(self._root, self._tasks)
        for handed, value in self._values:
            handed.write(value)


def _values(group: tuple[int, Iterable[Task]]) -> Iterable[Task]:
    return group[1]


class Tasks(beam.PTransform):
    """Expand ranges of the file of tasks, and spread the tasks: without the GroupByKey an engine fuses it all into one worker."""

    def __init__(self, root: Path, tasks: Sequence[Task]) -> None:
        super().__init__()
        self._runs, self._root, self._ranges = Runs(root), str(root), ranges(tasks)

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        return (
            begin
            | "Create" >> beam.Create(self._ranges, reshuffle=False)
            | "Expand" >> beam.FlatMap(_expand, self._root, self._runs)
            | "Spread" >> beam.GroupByKey()
            | "Unpack" >> beam.FlatMap(_values)
        )


def _expand(range: TaskRange, root: str, runs: Runs) -> list[tuple[int, Task]]:
    """Read the tasks of a range, each under its number."""
    with runs.entered():
        return [(task.number, task) for task in range.tasks(root)]


class Runs:
    """The runs that build in these directories: a step writes there only where it sees them, and as long as they continue."""

    def __init__(self, *roots: Path) -> None:
        # A run that is only looked at has no token yet; on a disk each run writes in a directory of its own.
        self._tokens = [(str(root), "" if is_local(root) else token(root)) for root in roots]

    @contextlib.contextmanager
    def entered(self, *, begun: bool = True) -> Iterator[None]:
        """Raise StorageError where this host does not see a run, unless `begun` is False, OutputLockedError where it is over."""
        with fenced(*((to_path(root), known) for root, known in self._tokens if known)):
            for root, known in self._tokens if begun else ():
                if not known:
                    check_begun(to_path(root))
            yield


class Writing:
    """Call a function that writes below these directories for an element."""

    def __init__(self, function: Callable[[Any], Any], *roots: Path) -> None:
        self._function, self._runs = function, Runs(*roots)

    def __call__(self, element: Any) -> Any:
        with self._runs.entered():
            result = self._function(element)
            return list(result) if isinstance(result, Iterator) else result


class Perform(beam.DoFn):
    """Do each task, or take its report where it was done before.

    Raise UsageError where a worker has other versions than the driver of what every run needs, or of `packages`.
    """

    def __init__(self, root: Path, step: str, work: Work, packages: Sequence[str] = ()) -> None:
        self._root, self._step, self._work = str(root), step, work
        self._runs = Runs(root)
        self._packages, self._versions = tuple(packages), manifest.versions(packages)

    def process(self, task: Task) -> Iterable[Report]:
        _check_versions(self._packages, self._versions)
        # The path differs between machines and the digest of the input is checked, so it is no part of the task's identity.
        identity = [task.kind, *task.names()]
        with self._runs.entered():
            report = perform(to_path(self._root), self._step, task.number, identity, lambda: self._work(task), task.paths())
        yield Report(task.number, json.dumps(report))


@cache
def _own_versions(packages: tuple[str, ...]) -> dict[str, str]:
    return manifest.versions(packages)


def _check_versions(packages: tuple[str, ...], driver: dict[str, str]) -> None:
    """Raise UsageError on a host where something else is installed than where the command runs: it might write other bytes."""
    own = _own_versions(packages)
    if other := [f"{name} {own[name]}, not {version}" for name, version in driver.items() if own[name] != version]:
        raise UsageError(
            f"a worker on {os.uname().nodename} has {'; '.join(other)} as where this command runs: install the same versions on "
            "all hosts, then run the same command again"
        )


class CommitStep(Protocol):
    """What ends a pipeline: `roots` are the directories it commits, by writing their manifests.

    `add_up` gets the reports of some tasks that follow one another, and returns their sum, which does not grow with their
    number, and what has to be kept of each of them.  The call gets all sums and, in order of tasks, all that was kept.
    """

    def roots(self) -> list[Path]: ...

    def add_up(self, reports: list[Any]) -> tuple[Any, list[Any]]: ...

    def __call__(self, sums: list[Any], entries: Iterable[Any], /) -> None: ...


class Gather(beam.PTransform):
    """Add up the reports of `count` tasks, and gather the sums into one call of `commit`, the only leaf of a pipeline.

    It is a tree of two levels: a worker adds up the reports of `TOGETHER` tasks that follow one another, so that no sum depends
    on how an engine groups them, and leaves what is kept of each in a file.  The last step gets a sum for each such file.
    """

    def __init__(self, commit: CommitStep, count: int) -> None:
        super().__init__()
        self._commit, self._count = commit, count
        self._runs = Runs(*commit.roots())

    def expand(self, reports: beam.PCollection) -> beam.PCollection:
        roots = self._commit.roots()
        return (
            reports
            | "Together" >> beam.Map(_together)
            | "By sum" >> beam.GroupByKey()
            | "Add up" >> beam.Map(Writing(AddUp(self._commit, self._count), *roots))
            | "Gather" >> beam.CombineGlobally(ToListCombineFn()).without_defaults()
            | "Commit" >> beam.Map(_commit_once, self._commit, self._runs, self._count)
        )


def _together(report: Report) -> tuple[int, Report]:
    return report.number // TOGETHER, report


class AddUp:
    """Add up the reports of some tasks, of `count` in all; what is kept of each goes to a file."""

    def __init__(self, commit: CommitStep, count: int) -> None:
        self._commit, self._count = commit, count

    def __call__(self, group: tuple[int, Iterable[Report]]) -> Report:
        number, reports = group
        wanted = range(number * TOGETHER, min((number + 1) * TOGETHER, self._count))
        total, entries = self._commit.add_up(_in_order(reports, wanted))
        kept = Handed.of(self._commit.roots()[0], f"kept-{number:05d}", entries)
        kept.write(entries)
        return Report(number, json.dumps([total, kept]))


class Entries:
    """What was kept of all reports, in order of tasks: each iteration reads the files again, one at a time."""

    def __init__(self, files: list[Handed]) -> None:
        self._files = files

    def __iter__(self) -> Iterator[Any]:
        for file in self._files:
            yield from file.read_once()


@storage_errors()
def _commit_once(reports: list[Report], commit: CommitStep, runs: Runs, count: int) -> None:
    """Commit, unless that was done before: an engine may call twice, and by then the work files are gone."""
    sums = [(total, Handed(*kept)) for total, kept in _in_order(reports, range(-(-count // TOGETHER)))]
    roots = commit.roots()
    with runs.entered(begun=False), contextlib.ExitStack() as stack:
        to_do = [stack.enter_context(committing(root)) for root in roots]
        if any(to_do):
            for root in roots:
                check_begun(root)
            commit([total for total, _ in sums], Entries([kept for _, kept in sums]))
    for root in roots:
        tidy(root)


def _in_order(reports: Iterable[Report], numbers: range) -> list[Any]:
    """Sort reports by number, each once: an engine may have done a task twice; raise VerificationError if it has lost one."""
    once = {report.number: report.body for report in reports}
    if sorted(once) != list(numbers):
        raise VerificationError(f"of {len(numbers)} reports the engine brought {len(once)}: run the same command again")
    return [json.loads(once[number]) for number in numbers]

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
from bertdata.dataset.run import STATE, check_begun, perform, tidy
from bertdata.dataset.staging import commit as committing
from bertdata.errors import UsageError, VerificationError
from bertdata.io.fence import fenced, token
from bertdata.io.files import is_local, to_path
from bertdata.io.progress import working
from bertdata.io.storage import storage_errors
from bertdata.records import Report, Task

__all__ = ["CommitStep", "Gather", "Perform", "Tasks", "Writing"]

Work = Callable[[Task], dict[str, Any]]


def _by_number(task: Task) -> tuple[int, Task]:
    return task.number, task


def _values(group: tuple[int, Iterable[Task]]) -> Iterable[Task]:
    return group[1]


class Tasks(beam.PTransform):
    """Create the tasks and spread them: without the GroupByKey an engine fuses all of them into one worker."""

    def __init__(self, tasks: list[Task]) -> None:
        super().__init__()
        self._tasks = tasks

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        return (
            begin
            | "Create" >> beam.Create(self._tasks, reshuffle=False)
            | "Number" >> beam.Map(_by_number)
            | "Spread" >> beam.GroupByKey()
            | "Unpack" >> beam.FlatMap(_values)
        )


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
    """What ends a pipeline: `roots` are the directories it commits, by writing their manifests."""

    def roots(self) -> list[Path]: ...

    def __call__(self, reports: list[Any]) -> None: ...


class Gather(beam.PTransform):
    """Gather the reports of `count` tasks, in their order, into one call of `commit`, the only leaf of a pipeline."""

    def __init__(self, commit: CommitStep, count: int) -> None:
        super().__init__()
        self._commit, self._count = commit, count
        self._runs = Runs(*commit.roots())

    def expand(self, reports: beam.PCollection) -> beam.PCollection:
        return (
            reports
            | "Gather" >> beam.CombineGlobally(ToListCombineFn()).without_defaults()
            | "In order" >> beam.Map(_in_order, self._count)
            | "Commit" >> beam.Map(_commit_once, self._commit, self._runs)
        )


@storage_errors()
def _commit_once(reports: list[Any], commit: CommitStep, runs: Runs) -> None:
    """Commit, unless that was done before: an engine may call twice, and by then the work files are gone."""
    roots = commit.roots()
    with runs.entered(begun=False), contextlib.ExitStack() as stack:
        to_do = [stack.enter_context(committing(root)) for root in roots]
        if any(to_do):
            for root in roots:
                check_begun(root)
            with working(roots[0] / STATE, "commit", 0):
                commit(reports)
    for root in roots:
        tidy(root)


def _in_order(reports: list[Report], count: int) -> list[Any]:
    """Sort reports by task, each once: an engine may have done a task twice; raise VerificationError if it has lost one."""
    once = {report.number: report.body for report in reports}
    if sorted(once) != list(range(count)):
        raise VerificationError(f"of {count} tasks the engine brought the reports of {len(once)}: run the same command again")
    return [json.loads(once[index]) for index in sorted(once)]

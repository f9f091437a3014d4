"""The steps all three pipelines share: spread tasks over workers, do each once, gather what they report."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
from apache_beam.transforms.combiners import ToListCombineFn

from bertdata import manifest
from bertdata.errors import UsageError, VerificationError
from bertdata.fence import Fence, fence
from bertdata.files import place
from bertdata.output import STATE, is_complete, perform, probe, tidy
from bertdata.records import Report, Task
from bertdata.storage import storage_errors

__all__ = ["Commit", "Gather", "Perform", "Tasks"]

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


class Perform(beam.DoFn):
    """Do each task, or take what it reported when it was done before; with the packages that the driver has, `packages` too."""

    def __init__(self, root: Path, step: str, work: Work, packages: Sequence[str] = ()) -> None:
        self._root, self._step, self._work = str(root), step, work
        self._fence = fence(root / STATE)
        self._packages, self._versions = tuple(packages), manifest.versions(packages)

    def process(self, task: Task) -> Iterable[Report]:
        _check_versions(self._packages, self._versions)
        # The path differs between machines and the digest of the input is checked, so it is no part of the task's identity.
        identity = [task.kind, *task.names()]
        with self._fence.closed():
            report = perform(place(self._root), self._step, task.number, identity, lambda: self._work(task), task.paths())
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
            "all hosts, then run again with --resume"
        )


class Commit(Protocol):
    """What ends a pipeline: `roots` are the directories it commits, by writing their manifests."""

    def roots(self) -> list[Path]: ...

    def __call__(self, reports: list[Any]) -> None: ...


class Gather(beam.PTransform):
    """Gather the reports of `count` tasks, in their order, into one call of `commit`, the only leaf of a pipeline."""

    def __init__(self, commit: Commit, count: int) -> None:
        super().__init__()
        self._commit, self._count = commit, count
        self._fence = fence(*(root / STATE for root in commit.roots()))

    def expand(self, reports: beam.PCollection) -> beam.PCollection:
        return (
            reports
            | "Gather" >> beam.CombineGlobally(ToListCombineFn()).without_defaults()
            | "In order" >> beam.Map(_in_order, self._count)
            | "Commit" >> beam.Map(_commit_once, self._commit, self._fence)
        )


@storage_errors()
def _commit_once(reports: list[Any], commit: Commit, fence: Fence) -> None:
    """Commit, unless that was done before: an engine may call twice, and by then the work files are gone."""
    if not all(is_complete(root) for root in commit.roots()):
        for root in commit.roots():
            probe(root)
        with fence.closed():
            commit(reports)
    for root in commit.roots():
        tidy(root)


def _in_order(reports: list[Report], count: int) -> list[Any]:
    """Sort reports by task, each once: an engine may have done a task twice; raise VerificationError if it has lost one."""
    once = {report.number: report.body for report in reports}
    if sorted(once) != list(range(count)):
        raise VerificationError(f"of {count} tasks the engine brought the reports of {len(once)}: run again with --resume")
    return [json.loads(once[index]) for index in sorted(once)]

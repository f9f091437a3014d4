"""The steps all three pipelines share: spread tasks over workers, do each once, gather what they report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
from apache_beam.transforms.combiners import ToListCombineFn

from bertdata.files import place
from bertdata.output import is_complete, perform, tidy
from bertdata.records import Report, Task

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
    """Do each task, or take what it reported when it was done before."""

    def __init__(self, root: Path, step: str, work: Work) -> None:
        self._root, self._step, self._work = str(root), step, work

    def process(self, task: Task) -> Iterable[Report]:
        # The path differs between machines and the digest of the input is checked, so it is no part of the task's identity.
        identity = [task.kind, *task.names()]
        report = perform(place(self._root), self._step, task.number, identity, lambda: self._work(task), task.paths())
        yield Report(task.number, json.dumps(report))


class Commit(Protocol):
    """What ends a pipeline: `roots` are the directories it commits, by writing their manifests."""

    def roots(self) -> list[Path]: ...

    def __call__(self, reports: list[Any]) -> None: ...


class Gather(beam.PTransform):
    """Gather all reports in order of their tasks into one call of `commit`, the only leaf of a pipeline."""

    def __init__(self, commit: Commit) -> None:
        super().__init__()
        self._commit = commit

    def expand(self, reports: beam.PCollection) -> beam.PCollection:
        return (
            reports
            | "Gather" >> beam.CombineGlobally(ToListCombineFn()).without_defaults()
            | "In order" >> beam.Map(_in_order)
            | "Commit" >> beam.Map(_commit_once, self._commit)
        )


def _commit_once(reports: list[Any], commit: Commit) -> None:
    """Commit, unless that was done before: an engine may call twice, and by then the work files are gone."""
    if not all(is_complete(root) for root in commit.roots()):
        commit(reports)
    for root in commit.roots():
        tidy(root)


def _in_order(reports: list[Report]) -> list[Any]:
    """Sort reports by task, each once: an engine may have done a task twice."""
    once = {report.number: report.body for report in reports}
    return [json.loads(once[index]) for index in sorted(once)]

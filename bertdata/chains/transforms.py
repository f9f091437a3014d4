"""Define the steps that all chains share: distribute tasks to workers, run each task once, and collect the reports."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ..config.base import Config
from ..dataset import reports
from ..dataset.plan_files import StoredValue, TaskRange, ranges, write_tasks
from ..dataset.run import check_begun, clean_up, perform
from ..dataset.spilled import work_root
from ..dataset.staging import commit as committing
from ..dataset.versions import versions
from ..errors import StorageError, UsageError, VerificationError
from ..records import ReportReference, Task
from ..stages.shuffle import EngineShuffle, FileShuffle, Shuffle
from ..storage.fence import SEEN_S, admit
from ..storage.progress import NO_CONTEXT, InContext, TaskContext, Work
from ..storage.storage import storage_errors
from .steps import Create, FlatMap, GroupByKey, Map, Step, Steps, ToList

__all__ = ["Chain", "CommitStep", "Gather", "TaskRunner", "Regroup", "Tasks", "GuardedCall", "shuffle_of"]

TaskFunction = Callable[[Task, Work], Any]  # returns a report
TaskRangeTuple = tuple[int, int, int]  # a `TaskRange` as an element: engines can serialize a plain tuple


class Chain(Step):
    """A chain of steps that builds in `root`.

    Files in `root` contain the tasks and other values that the steps need, so the size of a submitted job does not grow with the
    input.
    """

    def __init__(self, root: Path, tasks: Sequence[Task]) -> None:
        self._root, self._tasks = root, tasks
        self._values: list[tuple[StoredValue, Any]] = []

    def _store(self, name: str, value: Any) -> StoredValue:
        """Return a reference to a JSON value, which workers can read after `write_plan`."""
        stored = StoredValue.of(self._root, name, value)
        self._values.append((stored, value))
        return stored

    def display(self) -> dict[str, str | int | float]:
        """Return the output, the number of tasks and the options."""
        config: Config | None = getattr(self, "_config", None)
        options = config.identity() if config else {}
        shown = {name: value for name, value in options.items() if isinstance(value, str | int | float) and value != ""}
        return {"output": str(self._root), "tasks": len(self._tasks), **shown}

    def write_plan(self) -> None:
        """Write the files that workers read, before the chain runs."""
        write_tasks(self._root, self._tasks)
        for stored, value in self._values:
            stored.write(value)


class Tasks(Step):
    """Read the tasks from ranges of the task file, and distribute them to the workers."""

    def __init__(self, root: Path, tasks: Sequence[Task]) -> None:
        self._runs, self._root, self._ranges = RunDirectories(root), root, ranges(tasks)

    def expand(self, begin: Steps) -> Steps:
        # The job itself contains only a few ranges of the task file. Each worker expands its ranges to tasks, and the GroupByKey
        # redistributes them. Without it, the engine would fuse the steps, and one worker would run all the tasks of a range.
        return (
            begin
            | "Create" >> Create(self._ranges)
            | "Expand" >> FlatMap(_expand, self._root, self._runs)
            | "Spread" >> GroupByKey()
            | "Read" >> Map(_task, self._root, self._runs)
        )


@storage_errors()
def _expand(range: TaskRange, root: Path, runs: RunDirectories) -> list[tuple[int, TaskRangeTuple]]:
    """Return the number and the location of each task in a range. Omit names, because an engine may keep all in memory."""
    runs.check()
    return [(number, (found_range.start, found_range.length, found_range.digest)) for number, found_range in range.split(root)]


@storage_errors()
def _task(group: tuple[int, Iterable[TaskRangeTuple]], root: Path, runs: RunDirectories) -> Task:
    runs.check()
    (task,) = TaskRange(*next(iter(group[1]))).tasks(root)
    return task


def shuffle_of(steps: Steps, root: Path, name: str, tasks: int, partitions: int) -> Shuffle:
    """Return a shuffle for these steps: through files in `root` if they run locally, else through the engine."""
    return FileShuffle(work_root(root), name, tasks, partitions) if steps.is_local else EngineShuffle(partitions)


class Regroup(Step):
    """Group the output of a shuffle's `put` by partition, as the input of `get`, after all tasks have written."""

    def __init__(self, shuffle: Shuffle) -> None:
        self._shuffle = shuffle

    def expand(self, elements: Steps) -> Steps:
        # With files, the records are on disk already. The first GroupByKey has a single key, so it waits until all tasks have
        # written. The second one distributes the partitions to the workers.
        if not isinstance(self._shuffle, FileShuffle):
            return elements | "By partition" >> GroupByKey()
        written = elements | "All tasks" >> GroupByKey()
        return written | "Partitions" >> FlatMap(self._shuffle.each_partition) | "Spread" >> GroupByKey()


class RunDirectories:
    """The build directories of a step. It checks that its host sees them, and that no newer run has replaced theirs.

    `packages` are the packages whose versions affect the step's output. A worker must have the same versions of these packages
    and of bertdata as the host of the command.
    """

    def __init__(self, *roots: Path, packages: Sequence[str] = ()) -> None:
        self._roots, self._packages, self._versions = roots, tuple(packages), versions(packages)

    @storage_errors()
    def check(self, *, begun: bool = True) -> None:
        """Check the runs before a step that writes to them. On a disk, each run has a separate directory, which no run replaces.

        Raises:
            StorageError: This host cannot see a run, which is not checked if `begun` is False.
            OutputLockedError: A newer run has replaced a run.
            UsageError: This host has other code or packages than the host of the command.
        """
        _check_versions(self._packages, self._versions)
        for root in self._roots:
            admit(root, seen_s=SEEN_S)
            if begun:
                check_begun(root)


class GuardedCall(InContext):
    """Call a function for an element, after checking the build directories that the function writes to."""

    def __init__(self, function: Callable[[Any], Any], *roots: Path, packages: Sequence[str] = ()) -> None:
        self._function, self._runs = function, RunDirectories(*roots, packages=packages)
        self.function = function

    @storage_errors()
    def __call__(self, element: Any, context: TaskContext = NO_CONTEXT) -> Any:
        self._runs.check()
        result = context.bind(self._function)(element)
        return list(result) if isinstance(result, Iterator) else result


class TaskRunner(InContext):
    """Run each task, or reuse its report from an earlier run. A report has the type `kind`. Return a reference to it."""

    def __init__(self, root: Path, step: str, work: TaskFunction, kind: type[Any], packages: Sequence[str] = ()) -> None:
        self._root, self._step, self._work, self._kind = root, step, work, kind
        self._runs = RunDirectories(root, packages=packages)

    def __call__(self, task: Task, context: TaskContext = NO_CONTEXT) -> ReportReference:
        # The identity of a task has no paths, which differ between machines. `perform` compares it with the stored record, and
        # also compares the digests of the inputs.
        identity = [task.kind, task.checksum, *task.names()]
        self._runs.check()
        work, paths = partial(self._work, task), task.paths()
        report = perform(self._root, self._step, task.number, identity, work, self._kind, paths, context)
        return reports.reference(task.number, self._step, [report])


@cache
def _own_versions(packages: tuple[str, ...]) -> dict[str, str]:
    return versions(packages)


def _check_versions(packages: tuple[str, ...], driver: dict[str, str]) -> None:
    """Raise UsageError on a host with other versions than the host of the command. Its output might differ."""
    installed = _own_versions(packages)
    if other := [f"{name} {installed[name]}, not {version}" for name, version in driver.items() if installed[name] != version]:
        raise UsageError(
            f"a worker on {os.uname().nodename} has {'; '.join(other)} as where this command runs. Install the same versions on "
            "all hosts ('code' is a digest of bertdata's source), then run the same command again"
        )


class CommitStep(Protocol):
    """The last step of a pipeline, which writes the manifests.

    `roots` returns the directories to commit. The call takes the reports in task order: a list for each task, with a report of
    the type `kind` per root. They are read one after another, so that the commit can add them up and keep only parts of them.
    """

    kind: ClassVar[Any]

    def roots(self) -> list[Path]: ...

    def __call__(self, reports: Iterable[list[Any]], /) -> None: ...


class Gather(Step):
    """Collect references to the reports of `count` tasks, then commit. Every pipeline ends with this step.

    `stage` is the name of the commit in progress reports.
    """

    def __init__(self, commit: CommitStep, count: int, stage: str = "commit", packages: Sequence[str] = ()) -> None:
        self._commit, self._count, self._stage = commit, count, stage
        self._runs = RunDirectories(*commit.roots(), packages=packages)

    def expand(self, reports: Steps) -> Steps:
        return reports | "Gather" >> ToList() | "Commit" >> Map(CommitOnce(self._commit, self._runs, self._count, self._stage))


class CommitOnce(InContext):
    """Commit unless an earlier call has done so. An engine may call twice, and the first call removes the work files."""

    def __init__(self, commit: CommitStep, runs: RunDirectories, count: int, stage: str = "commit") -> None:
        self._commit, self._runs, self._count, self._stage = commit, runs, count, stage

    @storage_errors()
    def __call__(self, received: list[tuple[int, str, int]], context: TaskContext = NO_CONTEXT) -> None:
        references = [ReportReference(*reference) for reference in _in_order(received, range(self._count))]
        roots = self._commit.roots()
        self._runs.check(begun=False)
        with contextlib.ExitStack() as stack:
            to_do = [stack.enter_context(committing(root)) for root in roots]
            if any(to_do):
                for root, is_left in zip(roots, to_do, strict=True):
                    if not is_left and not root.exists():
                        raise StorageError(f"{root.parent.parent} is complete, the others are not: run the same command again")
                    check_begun(root)
                with context.working(self._stage, 0):
                    self._commit(reports.read(roots, references, self._commit.kind))
        for root in roots:  # in a store; on a disk, the commit has moved the build away
            clean_up(root)


def _in_order(elements: Iterable[Any], numbers: range) -> list[Any]:
    """Sort elements by number and drop repeated ones, which an engine may deliver. Raise VerificationError if one is missing."""
    once = {element[0]: element for element in elements}
    if sorted(once) != list(numbers):
        raise VerificationError(f"the engine returned {len(once)} of {len(numbers)} reports: run the same command again")
    return [once[number] for number in numbers]

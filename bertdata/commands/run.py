"""A command that is planned: its outputs, its tasks and its chain of steps; and the run of it, here or on an engine."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .. import credentials
from ..dataset import manifest
from ..dataset.data_set import DataSet
from ..dataset.run import STATE, building, count_done, is_complete, is_done
from ..errors import BertDataError, UsageError
from ..io import lock
from ..io.files import is_local, is_private
from ..io.process import imports_frozen

__all__ = ["PlannedRun", "Progress", "RunOptions", "Step", "complete_already", "given_digest", "paths_of", "run"]

Paths = str | Path | Sequence[str | Path]


class Progress(NamedTuple):
    """How far a step is: its label, and how many of its tasks are finished."""

    step: str
    done: int
    total: int


class Step(NamedTuple):
    """A step whose progress can be told: its label, its records under ``.bertdata/tasks``, and how many tasks it has."""

    label: str
    name: str
    total: int


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a planned run is carried out; no byte of its output depends on it.

    workers: local worker processes; None for one a core.  overwrite: replace a finished data set once the new one is whole.
    wait: False submits the job to an engine that continues by itself, and returns.  beam_args: options for Beam, such as
    ``--runner=DataflowRunner``.  verbose: let Beam and the workers speak.  progress: is called with a `Progress` twice a second,
    from a thread of its own.  warn: is called with what a user should know and no error says.  own_process: this process does
    nothing else, so Beam is imported without the packages that a local run does not use, in half the time.
    """

    workers: int | None = None
    overwrite: bool = False
    wait: bool = True
    beam_args: tuple[str, ...] = ()
    verbose: bool = False
    progress: Callable[[Progress], None] | None = None
    warn: Callable[[str], None] = warnings.warn
    own_process: bool = False


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """What a command will do.

    directories and identities: the outputs, and what their bytes depend on.  reads: what its tasks read.  tasks: the most tasks
    of a step.  chain: makes Beam's chain of steps; it gets, for each directory, where to build it, or None where that is done.
    summary: one line that says it all; notes: more that a user should know; inputs: what the manifest says of each input.
    given: a digest of what the command was given.  unreached: why the input cannot be looked at, where the outputs are complete.
    """

    directories: tuple[Path, ...]
    summary: str
    identities: tuple[dict[str, Any], ...] = ()
    reads: tuple[str | Path, ...] = ()
    tasks: int = 0
    steps: tuple[Step, ...] = ()
    chain: Callable[[list[Path | None]], Any] = lambda roots: None
    notes: tuple[str, ...] = ()
    inputs: tuple[dict[str, Any], ...] = ()
    given: str = ""
    unreached: BertDataError | None = None


def given_digest(command: str, *arguments: Any) -> str:
    """Return a digest of what a command was given, by which a finished data set is known where its input cannot be reached."""
    return hashlib.sha256(json.dumps([command, *arguments], sort_keys=True, default=str).encode()).hexdigest()


def complete_already(directories: Sequence[Path], given: str, error: BertDataError) -> PlannedRun:
    """Return a run with nothing to do, where the input cannot be reached and was made into these data sets before.

    Raise `error`, which tells that it cannot be reached, where it was not.
    """
    if not all(is_done(directory, {"given": given}) for directory in directories):
        raise error
    names = ", ".join(map(str, directories))
    return PlannedRun(
        directories=tuple(directories),
        summary=f"{names}: nothing to do; that the input is the same could not be seen: {error}",
        given=given,
        unreached=error,
    )


def paths_of(paths: Paths) -> tuple[str, ...]:
    """Return one path, or several, as strings.

    >>> paths_of("dumps/*.bz2"), paths_of([Path("a"), "b"])
    (('dumps/*.bz2',), ('a', 'b'))
    """
    return (str(paths),) if isinstance(paths, str | Path) else tuple(map(str, paths))


def run(planned: PlannedRun, options: RunOptions) -> list[DataSet]:
    """Build the outputs that are not complete yet, and return all of them; none where the run is not waited for.

    Raise OutputExistsError, OutputLockedError, ResumeError for outputs that cannot be written, and whatever a task raises.
    """
    if planned.unreached is not None:
        if options.overwrite:
            raise planned.unreached
        options.warn(planned.summary)
        return [DataSet.read(directory, new=False) for directory in planned.directories]
    workers, local = _workers([*planned.directories, *planned.reads], options), not options.beam_args and options.wait
    pipelines = _pipelines(lean=local and options.own_process)
    from bertdata.pipelines.engines import processes

    how_run: dict[str, Any] = {
        "tasks": planned.tasks,
        "workers": workers,
        "beam_args": options.beam_args,
        "verbose": options.verbose,
    }
    how_run["warn"] = options.warn
    if not local:
        with _silenced(options.verbose):
            if pipelines().check(options.beam_args, workers, options.wait):
                pipelines().run(planned.chain([*planned.directories]), **how_run)
                return []
    with _silenced(options.verbose), contextlib.ExitStack() as stack:
        roots = [
            stack.enter_context(building(directory, {**identity, "given": planned.given}, overwrite=options.overwrite))
            for directory, identity in zip(planned.directories, planned.identities, strict=True)
        ]
        todo = [None if is_complete(root) else root for root in roots]
        first = next((root for root in todo if root is not None), None)
        for root, task in zip(roots, todo, strict=True):
            if task is None:
                manifest.check_files(root, manifest.read(root))
        if first is not None:
            if local:
                stack.enter_context(processes.started(processes.number(workers, planned.tasks), options.verbose))
            states = [d / STATE for d, root in zip(planned.directories, todo, strict=True) if root is not None]
            held = {"hold": functools.partial(_hold, states), "release": functools.partial(_release, states)}
            with _watched(first, planned.steps if options.wait else (), options.progress):
                pipelines().run(planned.chain(todo), **how_run, **held, wait=options.wait)
    return [DataSet.read(directory, new=first is not None) for directory in planned.directories] if options.wait else []


@contextlib.contextmanager
def _silenced(verbose: bool) -> Iterator[None]:
    """Keep Beam's messages off standard error, unless `verbose` or where the program has set up logging.

    Beam calls functions such as `logging.warning`, which set up a handler themselves where the root logger has none.
    """
    root, handler = logging.getLogger(), logging.NullHandler()
    if verbose or root.handlers:
        yield
        return
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _pipelines(lean: bool) -> Callable[[], Any]:
    """Return what imports Beam, which takes a second; raise UsageError where `bertdata.pipelines` is not installed.

    A `lean` Beam lacks what engines other than the local one use, for as long as this process lives.
    """
    import importlib.util

    if importlib.util.find_spec("bertdata.pipelines") is None:
        checkout = Path(__file__).parents[2]
        raise UsageError(
            f"bertdata is imported from {checkout}, a checkout that is not installed: run pip install --editable {checkout}, or "
            "run from another directory"
        )

    def engine() -> Any:
        from bertdata.pipelines.engines import processes

        with processes.lean() if lean else imports_frozen():
            from bertdata.pipelines.engines import engine
        return engine

    return engine


def _hold(states: Sequence[Path], job: lock.Job) -> None:
    for state in states:
        lock.hold(state, job)


def _release(states: Sequence[Path]) -> None:
    for state in states:
        lock.release(state)


def _workers(paths: Sequence[str | Path], options: RunOptions) -> int | None:
    """Return how many workers the user wants; one where a path is in the memory of this process, which no other can see."""
    if (options.beam_args or not options.wait) and credentials.is_used():
        raise UsageError(
            "a URL has a login or a signature in it, which no engine is told, as engines show and store their jobs: give the "
            "workers credentials in the way of the store's own tools, or fetch the files first"
        )
    if options.workers is not None and (type(options.workers) is not int or options.workers < 1):
        raise UsageError(f"`workers` is {options.workers!r}: give a whole number of 1 or more, or None to let the command choose")
    private = next(filter(is_private, paths), None)
    if private is None:
        return options.workers
    if (options.workers or 1) > 1 or options.beam_args:
        raise UsageError(f"{private} is in the memory of this process: omit `workers` and a --runner, or give another path")
    return 1


@contextlib.contextmanager
def _watched(root: Path, steps: Sequence[Step], progress: Callable[[Progress], None] | None) -> Iterator[None]:
    """Tell `progress` how many tasks of each step are finished, by their records, until the block ends."""
    if progress is None:
        yield
        return
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(0.5 if is_local(root) else 5):
            for step in steps:  # the records are gone once the run is committed
                if done := count_done(root, step.name):
                    progress(Progress(step.label, done, step.total))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
    for step in steps:
        progress(Progress(step.label, step.total, step.total))

"""Run a planned command, here or on an engine: its outputs, its tasks and its chain of steps."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dataset import manifest
from ..dataset.data_set import DataSet
from ..dataset.run import STATE, building, count_done, is_complete, is_done
from ..dataset.spilled import spilling
from ..dataset.staging import builds
from ..dataset.staging import size as build_size
from ..errors import BertDataError, StorageError, TransferError, UsageError
from ..io import lock
from ..io.files import is_local, is_private
from ..io.process import imports_frozen, worker_count
from ..io.storage import storage_errors
from ..report.words import size
from .progress import Progress, Step, watched

if TYPE_CHECKING:
    from .estimate import Estimate

__all__ = ["PlannedRun", "RunOptions", "complete_already", "given_digest", "paths_of", "run"]

_MOST_OUTPUT = 16  # bytes of output and work files for each of input, more than any run makes: bzip2 packs wikitext four times

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a planned run is carried out; no byte of its output depends on it.

    workers: local worker processes; None for one per usable CPU, or one for little input.  overwrite: replace a finished data set
    once the new one is whole.  wait: False submits the job to an engine that continues by itself, and returns.  beam_args:
    options for Beam, such as ``--runner=DataflowRunner``.  verbose: let Beam and the workers speak.  check_space: refuse
    what, by samples of the input, does not fit on the disk.  progress: is called with a `Progress` twice a second, from a
    thread of its own.  warn: is called with what a user should know and no error says, also from other threads.
    """

    workers: int | None = None
    overwrite: bool = False
    wait: bool = True
    beam_args: tuple[str, ...] = ()
    verbose: bool = False
    check_space: bool = True
    progress: Callable[[Progress], None] | None = None
    warn: Callable[[str], None] = warnings.warn


@dataclass(kw_only=True)
class PlannedRun:
    """What a command will do.

    directories and identities: the outputs, and what their bytes depend on.  reads: what its tasks read.  tasks: the most tasks
    of a step.  chain: makes the chain of steps; it gets, for each directory, where to build it, or None where that is done.
    summary: one line that says it all; notes: more that a user should know; inputs: what the manifest says of each input.
    estimate: does some of the work on samples of the input and says what all of it takes, with so many workers.
    given: a digest of what the command was given.  spill: a local directory for work files, where the output is in a store and
    the run is of this machine.  unreached: why the input cannot be looked at, where the outputs are complete.
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
    estimate: Callable[[int | None], Estimate] | None = None
    given: str = ""
    spill: Path | None = None
    unreached: BertDataError | None = None

    def begin(self, roots: list[Path | None]) -> Any:
        """Return the chain, and let go of what is needed until then: 800 bytes of memory an input.  So a plan runs once."""
        chain, self.chain = self.chain(roots), PlannedRun.chain
        self.identities, self.inputs, self.estimate = (), (), None
        return chain


def given_digest(command: str, *arguments: Any) -> str:
    """Return a digest of what a command was given, by which a finished data set is known where its input cannot be reached."""
    return hashlib.sha256(json.dumps([command, *arguments], sort_keys=True, default=str).encode()).hexdigest()


def complete_already(directories: Sequence[Path], given: str, error: BertDataError) -> PlannedRun:
    """Return a run with nothing to do, where the input cannot be reached and was made into these data sets before.

    Raise `error`, which says that it cannot be reached, where it was not.
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


def run(planned: PlannedRun, options: RunOptions) -> list[DataSet[Any]]:
    """Build the outputs that are not complete yet, and return all of them; none where the run is not waited for.

    Raise OutputExistsError, OutputLockedError, ResumeError for outputs that cannot be written, and whatever a task raises.
    """
    if planned.unreached is not None:
        if options.overwrite:
            raise planned.unreached
        options.warn(planned.summary)
        return [DataSet.read(directory, new=False) for directory in planned.directories]
    workers, with_beam = _workers([*planned.directories, *planned.reads], options), bool(options.beam_args) or not options.wait
    _check_installed()
    if TYPE_CHECKING:  # mypy knows the folder by the name it has in a checkout
        from pipelines.engines import local
    else:
        from bertdata.pipelines.engines import local

    count = 0 if with_beam else worker_count(workers, planned.tasks, max((step.bytes for step in planned.steps), default=0))
    if with_beam:
        with _silenced(options.verbose):
            if _check_engine(_engine(), planned, options, workers):
                _engine().run(planned.chain([*planned.directories]), beam_args=options.beam_args)
                return []
    if options.check_space:
        _check_space(planned, options)
    with _silenced(options.verbose), contextlib.ExitStack() as stack:
        roots = [
            stack.enter_context(building(directory, {**identity, "given": planned.given}, overwrite=options.overwrite))
            for directory, identity in zip(planned.directories, planned.identities, strict=True)
        ]
        todo = [_unfinished(root) for root in roots]
        first = next((root for root in todo if root is not None), None)
        if first is not None:
            stack.enter_context(spilling(planned.spill))
            with watched(first, planned.steps if options.wait else (), options.progress, planned.spill):
                if with_beam:
                    _run_on_engine(planned, options, todo)
                else:
                    local.run(planned.begin(todo), count, options.verbose, options.warn)
    return [DataSet.read(directory, new=first is not None) for directory in planned.directories] if options.wait else []


def _run_on_engine(planned: PlannedRun, options: RunOptions, roots: list[Path | None]) -> None:
    """Run the chain of a run with Beam; raise TransferError where the engine is lost, with what is kept."""
    engine = _engine()
    states = [directory / STATE for directory, root in zip(planned.directories, roots, strict=True) if root is not None]
    try:
        engine.run(
            planned.begin(roots),
            beam_args=options.beam_args,
            wait=options.wait,
            reserve=functools.partial(_reserve, states),
            release=functools.partial(_release, states),
            warn=options.warn,
        )
        if options.wait and not all(map(is_complete, planned.directories)):
            raise engine.ended_early(options.beam_args)
    except TransferError as error:
        first = next(root for root in roots if root is not None)
        done = {step: count_done(first, step.name) for step in planned.steps}
        kept = ", ".join(f"{done[step]:,} of {step.total:,} tasks of {step.label}" for step in planned.steps if done[step])
        kept = f"{kept} are kept in {planned.directories[0]}" if kept else "no task was finished"
        raise TransferError(f"{error}. So far {kept}: start the engine again, then run the same command again") from error


def _unfinished(root: Path) -> Path | None:
    """Return a root that is not complete; of one that is, check that it has the files which its manifest names."""
    if not is_complete(root):
        return root
    manifest.check_files(root, manifest.listed(manifest.read(root)))
    return None


def _check_engine(engine: Any, planned: PlannedRun, options: RunOptions, workers: int | None) -> bool:
    """Check the options of an engine, and that it is there if there is work for it; tell whether this is a dry run of it."""
    dry_run = bool(engine.check(options.beam_args, workers, options.wait, [*planned.reads, *planned.directories]))
    if not dry_run and _to_do(planned, options.overwrite):
        engine.reach(options.beam_args)
    return dry_run


def _to_do(planned: PlannedRun, overwrite: bool, concerned: Callable[[Path], bool] = lambda _: True) -> list[Path]:
    """Return those of the outputs concerned that are not complete, or are to be made again."""
    with storage_errors("cannot read the output"):
        return [
            directory
            for directory, identity in zip(planned.directories, planned.identities, strict=True)
            if concerned(directory) and (overwrite or not is_done(directory, identity))
        ]


def _check_space(planned: PlannedRun, options: RunOptions) -> None:
    """Raise StorageError for outputs that do not fit on their disk; samples are read only where that is in doubt."""
    todo = _to_do(planned, options.overwrite, is_local)
    if not todo or planned.estimate is None:
        return
    from .estimate import free_space

    free = free_space(todo[0])
    if free >= _MOST_OUTPUT * len(todo) * max(step.bytes for step in planned.steps):
        return
    there = sum(size for directory in todo for size in map(build_size, builds(directory)))
    needed = planned.estimate(options.workers)
    if free + there < needed.low(needed.output) + needed.work:
        raise StorageError(
            f"{todo[0]}: not enough space: about {size(needed.output)} of output and {size(needed.work)} of work files, by "
            f"samples of the input, and {size(free)} are free: free some, take an `output` on a larger disk, or give "
            "`check_space=False`"
        )


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


def _check_installed() -> None:
    """Raise UsageError where `bertdata.pipelines` is not installed."""
    import importlib.util

    if importlib.util.find_spec("bertdata.pipelines") is None:
        checkout = Path(__file__).parents[2]
        raise UsageError(
            f"bertdata is imported from {checkout}, a checkout that is not installed: run pip install --editable {checkout}, or "
            "run from another directory"
        )


def _engine() -> Any:
    """Import Beam, which takes a second, and what runs a chain with it."""
    with imports_frozen():
        from bertdata.pipelines.engines import engine
    return engine


def _reserve(states: Sequence[Path], job: lock.Job) -> None:
    for state in states:
        lock.reserve(state, job)


def _release(states: Sequence[Path]) -> None:
    for state in states:
        lock.release(state)


def _workers(paths: Sequence[str | Path], options: RunOptions) -> int | None:
    """Return how many workers the user wants; one where a path is in the memory of this process, which no other can see."""
    if options.workers is not None and (type(options.workers) is not int or options.workers < 1):
        raise UsageError(f"`workers` is {options.workers!r}: give a whole number of 1 or more, or None to let the command choose")
    private = next(filter(is_private, paths), None)
    if private is None:
        return options.workers
    if (options.workers or 1) > 1 or options.beam_args:
        raise UsageError(f"{private} is in the memory of this process: omit `workers` and a --runner, or give another path")
    return 1

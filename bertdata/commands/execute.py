"""Run the plan of a command, here or on an engine."""

from __future__ import annotations

import contextlib
import importlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..chains import local
from ..dataset import manifest
from ..dataset.data_set import DataSet
from ..dataset.run import STATE, building, count_done, is_complete
from ..dataset.spilled import spilling
from ..dataset.staging import builds
from ..dataset.staging import size as build_size
from ..errors import StorageError, TransferError, UsageError
from ..reports.summary import size
from ..storage.files import is_local, is_private
from ..storage.process import imports_frozen, worker_count
from .plan import Output, Plan, RunOptions, reused_tasks
from .progress import Monitor, Reporter, watched

__all__ = ["check_engine", "run"]

# More bytes of output and work files per byte of input than any run makes: bzip2 compresses wikitext four times.
_MAX_OUTPUT_PER_INPUT_BYTE = 16


def run(plan: Plan, options: RunOptions, reporter: Reporter) -> list[DataSet[Any]]:
    """Build the outputs that are not complete yet, and return all of them; return an empty list without waiting.

    Raise OutputExistsError, OutputLockedError, ResumeError for outputs that cannot be written, and whatever a task raises.
    """
    workers = _workers([*plan.directories, *plan.reads], options)
    processes = 0 if options.on_engine else worker_count(workers, plan.tasks, plan.bytes)
    if options.on_engine:
        is_dry_run, todo = check_engine(plan, options), plan.to_do(options.overwrite)
        if is_dry_run:
            if todo:
                _engine().run(plan.chain(plan.directories), beam_args=options.beam_args)
            return []
        if todo:
            _engine().check_reachable(options.beam_args)
    if options.check_space:
        _check_space(plan, options)
    for line in reused_tasks(plan):
        reporter.note(line)
    with contextlib.ExitStack() as stack:
        roots: list[Path | None] = []
        for output in plan.outputs:  # each stays locked until the block ends; the last step of the pipeline commits
            # `building` yields the output itself if it is complete already. Its root is then None.
            begun = building(output.directory, output.identity, overwrite=options.overwrite)
            roots.append(_unfinished(stack.enter_context(begun)))
        if new := any(root is not None for root in roots):
            _build(plan, options, reporter, roots, processes)
    return [DataSet.read(directory, new=new) for directory in plan.directories] if options.wait else []


def _unfinished(root: Path) -> Path | None:
    """Return `root` if it is not complete. Otherwise check that the files in its manifest exist, and return None."""
    if not is_complete(root):
        return root
    manifest.check_files(root, manifest.listed(manifest.read(root)))
    return None


def _build(plan: Plan, options: RunOptions, reporter: Reporter, roots: list[Path | None], processes: int) -> None:
    """Run the steps, with progress."""
    if not options.wait:
        _run_on_engine(plan, options, reporter, roots)
        return
    first = next(root for root in roots if root is not None)
    with contextlib.nullcontext(first) if options.on_engine else spilling(first) as work:
        monitor = Monitor([first] if work == first else [work, first], plan.steps, counts=options.on_engine)
        with watched(monitor, reporter):
            if options.on_engine:
                _run_on_engine(plan, options, reporter, roots)
            else:
                local.run(plan.chain(roots), processes, options.verbose, reporter.warning, monitor.receive)


def _run_on_engine(plan: Plan, options: RunOptions, reporter: Reporter, roots: list[Path | None]) -> None:
    """Run the steps with Beam. Raise TransferError if the connection to the engine is lost."""
    engine = _engine()
    pairs = zip(plan.directories, roots, strict=True)
    states = [(directory if is_local(directory) else root) / STATE for directory, root in pairs if root is not None]
    try:
        engine.run(plan.chain(roots), beam_args=options.beam_args, wait=options.wait, states=states, warn=reporter.warning)
        if options.wait and not all(map(is_complete, plan.directories)):
            raise engine.ended_early(options.beam_args)
    except TransferError as error:
        first = next(root for root in roots if root is not None)
        done = {step: count_done(first, step.name) for step in plan.steps}
        tasks = ", ".join(f"{done[step]:,} of {step.total:,} tasks of {step.label}" for step in plan.steps if done[step])
        tasks = f"{tasks} are kept in {plan.directories[0]}" if tasks else "no task was finished"
        raise TransferError(f"{error}. So far {tasks}: start the engine again, then run the same command again") from error


def check_engine(plan: Plan, options: RunOptions) -> bool:
    """Check the options of an engine, without connecting to it. Return True for a dry run of the engine."""
    paths = [*plan.reads, *plan.directories]
    return bool(_engine().check(options.beam_args, _workers(paths, options), options.wait, paths))


def _check_space(plan: Plan, options: RunOptions) -> None:
    """Raise StorageError for outputs that do not fit on their disks; samples are read only if that is in doubt."""
    to_do = [directory for directory in plan.to_do(options.overwrite) if is_local(directory)]
    if not to_do:
        return
    from .estimate import existing, free_space

    disks = defaultdict[int, list[Output]](list)
    for output in plan.outputs:
        if output.directory in to_do:
            disks[existing(output.directory).stat().st_dev].append(output)
    for outputs in disks.values():
        _check_disk(replace(plan, outputs=tuple(outputs)), free_space(outputs[0].directory), options.workers)


def _check_disk(plan: Plan, free: int, workers: int | None) -> None:
    """Raise StorageError if the outputs of a plan do not fit on their disk, which has `free` bytes."""
    if free >= _MAX_OUTPUT_PER_INPUT_BYTE * len(plan.outputs) * plan.bytes:
        return
    there = sum(taken for directory in plan.directories for taken in map(build_size, builds(directory)))
    needed = plan.estimate(workers)
    if free + there < needed.low(needed.output) + needed.work:
        raise StorageError(
            f"{plan.directories[0]}: not enough space: about {size(needed.output)} of output and {size(needed.work)} of "
            f"work files, by samples of the input, and {size(free)} are free: free some space, use an `output` on a larger disk, "
            "or pass `check_space=False`"
        )


def _engine() -> Any:
    """Import Beam, which takes a second, and return the module that runs plans with it."""
    with imports_frozen():
        return importlib.import_module("bertdata.pipelines.engines.engine")


def _workers(paths: Sequence[str | Path], options: RunOptions) -> int | None:
    """Return the requested number of workers, or 1 for a path in the memory of this process."""
    if options.workers is not None and (type(options.workers) is not int or options.workers < 1):
        raise UsageError(
            f"`workers` is {options.workers!r}: use an integer of 1 or more, or None to let the command choose",
            field="workers",
            value=options.workers,
        )
    private = next(filter(is_private, paths), None)
    if private is None:
        return options.workers
    if (options.workers or 1) > 1 or options.beam_args:
        raise UsageError(f"{private} is in the memory of this process. Omit `workers` and --runner, or use another path")
    return 1

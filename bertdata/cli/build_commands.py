"""Code shared by the commands that build a dataset: common options, printing the plan, running it, and the summary."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..dataset import manifest
from ..dataset.build import is_complete
from ..dataset.manifest_types import VocabManifest
from ..dataset.tasks import leftovers
from ..reports.summary import count, describe, size
from . import output
from .bars import reporting
from .config_file import config_option
from .output import echo

if TYPE_CHECKING:
    from ..dataset.data_set import DataSet
    from ..run.plan import Plan, RunOptions

__all__ = ["build", "common_options", "print_result", "echo", "output_options", "take_options"]

F = TypeVar("F", bound=Callable[..., Any])


def output_options(command: F) -> F:
    """Add the options that control what a command prints."""
    for decorate in (
        click.option("-v", "--verbose", is_flag=True, help="Show the engine's log and tracebacks."),
        click.option(
            "--log-json",
            is_flag=True,
            help="Print messages as JSON lines on stderr, with time, level, run, event, step, counts and seconds.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print only errors."),
    ):
        command = decorate(command)
    return command


def common_options(command: F) -> F:
    """Add the options of every command that builds a dataset, and the arguments for Beam after ``--``."""
    for decorate in (
        click.argument("beam_args", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM OPTIONS]"),
        output_options,
        config_option(),
        click.option(
            "--workers",
            type=click.IntRange(min=1),
            help="Number of local workers; 1 for little input.  [default: one per CPU]",
        ),
        click.option(
            "--dry-run",
            is_flag=True,
            help="Estimate the run without writing anything: time, memory and disk, from samples of the input.",
        ),
        click.option("--overwrite", is_flag=True, help="Replace --output once the new dataset is complete."),
        click.option("--resume", is_flag=True, hidden=True, expose_value=False),  # any run resumes without it
    ):
        command = decorate(command)
    return command


def take_options(values: dict[str, Any]) -> tuple[RunOptions, bool]:
    """Remove the common options from a command's parameters. Return them, and whether to print an estimate only."""
    from ..run.plan import RunOptions

    beam_args = values.pop("beam_args")
    if stray := [arg for arg in beam_args if not arg.startswith("-")]:
        raise click.UsageError(
            f"unexpected argument {stray[0]!r}: an option takes one value. Quote globs ('*.txt'), repeat an option for each "
            "value, pass all inputs to one build-corpus, and put options for Beam at the end, after --"
        )
    output.configure(quiet=values.pop("quiet"), log_json=values.pop("log_json"))
    taken = {name: values.pop(name) for name in ("overwrite", "workers", "verbose")}
    options = RunOptions(**taken, beam_args=beam_args)
    handlers = [output.JsonHandler()] if output.is_json() else None
    logging.basicConfig(level=logging.INFO if options.verbose else logging.CRITICAL, handlers=handlers, force=True)
    logging.captureWarnings(output.is_json())  # before Beam is imported
    return options, values.pop("dry_run")


@contextlib.contextmanager
def _engine_folded(verbose: bool) -> Iterator[None]:
    """Silence logs and warnings of all libraries, unless `verbose`. Some, such as Dask, install their own handlers."""
    if verbose:
        yield
        return
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def build(plan: Plan, options: RunOptions, dry_run: bool) -> list[DataSet[Any]]:
    """Run a plan and return its datasets, or print an estimate in a dry run. Exit after a job is submitted with --no-wait."""
    if dry_run:
        _show_plan(plan, options)
        return []
    from ..run.plan import run

    output.event("plan", counts={"tasks": len(plan.tasks), "bytes": plan.bytes}, text=plan.summary)
    with _engine_folded(options.verbose), reporting() as reporter:
        return run(plan, options, reporter)


def _show_plan(plan: Plan, options: RunOptions) -> None:
    """Print the finished part of a run, and estimates of time, memory and disk from samples."""
    from ..run.plan import reused_tasks

    todo = plan.to_do(options.overwrite)
    for directory in plan.directories:
        if directory not in todo:
            echo(f"  {_describe_complete(directory)}")
        elif options.overwrite and is_complete(directory):
            contents = manifest.read(directory)
            echo(f"  --overwrite replaces {directory}: {contents.kind}, {count(contents.rows, 'row')}")
    for line in reused_tasks(plan):
        echo(line)


def _describe_complete(directory: Path) -> str:
    return f"{directory} is complete already: nothing to do"


def print_result(data_set: DataSet[Any], reading: str) -> None:
    """Print a summary of a dataset, or that it was already complete, and the line of Python that reads it."""
    counts: dict[str, object] = {"rows": data_set.rows}
    if isinstance(data_set.manifest, VocabManifest):
        counts["size"] = data_set.manifest.size
    for fate in ("dropped", "rejected"):
        reasons = Counter[str]()
        for stage in data_set.counts:
            reasons.update(getattr(stage, fate))
        counts[fate] = dict(sorted(reasons.items()))
    output.event("done" if data_set.new else "nothing to do", counts=counts, path=str(data_set.path))
    echo(describe(data_set.manifest, data_set.path) if data_set.new else _describe_complete(data_set.path))
    for path, left in leftovers(data_set.path).items():
        echo(f"{path} ({size(left)}) is left over from a run that was not finished: continue it by its command, or remove it")
    if reading:
        echo(f"Read it with: {reading}")

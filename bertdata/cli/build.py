"""Call the function of a command that builds datasets, and print its plan, its progress and the datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..dataset import manifest
from ..dataset.build import is_complete
from ..dataset.data_set import DataSet
from ..reports.card import reading_line
from ..reports.coverage import table
from ..reports.summary import count, describe
from ..run.plan import Plan, reused_tasks
from ..run.progress import Progress, Reporter
from ..storage.files import is_local
from ..storage.signals import Answer, stopped
from ..tokens.read import read_any
from . import console
from .console import ProgressPrinter, echo
from .options import Function, with_option_names

_WORKERS = "Number of local workers; 1 for little input.  [default: one per CPU]"
workers_option = click.option("--workers", type=click.IntRange(min=1), metavar="N", help=_WORKERS)


def output_options(command: Function) -> Function:
    """Add the options that control what a command prints. `Command` handles them."""
    command = click.option("-v", "--verbose", is_flag=True, help="Show the engine's log and tracebacks.")(command)
    return click.option("-q", "--quiet", is_flag=True, help="Print only errors.")(command)


def common_options(command: Function) -> Function:
    """Add the options of every command that builds a dataset."""
    for decorate in (
        output_options,
        workers_option,
        click.option("--dry-run", is_flag=True, help="Print the plan, and estimates of time, memory and disk. Write nothing."),
        click.option("--overwrite", is_flag=True, help="Replace --output once the new dataset is complete."),
    ):
        command = decorate(command)
    return command


def beam_options(command: Function) -> Function:
    """Add the arguments for Beam after ``--``, to a command that also runs on a cluster."""
    return click.argument("beam_args", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM OPTIONS]")(command)


def build(function: Callable[..., Any], *arguments: Any, dry_run: bool, **options: Any) -> None:
    """Call the function of a command with a reporter, and print its datasets."""
    first, *_ = options.get("beam_args") or ["-"]
    if not first.startswith("-"):
        raise click.UsageError(
            f"unexpected argument {first!r}: an option takes one value. Quote globs ('*.txt'), repeat an option "
            "for each value, and put options for Beam at the end, after --."
        )
    with BuildReporter(dry_run) as reporter:
        made = function(*arguments, progress=reporter, **options)
    for data_set in made if isinstance(made, list) else [made]:
        _print_result(data_set)


class BuildReporter(ProgressPrinter, Reporter):
    """Prints the plan, the progress and the messages of a run. A dry run ends after the plan."""

    def __init__(self, dry_run: bool = False) -> None:
        super().__init__()
        self._dry_run, self._last = dry_run, dict[str, Progress]()
        console.answer = self._stopped

    def plan(self, plan: Plan, workers: int, overwrite: bool) -> None:
        """Print the plan of a run."""
        for line in (plan.summary, *plan.notes):
            echo(with_option_names(line), err=not self._dry_run)
        if not self._dry_run:
            return
        to_do = plan.to_do(overwrite)
        if plan.estimate and to_do:
            echo(plan.estimate.line(workers))
        for directory in plan.outputs:
            if directory not in to_do:
                echo(f"  {directory} is complete already: nothing to do")
            elif overwrite and is_complete(directory):
                echo(f"  --overwrite replaces {manifest.read(directory).what} in {directory}")
        for line in reused_tasks(plan):
            echo(line)
        click.get_current_context().exit()

    def progress(self, progress: Progress) -> None:
        """Show the progress of a stage."""
        self._last[progress.stage] = progress
        done = f"{progress.done:,} of {count(progress.total, 'task')}"
        self.show(progress.stage, progress.done, progress.total, done, progress.seconds_left)

    def note(self, text: str) -> None:
        """Print something that is not a problem."""
        self.line(with_option_names(text))

    def warning(self, text: str) -> None:
        """Print a problem that does not stop the run."""
        self.line(f"warning: {with_option_names(text)}")

    def _stopped(self) -> Answer:
        begun = [progress for progress in self._last.values() if progress.done]
        return stopped("; ".join(f"{each.stage}: at least {each.done:,} of {count(each.total, 'task')}" for each in begun))


def _print_result(data_set: DataSet[Any]) -> None:
    """Print a summary of a dataset, or that it was already complete, and the line of Python that reads it."""
    contents, path = data_set.manifest, data_set.path
    echo(describe(contents, path) if data_set.new else f"{path} is complete already: nothing to do")
    if contents.kind == "vocabulary" and data_set.new:
        echo(table(contents.coverage, read_any(path).special.mark))
    if contents.kind == "vocabulary" and is_local(path):
        kind = "BertTokenizerFast" if contents.settings.model == "wordpiece" else "AutoTokenizer"
        echo(f'Read it with: transformers.{kind}.from_pretrained("{path}")')
    elif contents.kind in ("documents", "pairs"):
        echo(f"Read it with: {reading_line(str(path))}")

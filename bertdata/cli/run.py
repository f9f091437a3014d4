"""What the commands that build a data set share: options, the plan on the screen, and a safe end."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ..dataset.run import STATE, is_complete, leftovers
from ..errors import StorageError
from ..io.lock import holder
from ..io.terminal import clean
from ..report.words import describe, size
from .bars import of_tasks
from .config_file import config_option

if TYPE_CHECKING:
    from ..commands.run import PlannedRun
    from ..dataset.data_set import DataSet

__all__ = ["Options", "build", "common_options", "conclude", "echo", "take_options"]

F = TypeVar("F", bound=Callable[..., Any])


class Options(NamedTuple):
    """The options that every building command takes."""

    overwrite: bool
    dry_run: bool
    no_wait: bool
    workers: int | None
    verbose: bool
    beam_args: tuple[str, ...]


def common_options(command: F) -> F:
    """Add the options that every building command takes, and the arguments for Beam after ``--``."""
    for decorate in (
        click.argument("beam_args", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM OPTIONS]"),
        click.option("-v", "--verbose", is_flag=True, help="Show Beam's own log, and tracebacks."),
        config_option(),
        click.option("--workers", type=click.IntRange(min=1), help="Local worker processes.  [default: one a core]"),
        click.option(
            "--no-wait", is_flag=True, help="With an engine that continues by itself: submit the job, say where to look, and end."
        ),
        click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing."),
        click.option("--overwrite", is_flag=True, help="Replace --output, once the new one is whole."),
        click.option("--resume", is_flag=True, hidden=True, expose_value=False),  # the same command continues by itself
    ):
        command = decorate(command)
    return command


def take_options(values: dict[str, Any]) -> Options:
    """Take the common options out of a command's parameters."""
    beam_args = values.pop("beam_args")
    if strange := [arg for arg in beam_args if not arg.startswith("-")]:
        raise click.UsageError(_stray(strange))
    options = Options(**{name: values.pop(name) for name in Options._fields if name != "beam_args"}, beam_args=beam_args)
    logging.basicConfig(level=logging.INFO if options.verbose else logging.CRITICAL, force=True)  # before Beam is imported
    return options


def _stray(words: Sequence[str]) -> str:
    """Say of words that belong to no option what they may have been meant for."""
    given = click.get_current_context()
    several = [param for param in given.command.params if param.multiple and isinstance(param, click.Option)]
    used = [param for param in several if given.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE]
    if all(word.lstrip("-").isdigit() for word in words):
        fits = [param for param in used if isinstance(param.type, click.types.IntParamType)]
    else:
        fits = [param for param in used if not isinstance(param.type, click.types.IntParamType)]
    said = f"unexpected argument {words[0]!r}" + (f" and {len(words) - 1} more" if len(words) > 1 else "")
    if fits and any(os.path.exists(word) for word in words):
        option, glob = fits[-1].opts[0], f"*{os.path.splitext(words[0])[1]}"
        return f"{said}: quote the glob, or the shell makes words of it ({option} '{glob}'), or repeat the option for each file"
    if fits:
        option = fits[-1].opts[0]
        return f"{said}: repeat the option for each value: {option} … {option} {words[0]}"
    return f"{said}: an option takes one value; options for Beam follow after --"


def build(planned: PlannedRun, options: Options) -> list[DataSet]:
    """Carry out a run and return its data sets; a job that is not waited for, or only looked at, ends the command here."""
    from ..commands.run import RunOptions, run

    with of_tasks(() if options.no_wait else planned.steps) as progress:
        how = RunOptions(
            workers=options.workers,
            overwrite=options.overwrite,
            wait=not options.no_wait,
            beam_args=options.beam_args,
            verbose=options.verbose,
            progress=progress,
            warn=partial(echo, err=True),
            own_process=(click.get_current_context().obj or {}).get("own_process", False),
        )
        made = run(planned, how)
    if not made:
        if options.no_wait and all(holder(path / STATE) or is_complete(path) for path in planned.directories):
            for directory in planned.directories:
                echo(f"{directory}: {_whereabouts(directory)}")
        else:
            echo("the engine has taken the job to look at, and nothing was run or written (--dry_run)")
        click.get_current_context().exit()
    return made


def _whereabouts(directory: Path) -> str:
    """Say where a job that is not waited for can be looked at, and how its end is seen."""
    job = holder(directory / STATE)
    if job is None:
        return "is complete"
    return f"{job} writes it; it is done when this shows it: bertdata inspect {directory}"


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a line, cleaned; where nobody reads any more (``| head``, a closed terminal), print no more."""
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(clean(text), file=stream)
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # or Python complains of what it still holds for the stream when it ends
        os.close(nowhere)
        if not err and error.errno not in (errno.EPIPE, errno.EIO):
            raise StorageError(f"cannot write to the standard output: {error.strerror}: what was asked for is done") from error


def conclude(made: DataSet, reading: str) -> None:
    """Say what a data set holds, or that it was complete already, and with which line of Python it is read."""
    echo(describe(made.manifest, made.path) if made.new else f"{made.path} is complete already: nothing to do")
    for path, left in leftovers(made.path).items():
        echo(f"{path} ({size(left)}) is left over from a run that was not finished: continue it by its command, or remove it")
    if reading:
        echo(f"Read it with: {reading}")

"""What the commands that build a data set share: options, the plan on the screen, and a safe end."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from .. import manifest
from ..config import read_toml
from ..errors import StorageError, UsageError
from ..files import is_private
from ..lock import Job, hold, holder
from ..output import STATE, is_complete, opened
from ..process import lasting_imports
from ..report.words import describe
from ..terminal import clean
from .bars import Step, of_tasks

if TYPE_CHECKING:
    import apache_beam

__all__ = ["Options", "build", "common_options", "conclude", "echo", "signals", "take_options"]

_BUILDING = ("build-corpus", "train-vocab", "make-pairs")  # what a configuration file may have a table for

F = TypeVar("F", bound=Callable[..., Any])


class Options(NamedTuple):
    """The options that every building command takes."""

    resume: bool
    overwrite: bool
    dry_run: bool
    no_wait: bool
    workers: int | None
    verbose: bool
    beam_args: tuple[str, ...]


def _read_config(ctx: click.Context, _param: click.Parameter, path: Path | None) -> None:
    if path is not None:
        tables = read_toml(path)
        if strange := [name for name, table in tables.items() if name not in _BUILDING or not isinstance(table, dict)]:
            raise UsageError(
                f"{path}: {strange[0]!r} is no table of a command: write [build-corpus], [train-vocab] or [make-pairs]"
            )
        table = tables.get(ctx.info_name or "", {})
        known = {opt.lstrip("-"): param.name or "" for param in ctx.command.params for opt in param.opts}
        if unknown := sorted(table.keys() - known.keys()):
            raise UsageError(f"{path}: [{ctx.info_name}] has no option {unknown[0]!r}: see bertdata {ctx.info_name} --help")
        values = {known[name]: value for name, value in table.items()}
        ctx.default_map = {**(ctx.default_map or {}), **values}


def common_options(command: F) -> F:
    """Add the options that every building command takes, and the arguments for Beam after ``--``."""
    for decorate in (
        click.argument("beam_args", nargs=-1, type=click.UNPROCESSED, metavar="[-- BEAM OPTIONS]"),
        click.option("-v", "--verbose", is_flag=True, help="Show Beam's own log, and tracebacks."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            is_eager=True,
            expose_value=False,
            callback=_read_config,
            help="TOML file with a table of options for this command.",
        ),
        click.option("--workers", type=click.IntRange(min=1), help="Local worker processes.  [default: one a core]"),
        click.option(
            "--no-wait", is_flag=True, help="With an engine that goes on by itself: submit the job, say where to look, and end."
        ),
        click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing."),
        click.option("--overwrite", is_flag=True, help="Replace --output, once the new one is whole."),
        click.option("--resume", is_flag=True, help="Finish an interrupted run: finished tasks are checked and kept."),
    ):
        command = decorate(command)
    return command


def take_options(values: dict[str, Any]) -> Options:
    """Take the common options out of a command's parameters."""
    beam_args = values.pop("beam_args")
    if strange := [arg for arg in beam_args if not arg.startswith("-")]:
        raise click.UsageError(f"unexpected argument {strange[0]!r}; options for Beam follow after --")
    options = Options(**{name: values.pop(name) for name in Options._fields if name != "beam_args"}, beam_args=beam_args)
    logging.basicConfig(level=logging.INFO if options.verbose else logging.CRITICAL, force=True)  # before Beam is imported
    return options


def build(
    directories: Sequence[Path],
    identities: Sequence[dict[str, Any]],
    options: Options,
    *,
    reads: Sequence[str | Path],
    tasks: int,
    steps: Sequence[Step],
    chain: Callable[[list[Path | None]], apache_beam.PTransform],
) -> bool:
    """Open the directories, run the chain for those that are not complete yet, and put them in place.

    `chain` gets, for each directory, where to build it, or None where that is done already; `reads` are the inputs of its tasks.
    Return False if nothing was left to do.  A job that is not waited for, or only looked at, ends the command here.
    """
    from bertdata.pipelines import processes

    workers, local = _workers([*directories, *reads], options), not (options.beam_args or options.no_wait)
    how_run = {"tasks": tasks, "workers": workers, "beam_args": options.beam_args, "verbose": options.verbose}
    if not local and _engine().check(options.beam_args, workers, not options.no_wait):
        _engine().run(chain([*directories]), **how_run)
        echo("the engine has taken the job to look at, and nothing was run or written (--dry_run)")
        click.get_current_context().exit()
    how = {"resume": options.resume, "overwrite": options.overwrite, "stays": not options.no_wait}
    with contextlib.ExitStack() as stack:
        roots = [stack.enter_context(opened(d, i, **how)) for d, i in zip(directories, identities, strict=True)]
        todo = [None if is_complete(root) else root for root in roots]
        first = next((root for root in todo if root is not None), None)
        for root, task in zip(roots, todo, strict=True):
            if task is None:
                manifest.check_files(root, manifest.read(root))
        if first is None:
            return False
        if local:
            stack.enter_context(processes.started(processes.number(workers, tasks), options.verbose))
        keep = functools.partial(_hold, [root for root in todo if root is not None])
        with of_tasks(first, [] if options.no_wait else steps):
            _engine().run(chain(todo), **how_run, wait=not options.no_wait, hold=keep)
    if options.no_wait:
        for directory in directories:
            echo(f"{directory}: {_whereabouts(directory)}")
        click.get_current_context().exit()
    return True


def _engine() -> Any:
    """Import Beam, which takes a second."""
    with lasting_imports():
        from bertdata.pipelines import engine
    return engine


def _hold(roots: Sequence[Path], job: Job | None) -> None:
    for root in roots:
        hold(root / STATE, job)


def _whereabouts(directory: Path) -> str:
    """Say where a job that is not waited for can be looked at, and how its end is seen."""
    job = holder(directory / STATE)
    if job is None:
        return "is complete"
    return f"{job} writes it; it is done when this shows it: bertdata inspect {directory}"


def _workers(paths: Sequence[str | Path], options: Options) -> int | None:
    """Return how many workers the user wants; one where a path is in the memory of this process, which no other can see."""
    private = next(filter(is_private, paths), None)
    if private is None:
        return options.workers
    if (options.workers or 1) > 1 or options.beam_args:
        raise UsageError(f"{private} is in the memory of this process: leave --workers and a --runner away, or give another path")
    return 1


@contextlib.contextmanager
def signals() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into KeyboardInterrupt, whose first argument is the exit code.

    If the way out takes over two seconds, the process ends at once: every file is safe by design.  A signal that is ignored when
    the command starts stays so: SIGHUP by ``nohup``, SIGINT in the background of a script.
    """
    received: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        received.append(128 + number)
        echo("\nbertdata: stopped: finish it with the same command (and --resume, where it has that)", err=True)
        timer = threading.Timer(2, os._exit, received)
        timer.daemon = True
        timer.start()
        for each in heeded:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    heeded = [each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    old = {number: signal.signal(number, stop) for number in heeded}
    try:
        yield
    except BaseException:  # Beam makes an error of its own of what is raised inside a step
        if not received:
            raise
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
    if received:  # also where the interrupt was lost, in code that can raise nothing
        raise KeyboardInterrupt(received[0])


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


def conclude(directory: Path, done: bool, reading: str) -> None:
    """Say what a data set holds, or that it was complete already, and with which line of Python it is read."""
    echo(describe(manifest.read(directory), directory) if done else f"{directory} is complete already: nothing to do")
    if reading:
        echo(f"Read it with: {reading}")

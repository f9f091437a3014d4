"""Print messages and progress: a bar on a terminal, otherwise a line every 30 seconds, or with ``--quiet`` only errors."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ..errors import StorageError
from ..reports.summary import size
from ..storage.signals import Answer, stopped
from ..storage.terminal import clean, unguarded

if TYPE_CHECKING:
    from rich.text import Text
    from typing_extensions import Self

_LINE_INTERVAL_S = 30.0  # between two lines of progress without a terminal
_NOTHING_WRITTEN = partial(Answer, "stopped; nothing was written. Run the same command to start again")
_quiet = False
answer: Callable[[], Answer] = stopped  # of the running command to a signal: how much of the work is kept


@contextlib.contextmanager
def running(*, quiet: bool, verbose: bool, writes: bool) -> Iterator[None]:
    """Configure the output of a command. Without `verbose`, logs and warnings of all libraries are silent.

    `writes`: whether the same command can continue a stopped one.
    """
    global _quiet, answer
    _quiet, answer = quiet, stopped if writes else _NOTHING_WRITTEN
    before = logging.root.manager.disable
    if verbose:
        logging.basicConfig(level=logging.INFO)
    logging.disable(logging.NOTSET if verbose else logging.CRITICAL)  # Dask and others install their own handlers
    try:
        with warnings.catch_warnings():
            if not verbose:
                warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        _quiet = False


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a result on stdout, or a message on stderr. Stop printing once the reader is gone (``| head``)."""
    if _quiet:
        return
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(clean(text), file=stream)
    except OSError as failed:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # otherwise Python fails at exit when it flushes the stream
        os.close(nowhere)
        if not err and failed.errno not in (errno.EPIPE, errno.EIO):
            raise StorageError(f"cannot write to the standard output ({failed.strerror}). The work itself is done") from failed


def error(text: str) -> None:
    """Print the error that ended the command, also with ``--quiet``."""
    global _quiet
    _quiet = False
    echo(f"bertdata: error: {text}", err=True)


class ProgressPrinter:
    """Prints the progress of the stages of a command. On a terminal, each has a bar."""

    def __init__(self) -> None:
        self._bars: Any = None  # rich's Progress
        self._ids: dict[str, Any] = {}
        self._due = time.monotonic() + _LINE_INTERVAL_S

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty() and not _quiet:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            name, facts = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[facts]"))
            console = Console(file=unguarded(sys.stderr))
            self._bars = Progress(name, BarColumn(bar_width=16), facts, TimeElapsedColumn(), console=console)
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars:
            self._bars.stop()

    def show(self, name: str, done: float, total: float, facts: str, seconds_left: float | None = None) -> None:
        """Show that `done` of `total` is finished, and `facts` such as "3 of 9 tasks"."""
        if seconds_left is not None and done < total:
            facts += f"  left {timedelta(seconds=round(seconds_left))}"
        if self._bars:
            if name not in self._ids:
                self._ids[name] = self._bars.add_task(clean(f"{name:12}"), total=None, facts="")
            self._bars.update(self._ids[name], total=total, completed=done, facts=clean(facts))
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + _LINE_INTERVAL_S
            self.line(f"  {name}: {facts}")

    def line(self, text: str) -> None:
        """Print a line above the bars."""
        if self._bars:
            self._bars.console.print(clean(text), markup=False, highlight=False)
        else:
            echo(text, err=True)


def print_wrapped(lines: Iterable[tuple[int, int, Text]]) -> None:
    """Print lines with indents of the first line and the others, wrapped to the width of the terminal, or to 80 columns.

    This bypasses `guard`, which would replace the control characters of colors. The text must be clean already.
    """
    from rich.console import Console

    console = Console(file=unguarded(sys.stdout), highlight=False, markup=False, emoji=False)
    for first, hanging, text in lines:
        for number, line in enumerate(text.wrap(console, max(20, console.width - hanging)) or [text]):
            line.rstrip()
            line.pad_left(hanging if number else first)
            console.print(line, soft_wrap=True)


def bytes_of(printer: ProgressPrinter, name: str) -> Callable[[int, int], None]:
    """Return a function that shows the done and all bytes of `name`, with rate and time left."""
    begun, first = time.monotonic(), -1

    def show(done: int, total: int) -> None:
        nonlocal first
        first = done if first < 0 else first  # bytes of an earlier download
        rate = (done - first) / max(0.001, time.monotonic() - begun)
        facts = f"{size(done)} of {size(total)}  {size(int(rate))}/s"
        printer.show(name, done, total, facts, (total - done) / rate if rate else None)

    return show

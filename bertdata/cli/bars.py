"""Show how far a command is: by bars on a terminal, elsewhere by a line every half minute, or by lines of JSON."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..io.signals import Answer, stopped
from ..io.terminal import unguarded
from ..report.words import count, size
from . import output

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn, TaskID

    from ..commands.progress import Progress, Reporter, Step

__all__ = ["answer", "begin", "drawn", "is_watched", "of_bytes", "reporting"]

_EVERY = 30.0  # seconds between two lines where there is no terminal
_LABEL = 12  # columns for the name of a step
_writes = True  # whether the command that runs leaves something to go on from: it says so in `begin`
_last: dict[str, Progress] = {}  # the last progress of each step, for the answer to a signal


def begin(*, writes: bool) -> None:
    """Take note that a command begins, and whether it `writes` something that the same command would go on from."""
    global _writes
    _writes = writes


def answer() -> Answer:
    """Return what is printed where a signal stops a command: what of it is kept."""
    if not _writes:
        return Answer("stopped; nothing was written: the same command begins anew")
    begun = [progress for progress in _last.values() if progress.done and progress.total]
    return stopped("; ".join(f"{each.step}: {_least(each)} of {count(each.total, 'task')} ({_kept(each)})" for each in begun))


def _least(progress: Progress) -> str:
    """Say how many tasks are done: some more may have been since it was told."""
    return f"{progress.done:,}" if progress.done == progress.total else f"at least {progress.done:,}"


def _kept(progress: Progress) -> str:
    share = f"{progress.done / progress.total:.1%}"
    return f"{share}, {count(progress.documents, 'document')}" if progress.documents else share


def drawn(*columns: ProgressColumn) -> Bars:
    """Return what draws bars of these columns on the standard error."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    return Bars(*columns, console=Console(file=unguarded(sys.stderr)))


def is_watched() -> bool:
    """Return True if the standard error is a terminal, and bars are wanted there."""
    return sys.stderr is not None and sys.stderr.isatty() and not output.is_quiet() and not output.is_json()


@contextlib.contextmanager
def of_bytes() -> Iterator[Bars | None]:
    """Yield what draws bars of bytes; their words are to be cleaned."""
    if not is_watched():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    words = TextColumn("{task.description}", markup=False)
    with drawn(words, BarColumn(bar_width=16), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as bars:
        yield bars


@contextlib.contextmanager
def reporting() -> Iterator[Reporter]:
    """Yield what reports a run in the form that this process prints: bars, lines, JSON or nothing."""
    _last.clear()
    if output.is_quiet():
        yield _Silent()
    elif output.is_json():
        yield _Json()
    elif is_watched():
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        label, facts = TextColumn("{task.description}", markup=False), TextColumn("{task.fields[facts]}", markup=False)
        share = TaskProgressColumn("{task.percentage:>5.1f}%")
        with drawn(label, BarColumn(bar_width=16), share, facts, TimeElapsedColumn(), TimeRemainingColumn()) as bars:
            yield _Bars(bars)
    else:
        yield _Lines()


class _Silent:
    """Print nothing, and keep the last progress of each step for the answer to a signal."""

    def started(self, step: Step) -> None:
        """Do nothing."""

    def progress(self, progress: Progress) -> None:
        """Keep the progress."""
        _last[progress.step] = progress

    def note(self, text: str) -> None:
        """Print a line, unless --quiet is given."""
        output.echo(text, err=True)

    def warning(self, text: str) -> None:
        """Print a line, unless --quiet is given."""
        output.echo(text, err=True, level="warning")


class _Bars(_Silent):
    """A bar for each step."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._numbers: dict[str, TaskID] = {}

    def progress(self, progress: Progress) -> None:
        """Move the bar."""
        super().progress(progress)
        if progress.step not in self._numbers:
            self._numbers[progress.step] = self._bars.add_task(f"{progress.step:{_LABEL}}", total=None, facts="")
        facts = "  ".join(_amounts(progress))
        total = 1.0 if progress.total > 1 or progress.total_bytes else float(progress.done) or None
        self._bars.update(self._numbers[progress.step], total=total, completed=progress.share, facts=facts)


class _Lines(_Silent):
    """A line every half minute, of the last step that has begun."""

    def __init__(self) -> None:
        self._due, self._step = time.monotonic() + _EVERY, ""

    def started(self, step: Step) -> None:
        """Tell of this step from now on."""
        self._step = step.label

    def progress(self, progress: Progress) -> None:
        """Print a line where it is due."""
        super().progress(progress)
        if time.monotonic() >= self._due and progress.step == (self._step or progress.step):
            output.echo(f"  {progress.step}: {'  '.join(_facts(progress))}", err=True)
            self._due = time.monotonic() + _EVERY


class _Json(_Silent):
    """A line of JSON when a step begins, every half minute, and when the step ends."""

    def __init__(self) -> None:
        self._due, self._seen = time.monotonic() + _EVERY, set[tuple[str, bool]]()

    def progress(self, progress: Progress) -> None:
        """Print a line where it is due."""
        super().progress(progress)
        border = (progress.step, progress.done == progress.total > 0)
        if border in self._seen and time.monotonic() < self._due:
            return
        self._seen.add(border)
        self._due = time.monotonic() + _EVERY
        names = ("done", "total", "bytes", "total_bytes", "documents", "rejects", "workers")
        counts = {name: getattr(progress, name) for name in names} | {"bytes_per_second": round(progress.bytes_per_second)}
        left = None if progress.seconds_left is None else round(progress.seconds_left, 1)
        output.event("progress", progress.step, counts, share=round(progress.share, 4), seconds_left=left)


def _facts(progress: Progress) -> list[str]:
    """Return what a line says of a step."""
    if progress.total == 1 and not progress.total_bytes:
        facts = ["done" if progress.done else "at work"]  # nothing tells how far it is
    else:
        facts = [f"{progress.share:.1%}"] if progress.total else [count(progress.done, "task")]
    if progress.total and progress.total_bytes:
        facts.append(f"{size(progress.bytes)} of {size(progress.total_bytes)}")
    facts += [*_amounts(progress), f"elapsed {output.duration(progress.seconds)}"]
    if progress.seconds_left is not None and progress.done < progress.total:
        facts.append(f"left {output.duration(progress.seconds_left)}")
    if progress.workers:
        facts.append(f"{count(progress.workers, 'worker')} at work")
    return facts


def _amounts(progress: Progress) -> list[str]:
    """Return how fast a step is, and what it has counted."""
    facts = []
    if progress.total and progress.total_bytes:
        if rate := round(progress.bytes_per_second):
            facts.append(f"{size(rate)}/s")
    elif progress.total > 1:
        facts.append(f"{progress.done:,} of {count(progress.total, 'task')}")
    if progress.documents:
        facts.append(count(progress.documents, "document"))
    if progress.rejects:
        facts.append(count(progress.rejects, "reject"))
    return facts

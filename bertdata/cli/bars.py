"""Show progress: bars on a terminal, otherwise a line every 30 seconds, or JSON lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..reports.summary import count
from ..storage.signals import Answer, stopped
from ..storage.terminal import clean, unguarded
from . import output

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn, TaskID

    from ..run.progress import Progress, Reporter

__all__ = ["answer", "begin", "bytes_bar", "drawn", "is_watched", "reporting"]

_LINE_INTERVAL_S = 30.0  # between two lines without a terminal
_LABEL_COLUMNS = 12  # width of the step name
_writes = True  # whether the running command can be resumed; set by `begin`
_last: dict[str, Progress] = {}  # the last progress of each step, for the answer to a signal


def begin(*, writes: bool) -> None:
    """Record the start of a command. `writes`: whether the same command can resume from its output."""
    global _writes
    _writes = writes


def answer() -> Answer:
    """Return the message for a command stopped by a signal: how much of its work is kept."""
    if not _writes:
        return Answer("stopped; nothing was written. Run the same command to start again")
    begun = [progress for progress in _last.values() if progress.done and progress.total]
    return stopped("; ".join(f"{each.stage}: {_least(each)} of {count(each.total, 'task')} ({_kept(each)})" for each in begun))


def _least(progress: Progress) -> str:
    """Return the number of finished tasks. More may have finished since the last report."""
    return f"{progress.done:,}" if progress.done == progress.total else f"at least {progress.done:,}"


def _kept(progress: Progress) -> str:
    share = f"{progress.done / progress.total:.1%}"
    return share


def drawn(*columns: ProgressColumn) -> Bars:
    """Return progress bars with these columns, drawn on stderr."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    return Bars(*columns, console=Console(file=unguarded(sys.stderr)))


def is_watched() -> bool:
    """Return True if stderr is a terminal and progress bars are enabled."""
    return sys.stderr is not None and sys.stderr.isatty() and not output.is_quiet() and not output.is_json()


@contextlib.contextmanager
def bytes_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows the done and all bytes of `name`, with rate and time left. Show nothing without a terminal."""
    if not is_watched():
        yield lambda done, of: None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    words = TextColumn("{task.description}", markup=False)
    with drawn(words, BarColumn(bar_width=16), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as bars:
        bar = bars.add_task(clean(name if len(name) <= 25 else f"…{name[-24:]}"), total=None)
        yield lambda done, of: bars.update(bar, completed=done, total=of)


@contextlib.contextmanager
def reporting() -> Iterator[Reporter]:
    """Yield the progress reporter for this process: bars, lines, JSON or silent."""
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
    """Print no progress, but keep the latest of each step for the message after a signal."""

    def progress(self, progress: Progress) -> None:
        """Store the progress."""
        _last[progress.stage] = progress

    def note(self, text: str) -> None:
        """Print a line unless --quiet is set."""
        output.echo(text, err=True)

    def warning(self, text: str) -> None:
        """Print a line unless --quiet is set."""
        output.echo(text, err=True, level="warning")


class _Bars(_Silent):
    """Draw one bar per step."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._numbers: dict[str, TaskID] = {}

    def progress(self, progress: Progress) -> None:
        """Update the bar."""
        super().progress(progress)
        if progress.stage not in self._numbers:
            self._numbers[progress.stage] = self._bars.add_task(f"{progress.stage:{_LABEL_COLUMNS}}", total=None, facts="")
        facts = "  ".join(_amounts(progress))
        total = 1.0 if progress.total > 1 else float(progress.done) or None
        self._bars.update(self._numbers[progress.stage], total=total, completed=progress.share, facts=facts)


class _Lines(_Silent):
    """Print a line every 30 seconds about the step that started last."""

    def __init__(self) -> None:
        self._due, self._step = time.monotonic() + _LINE_INTERVAL_S, ""

    def progress(self, progress: Progress) -> None:
        """Print a line if one is due."""
        if progress.stage not in _last:
            self._step = progress.stage
        super().progress(progress)
        if time.monotonic() >= self._due and progress.stage == self._step:
            output.echo(f"  {progress.stage}: {'  '.join(_facts(progress))}", err=True)
            self._due = time.monotonic() + _LINE_INTERVAL_S


class _Json(_Silent):
    """Print a JSON line when a step starts, every 30 seconds, and when it ends."""

    def __init__(self) -> None:
        self._due, self._seen = time.monotonic() + _LINE_INTERVAL_S, set[tuple[str, bool]]()

    def progress(self, progress: Progress) -> None:
        """Print a line if one is due."""
        super().progress(progress)
        border = (progress.stage, progress.done == progress.total > 0)
        if border in self._seen and time.monotonic() < self._due:
            return
        self._seen.add(border)
        self._due = time.monotonic() + _LINE_INTERVAL_S
        counts = {"done": progress.done, "total": progress.total}
        left = None if progress.seconds_left is None else round(progress.seconds_left, 1)
        output.event("progress", progress.stage, counts, share=round(progress.share, 4), seconds_left=left)


def _facts(progress: Progress) -> list[str]:
    """Return the parts of a progress line."""
    if progress.total == 1:
        facts = ["done" if progress.done else "at work"]
    else:
        facts = [f"{progress.share:.1%}", *_amounts(progress)]
    facts.append(f"elapsed {output.duration(progress.seconds)}")
    if progress.seconds_left is not None and progress.done < progress.total:
        facts.append(f"left {output.duration(progress.seconds_left)}")
    return facts


def _amounts(progress: Progress) -> list[str]:
    return [f"{progress.done:,} of {count(progress.total, 'task')}"] if progress.total > 1 else []

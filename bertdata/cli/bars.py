"""Show progress: bars on a terminal, otherwise a line every 30 seconds, or JSON lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..reports.summary import count, size
from ..storage.signals import Answer, stopped
from ..storage.terminal import clean, unguarded
from . import output

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn, TaskID

    from ..commands.progress import Progress, Reporter

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
    return stopped("; ".join(f"{each.step}: {_least(each)} of {count(each.total, 'task')} ({_kept(each)})" for each in begun))


def _least(progress: Progress) -> str:
    """Return the number of finished tasks. More may have finished since the last report."""
    return f"{progress.done:,}" if progress.done == progress.total else f"at least {progress.done:,}"


def _kept(progress: Progress) -> str:
    share = f"{progress.done / progress.total:.1%}"
    return f"{share}, {count(progress.documents, 'document')}" if progress.documents else share


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
        _last[progress.step] = progress

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
        if progress.step not in self._numbers:
            self._numbers[progress.step] = self._bars.add_task(f"{progress.step:{_LABEL_COLUMNS}}", total=None, facts="")
        facts = "  ".join(_amounts(progress))
        total = 1.0 if progress.total > 1 or progress.total_bytes else float(progress.done) or None
        self._bars.update(self._numbers[progress.step], total=total, completed=progress.share, facts=facts)


class _Lines(_Silent):
    """Print a line every 30 seconds about the step that started last."""

    def __init__(self) -> None:
        self._due, self._step = time.monotonic() + _LINE_INTERVAL_S, ""

    def progress(self, progress: Progress) -> None:
        """Print a line if one is due."""
        if progress.step not in _last:
            self._step = progress.step
        super().progress(progress)
        if time.monotonic() >= self._due and progress.step == self._step:
            output.echo(f"  {progress.step}: {'  '.join(_facts(progress))}", err=True)
            self._due = time.monotonic() + _LINE_INTERVAL_S


class _Json(_Silent):
    """Print a JSON line when a step starts, every 30 seconds, and when it ends."""

    def __init__(self) -> None:
        self._due, self._seen = time.monotonic() + _LINE_INTERVAL_S, set[tuple[str, bool]]()

    def progress(self, progress: Progress) -> None:
        """Print a line if one is due."""
        super().progress(progress)
        border = (progress.step, progress.done == progress.total > 0)
        if border in self._seen and time.monotonic() < self._due:
            return
        self._seen.add(border)
        self._due = time.monotonic() + _LINE_INTERVAL_S
        names = ("done", "total", "bytes", "total_bytes", "documents", "rejects", "workers")
        counts = {name: getattr(progress, name) for name in names} | {"bytes_per_second": round(progress.bytes_per_second)}
        left = None if progress.seconds_left is None else round(progress.seconds_left, 1)
        output.event("progress", progress.step, counts, share=round(progress.share, 4), seconds_left=left)


def _facts(progress: Progress) -> list[str]:
    """Return the parts of a progress line."""
    if progress.total == 1 and not progress.total_bytes:
        facts = ["done" if progress.done else "at work"]  # a single task without a byte count has no share
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
    """Return the speed and the counts of a step."""
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

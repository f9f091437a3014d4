"""Show how far a command is: by bars on a terminal, elsewhere by a line every half minute, or by lines of JSON."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..io.signals import Answer, stopped
from ..io.terminal import unguarded
from ..report.words import count, size
from . import output

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn

    from ..commands.progress import Progress, Step

__all__ = ["answer", "begin", "drawn", "is_watched", "of_bytes", "of_steps"]

_EVERY = 30.0  # seconds between two lines where there is no terminal
_LABEL = 12  # columns for the name of a step, at the least
_LEAST = 34  # columns for the facts beside a bar, which is left out where there are fewer
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
    """Tell whether the standard error is a terminal, and bars are wanted there."""
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
def of_steps(steps: Sequence[Step]) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a function that shows progress in the form that this process prints; None where nothing is to be shown."""
    _last.clear()
    if output.is_quiet():
        yield _remember
    elif is_watched():
        with _bars(steps) as show:
            yield show
    else:
        yield _Lines(steps).show


def _remember(progress: Progress) -> None:
    _last[progress.step] = progress


@contextlib.contextmanager
def _bars(steps: Sequence[Step]) -> Iterator[Callable[[Progress], None]]:
    from rich.progress import BarColumn, TextColumn

    words, facts = TextColumn("{task.description}", markup=False), TextColumn("{task.fields[facts]}", markup=False)
    width = max([_LABEL, *(len(step.label) for step in steps)])
    with drawn(words, BarColumn(bar_width=16), facts) as bars:
        numbers = {
            step.label: bars.add_task(f"{step.label:{width}}", total=1.0, facts="" if number else "starting")
            for number, step in enumerate(steps)
        }

        def show(progress: Progress) -> None:
            _remember(progress)
            name = progress.step if progress.total else ""  # what has no tasks that are known before has one bar
            if name not in numbers:
                numbers[name] = bars.add_task("", total=None, facts="")
            facts = _fitting(_facts(progress), max(bars.console.width - width - 16 - 3, _LEAST))
            bars.update(numbers[name], description=f"{progress.step:{width}.{width}}", completed=progress.share, facts=facts)

        yield show


def _facts(progress: Progress) -> list[tuple[int, str]]:
    """Say how far a step is, fact by fact, each with its rank: those of the highest ranks are left out first."""
    if progress.total == 1 and not progress.total_bytes:
        facts = [(0, "done" if progress.done else "at work")]  # nothing tells how far it is
    else:
        facts = [(0, f"{progress.share:.1%}")] if progress.total else [(0, count(progress.done, "task"))]
    if progress.total and progress.total_bytes:
        facts.append((6, f"{size(progress.bytes)} of {size(progress.total_bytes)}"))
        if rate := round(progress.bytes_per_second):  # nothing tells it before the first task that does not tell how far it is
            facts.append((2, f"{size(rate)}/s"))
    elif progress.total > 1:
        facts.append((6, f"{progress.done:,} of {count(progress.total, 'task')}"))
    if progress.documents:
        facts.append((3, count(progress.documents, "document")))
    if progress.rejects:
        facts.append((4, count(progress.rejects, "reject")))
    facts.append((2, f"elapsed {output.duration(progress.seconds)}"))
    if progress.seconds_left is not None and progress.done < progress.total:
        facts.append((1, f"left {output.duration(progress.seconds_left)}"))
    if progress.workers:
        facts.append((5, f"{count(progress.workers, 'worker')} at work"))
    return facts


def _fitting(facts: list[tuple[int, str]], width: int) -> str:
    """Put together as many facts as fit a width.

    >>> _fitting([(0, "42.0%"), (2, "3.1 MB/s"), (1, "left 0:01:20")], 20)
    '42.0%  left 0:01:20'
    """
    kept = list(facts)
    while len(kept) > 1 and len("  ".join(text for _, text in kept)) > width:
        kept.remove(max(kept))
    return "  ".join(text for _, text in kept)


class _Lines:
    """A line now and then; of JSON also when a step begins and when it ends."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._due = time.monotonic() + _EVERY
        self._seen: set[tuple[str, bool]] = set()
        self._order, self._at = [step.label for step in steps], 0

    def show(self, progress: Progress) -> None:
        _remember(progress)
        is_due = self._is_next(progress.step) and time.monotonic() >= self._due
        if output.is_json():
            border = (progress.step, progress.done == progress.total > 0)
            if is_due or border not in self._seen:
                self._seen.add(border)
                output.event(
                    "progress",
                    progress.step,
                    _counts(progress),
                    share=round(progress.share, 4),
                    seconds_left=_rounded(progress.seconds_left),
                )
                self._due = time.monotonic() + _EVERY
        elif is_due:
            output.echo(f"  {progress.step}: {_fitting(_facts(progress), 1000)}", err=True)
            self._due = time.monotonic() + _EVERY

    def _is_next(self, step: str) -> bool:
        """Tell whether a step is the last one that a line told of, or comes after it; what is not planned comes last."""
        at = self._order.index(step) if step in self._order else len(self._order)
        if at >= self._at:
            self._at = at
        return at == self._at


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def _counts(progress: Progress) -> dict[str, float]:
    names = ("done", "total", "bytes", "total_bytes", "documents", "rejects", "workers")
    return {name: getattr(progress, name) for name in names} | {"bytes_per_second": round(progress.bytes_per_second)}

"""How far a command is: bars on a terminal, elsewhere a line every half minute, or lines of JSON."""

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

__all__ = ["answer", "drawn", "is_watched", "of_bytes", "of_steps"]

_EVERY = 30.0  # seconds between two lines where there is no terminal
_LOOKING = frozenset(("doctor", "inspect", "report", "templates", "trace", "verify"))  # commands with nothing to go on from
_LEAST = 34  # columns for what is told beside a bar, which is left out where there are fewer
_last: dict[str, Progress] = {}  # what was told last of each step, for who stops the run


def answer() -> Answer:
    """Say to who stops a command what of it is kept."""
    if next((word for word in sys.argv[1:] if not word.startswith("-")), "") in _LOOKING:
        return Answer("stopped; nothing was written: the same command begins anew")
    begun = [told for told in _last.values() if told.done and told.total]
    told = "; ".join(f"{each.step}: {each.done:,} of {count(each.total, 'task')} ({_kept(each)})" for each in begun)
    return stopped(told)


def _kept(told: Progress) -> str:
    share = f"{told.done / told.total:.1%}"
    return f"{share}, {count(told.documents, 'document')}" if told.documents else share


def drawn(*columns: ProgressColumn) -> Bars:
    """Return what draws bars of these columns on the standard error."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    return Bars(*columns, console=Console(file=unguarded(sys.stderr)))


def is_watched() -> bool:
    """Tell whether someone looks at a terminal, and wants more than errors and lines of JSON."""
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
    """Yield what shows the progress that it is told, as this process speaks; None where nothing is to be shown."""
    _last.clear()
    if output.is_quiet():
        yield _keep
    elif is_watched():
        with _bars(steps) as show:
            yield show
    else:
        yield _Lines().show


def _keep(told: Progress) -> None:
    _last[told.step] = told


@contextlib.contextmanager
def _bars(steps: Sequence[Step]) -> Iterator[Callable[[Progress], None]]:
    from rich.progress import BarColumn, TextColumn

    words, facts = TextColumn("{task.description}", markup=False), TextColumn("{task.fields[told]}", markup=False)
    with drawn(words, BarColumn(bar_width=16), facts) as bars:
        numbers = {
            step.label: bars.add_task(f"{step.label:12}", total=1.0, told="" if number else "starting")
            for number, step in enumerate(steps)
        }

        def show(told: Progress) -> None:
            _keep(told)
            name = told.step if told.total else ""  # what has no tasks that are known before has one bar
            if name not in numbers:
                numbers[name] = bars.add_task("", total=None, told="")
            facts = _fitting(_facts(told), max(bars.console.width - 12 - 16 - 3, _LEAST))
            bars.update(numbers[name], description=f"{told.step:12.12}", completed=told.share, told=facts)

        yield show


def _facts(told: Progress) -> list[tuple[int, str]]:
    """Say how far a step is, fact by fact, each with its rank: those of high rank go first where there is no room."""
    facts = [(0, f"{told.share:.1%}")] if told.total else [(0, count(told.done, "task"))]
    if told.total and told.total_bytes:
        facts += [(6, f"{size(told.bytes)} of {size(told.total_bytes)}"), (2, f"{size(round(told.bytes_per_second))}/s")]
    elif told.total:
        facts.append((6, f"{told.done:,} of {count(told.total, 'task')}"))
    if told.documents:
        facts.append((3, count(told.documents, "document")))
    if told.rejects:
        facts.append((4, count(told.rejects, "reject")))
    facts.append((2, f"elapsed {output.duration(told.seconds)}"))
    if told.seconds_left is not None and told.done < told.total:
        facts.append((1, f"left {output.duration(told.seconds_left)}"))
    if told.workers:
        facts.append((5, f"{count(told.workers, 'worker')} at work"))
    return facts


def _fitting(facts: list[tuple[int, str]], width: int) -> str:
    """Put together as many facts as there is room for.

    >>> _fitting([(0, "42.0%"), (2, "3.1 MB/s"), (1, "left 0:01:20")], 20)
    '42.0%  left 0:01:20'
    """
    kept = list(facts)
    while len(kept) > 1 and len("  ".join(text for _, text in kept)) > width:
        kept.remove(max(kept))
    return "  ".join(text for _, text in kept)


class _Lines:
    """A line now and then; of JSON also when a step begins and when it ends."""

    def __init__(self) -> None:
        self._due = time.monotonic() + _EVERY
        self._seen: set[tuple[str, bool]] = set()

    def show(self, told: Progress) -> None:
        _keep(told)
        if output.is_json():
            border = (told.step, told.done == told.total > 0)
            if border not in self._seen or time.monotonic() >= self._due:
                self._seen.add(border)
                output.event(
                    "progress", told.step, _counts(told), share=round(told.share, 4), seconds_left=_rounded(told.seconds_left)
                )
                self._due = time.monotonic() + _EVERY
        elif time.monotonic() >= self._due:
            output.echo(f"  {told.step}: {_fitting(_facts(told), 1000)}", err=True)
            self._due = time.monotonic() + _EVERY


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def _counts(told: Progress) -> dict[str, float]:
    names = ("done", "total", "bytes", "total_bytes", "documents", "rejects", "workers")
    return {name: getattr(told, name) for name in names} | {"bytes_per_second": round(told.bytes_per_second)}

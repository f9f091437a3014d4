"""Progress bars of tasks and of bytes, with rate and time left; nothing where no one looks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..io.terminal import unguarded

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn

    from ..commands.run import Progress, Step

__all__ = ["of_bytes", "of_tasks"]


def _drawn(*columns: ProgressColumn) -> Bars:
    from rich.console import Console
    from rich.progress import Progress as Bars

    return Bars(*columns, console=Console(file=unguarded(sys.stderr)))


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def of_bytes() -> Iterator[Bars | None]:
    """Yield what draws bars of bytes; their words are to be cleaned."""
    if not _is_watched():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    words = TextColumn("{task.description}", markup=False)
    with _drawn(words, BarColumn(bar_width=16), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as bars:
        yield bars


@contextlib.contextmanager
def of_tasks(steps: Sequence[Step]) -> Iterator[Callable[[Progress], None] | None]:
    """Yield what draws a bar a step from the progress that it is told; None where no one looks."""
    if not _is_watched():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:18}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with _drawn(*columns) as bars:
        numbers = {step.label: bars.add_task(step.label, total=step.total, rate="") for step in steps}

        def show(progress: Progress) -> None:
            number = numbers[progress.step]
            bars.update(number, completed=progress.done)
            speed = bars.tasks[number].speed
            bars.update(number, rate=f"{speed:.2f}/s" if speed else "")

        yield show

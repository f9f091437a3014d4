"""Progress bars of tasks and of bytes, with rate and time left; nothing where no one looks."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..files import is_local
from ..output import count_done
from ..terminal import unguarded

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

__all__ = ["Step", "of_bytes", "of_tasks"]


class Step(NamedTuple):
    """A step that is shown as a progress bar: its label, its records under ``tasks/``, and how many tasks it has."""

    label: str
    name: str
    total: int


def _drawn(*columns: ProgressColumn) -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(file=unguarded(sys.stderr)))


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def of_bytes() -> Iterator[Progress | None]:
    """Yield what draws bars of bytes; their words are to be cleaned."""
    if not _is_watched():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    words = TextColumn("{task.description}", markup=False)
    with _drawn(words, BarColumn(bar_width=16), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as bars:
        yield bars


@contextlib.contextmanager
def of_tasks(root: Path, steps: Sequence[Step]) -> Iterator[None]:
    """Draw a bar a step, from the records of finished tasks."""
    if not _is_watched():
        yield
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
    finished = threading.Event()
    with _drawn(*columns) as bars:
        numbers = {step: bars.add_task(step.label, total=step.total, rate="") for step in steps}

        def refresh() -> None:
            for step, number in numbers.items():
                done = count_done(root, step.name)  # nothing, once the run is committed and its records are gone
                bars.update(number, completed=max(done, int(bars.tasks[number].completed)))
                speed = bars.tasks[number].speed
                bars.update(number, rate=f"{speed:.2f}/s" if speed else "")

        def watch() -> None:
            while not finished.wait(0.5 if is_local(root) else 5):
                refresh()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
            for step, number in numbers.items():
                bars.update(number, completed=step.total)
        finally:
            finished.set()
            watcher.join()

"""`bertdata verify`: read datasets again, all of them, and tell what is not as it was written."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from ..errors import NoInputError, VerificationError
from ..io.terminal import clean
from ..report.words import count, size
from .bars import of_bytes
from .options import Command, in_options
from .paths import to_path
from .run import echo

__all__ = ["command"]

_LINES = 50  # about damaged files of one dataset; the others are counted


@click.command("verify", cls=Command, arrow=True, writes=False)
@click.argument("directories", nargs=-1, required=True, type=to_path, metavar="DIRECTORY...")
@click.option("--workers", type=click.IntRange(min=1), help="Local processes.  [default: one per CPU, fewer for little input]")
def command(directories: tuple[Path, ...], workers: int | None) -> None:
    """Read each DIRECTORY again, all of it: documents, a vocabulary, pairs or an export.

    Checked are every file's bytes and digest, the manifest itself, and files that it does not know; then what files hold:
    schemas, rows, end marks, the laws that documents, vocabularies and pairs keep, and that all counts add up.
    Exports are checked by sizes, digests and counts.

    Exit code 6 and a line for each file that is damaged.  A failing disk is exit code 4.  What `bertdata train` writes is no
    dataset: a checkpoint is checked when it is loaded.
    """
    from ..dataset import manifest
    from ..verification import verify

    for directory in directories:  # before the first is read for hours
        _refuse_run(directory)
        with contextlib.suppress(VerificationError):
            manifest.read(directory)
    damaged = []
    for directory in directories:
        start = time.monotonic()
        with _progress(directory) as progress:
            result = verify(directory, workers=workers, progress=progress)
        for problem in result.problems[:_LINES]:
            echo(f"{directory / problem.name}: {in_options(problem.what)}", err=True)
        if len(result.problems) > _LINES:
            echo(f"{directory}: and {count(len(result.problems) - _LINES, 'file')} more", err=True)
        for note in result.notes:
            echo(f"note: {note}", err=True)
        if result.problems:
            damaged.append(f"{directory} ({count(len(result.problems), 'file')})")
        else:
            rate = size(int(result.bytes / max(0.001, time.monotonic() - start)))
            rows = f", {count(result.rows, 'row')}" if result.kind != "vocabulary" else ""
            checked = f"{count(result.files, 'file')}{rows}, {size(result.bytes)}"
            echo(f"{directory}: {result.kind}, {checked}: all as written ({rate}/s)")
    if damaged:
        remedy = "restore what is named above, remove what does not belong, or build it again"
        raise VerificationError(f"not as written: {', '.join(damaged)}: {remedy}")


def _refuse_run(directory: Path) -> None:
    """Raise NoInputError for the directory of a training run, or for a checkpoint."""
    if not (directory / "manifest.json").exists() and any((directory / n).exists() for n in ("metrics.jsonl", "state.json")):
        raise NoInputError(
            f"{directory} is of a training run, which has no digests to verify: a checkpoint is checked when it is loaded; give "
            "what build-corpus, train-vocab or make-pairs has written"
        )


@contextlib.contextmanager
def _progress(directory: Path) -> Iterator[Callable[[int, int], None]]:
    """Draw a bar of the bytes that are read, with rate and time left; nothing where no one looks."""
    with of_bytes() as bars:
        if bars is None:
            yield lambda done, of: None
            return
        bar = bars.add_task(clean(f"…{directory.name[-24:]}"), total=None)
        yield lambda done, of: bars.update(bar, completed=done, total=of)

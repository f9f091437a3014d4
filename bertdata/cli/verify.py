"""`bertdata verify`: check datasets for corruption and inconsistent contents."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from ..errors import VerificationError
from ..reports.summary import count, size
from .build import workers_option
from .console import ProgressPrinter, bytes_of, echo
from .options import Command, to_path

_MAX_PROBLEM_LINES = 50  # per dataset; further problems are only counted


@click.command("verify", cls=Command, arrow=True, writes=False)
@click.argument("directories", nargs=-1, required=True, type=to_path, metavar="DIRECTORY...")
@workers_option
def command(directories: tuple[Path, ...], workers: int | None) -> None:
    """Check each DIRECTORY for corruption and inconsistent contents: a corpus, a vocabulary, rows or an export.

    The command reads every file. It checks sizes, digests, the manifest and unlisted files. Then it checks schemas, the end of
    each shard, the contents of documents, vocabularies and rows, and all counts. For exports it checks sizes, digests and counts.

    It prints a line for each damaged file and exits with code 6. A disk error exits with code 4. The output of `bertdata train`
    is not a dataset: checkpoints are checked when they are loaded.
    """
    from ..dataset import manifest
    from ..verification import verify

    for directory in directories:  # find mistakes before reading for hours
        with contextlib.suppress(VerificationError):
            manifest.read(directory)
    damaged = []
    for directory in directories:
        with ProgressPrinter() as printer:
            result = verify(directory, workers=workers, progress=bytes_of(printer, directory.name))
        for problem in result.problems[:_MAX_PROBLEM_LINES]:
            echo(f"{directory / problem.name}: {problem.what}", err=True)
        if len(result.problems) > _MAX_PROBLEM_LINES:
            echo(f"{directory}: and {count(len(result.problems) - _MAX_PROBLEM_LINES, 'file')} more", err=True)
        for note in result.notes:
            echo(f"note: {note}", err=True)
        if result.problems:
            damaged.append(f"{directory} ({count(len(result.problems), 'file')})")
        else:
            rows = f", {count(result.rows, 'row')}" if result.kind != "vocabulary" else ""
            checked = f"{count(result.files, 'file')}{rows}, {size(result.bytes)}"
            echo(f"{directory}: {result.kind}, {checked}: all as written")
    if damaged:
        remedy = "restore the files listed above, remove extra files, or build the dataset again"
        raise VerificationError(f"not as written: {', '.join(damaged)}: {remedy}")

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

    The command reads every file of the manifest. It checks sizes, digests and unlisted files, then schemas, the contents of
    documents, vocabularies and rows, and all counts. For exports it checks sizes, digests and counts. It ignores report.html.

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
            content = result.kind if not result.rows else count(result.rows, "document" if result.kind == "documents" else "row")
            unchecked = "; report.html is not checked" if result.kind != "export" else ""
            files = count(result.files, "file")
            echo(f"{directory}: all as written ({content}, {files}, {size(result.bytes)}{unchecked})")
    if damaged:
        remedy = "Restore the files listed above, remove extra files, or build the dataset again"
        raise VerificationError(f"not as written: {', '.join(damaged)}. {remedy}")

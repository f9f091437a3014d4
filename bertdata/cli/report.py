"""`bertdata report`: write an HTML report about datasets or training runs."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ..errors import UsageError
from .options import Command
from .paths import to_path
from .run import echo

__all__ = ["command"]


@click.command("report", cls=Command, arrow=True, writes=False)
@click.argument("directories", nargs=-1, required=True, type=to_path, metavar="DIRECTORY...")
@click.option(
    "--output",
    type=to_path,
    metavar="FILE",
    help="HTML file to write. Required for several directories.  [default: report.html in DIRECTORY]",
)
def command(directories: tuple[Path, ...], output: Path | None) -> None:
    """Write an HTML report about each DIRECTORY, and compare datasets or training runs of the same kind.

    The page is a single file without scripts or network access. It is based on the manifest and a sample of the rows, so it
    takes seconds at any size. build-corpus, train-vocab and make-pairs also write report.html. Run this command to write it
    again with the duration of each stage, if available.

    \b
        bertdata report pairs
        bertdata report pairs-a pairs-b --output compared.html
    """
    from ..reports.page.write import write

    if len(directories) > 1 and output is None:
        again = shlex.join(["bertdata", "report", *map(str, directories), "--output", "compared.html"])
        raise UsageError(f"several directories need --output: {again}")
    path, new = write(*directories, output=output)
    echo(f"{path}" if new else f"{path} is complete already: nothing to do")

"""`bertdata report`: one HTML page that shows what datasets or training runs hold, and what became of all that went in."""

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
    "--output", type=to_path, metavar="FILE", help="HTML file; several directories need it.  [default: report.html in DIRECTORY]"
)
def command(directories: tuple[Path, ...], output: Path | None) -> None:
    """Write a page about each DIRECTORY, a dataset or a training run; those of one kind are compared.

    The page is one file, which needs neither a network nor scripts.  It is made of the manifest and of a part of the rows, so it
    takes seconds for any size.  build-corpus, train-vocab and make-pairs write report.html as well; written anew by this command
    it also says how long the stages took, where that is known.

    \b
        bertdata report pairs
        bertdata report pairs-a pairs-b --output compared.html
    """
    from ..report.page.write import write

    if len(directories) > 1 and output is None:
        again = shlex.join(["bertdata", "report", *map(str, directories), "--output", "compared.html"])
        raise UsageError(f"several directories need a file for their page: {again}")
    path, new = write(*directories, output=output)
    echo(f"{path}" if new else f"{path} is complete already: nothing to do")

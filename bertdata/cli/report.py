"""`bertdata report`: write an HTML report about a dataset or a training run."""

from __future__ import annotations

from pathlib import Path

import click

from .console import echo
from .options import Command, to_path


@click.command("report", cls=Command, arrow=True, writes=False)
@click.argument("directory", required=True, type=to_path, metavar="DIRECTORY")
@click.option("--output", type=to_path, metavar="FILE", help="HTML file to write.  [default: report.html in DIRECTORY]")
def command(directory: Path, output: Path | None) -> None:
    """Write an HTML report about a dataset or a training run.

    The page is a single file without scripts or network access. It is made from the manifest and a sample of the rows in
    seconds. build-corpus, train-vocab and make-pairs also write report.html, and this command writes it again.

    \b
        bertdata report pairs
        bertdata report run --output run.html
    """
    from ..reports.page import report

    echo(str(report(directory, output=output)))

"""`bertdata status`: show whether a run is complete, running or unfinished."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..reports.summary import count
from .options import Command
from .output import echo
from .paths import to_path

__all__ = ["command"]

_EXIT_CODES = {"complete": 0, "missing": 2, "unfinished": 3, "running": 5}


@click.command("status", cls=Command, arrow=True, writes=False)
@click.argument("directory", type=to_path)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for scripts.")
@click.pass_context
def command(ctx: click.Context, directory: Path, as_json: bool) -> None:
    """Show whether the run that writes DIRECTORY is complete, running or unfinished, and how many tasks are finished.

    Exit codes: 0 complete, 2 no dataset and no run, 3 unfinished (run the same command again to resume), 5 running.
    """
    from ..commands.status import status

    found = status(directory)
    tasks = "".join(f"; {step}: {count(number, 'task')} finished" for step, number in found.finished.items())
    if as_json:
        echo(json.dumps(found._asdict()))
    elif found.state == "complete":
        echo(f"{directory}: complete: {found.contents}, {count(found.rows, 'row')}")
    elif found.state == "missing":
        echo(f"{directory}: no dataset and no run")
    else:
        by = f", {found.by}" if found.by else ""
        echo(f"{directory}: {found.state}: {found.contents}{by}{tasks}")
    ctx.exit(_EXIT_CODES[found.state])

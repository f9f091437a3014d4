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
    """Show whether the run that writes DIRECTORY is complete, running or unfinished, and how many tasks or steps are finished.

    Exit codes: 0 complete, 2 no dataset and no run, 3 unfinished (run the same command again to resume), 5 running.
    """
    from ..commands.status import status

    found = status(directory)
    unit = "step" if found.contents == "train" else "task"
    tasks = "".join(f"; {step}: {count(number, unit)} finished" for step, number in found.finished.items())
    if as_json:
        echo(json.dumps(found._asdict()))
    elif found.state == "complete":
        rows = "" if found.contents == "train" else f", {count(found.rows, 'row')}"
        echo(f"{directory}: complete: {found.contents}{rows}{tasks}")
    elif found.state == "missing":
        echo(f"{directory}: no dataset and no run")
    elif not found.contents and not found.by:
        echo(
            f"{directory}: unfinished: the run stopped before it finished a task. Fix its error if it had one, then run it again"
        )
    else:
        by = f", {found.by}" if found.by else ""
        echo(f"{directory}: {found.state}: {found.contents}{by}{tasks}")
    ctx.exit(_EXIT_CODES[found.state])

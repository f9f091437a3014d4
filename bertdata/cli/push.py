"""`bertdata push`: upload a dataset to the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import PushConfig
from ..reports.summary import count
from .bars import bytes_bar
from .build_commands import echo
from .options import Command, config_options, take
from .paths import to_path

__all__ = ["command"]


@click.command("push", cls=Command)
@click.argument("directory", type=to_path)
@click.argument("name", metavar="OWNER/NAME")
@config_options(PushConfig)
@click.option("--overwrite", is_flag=True, help="Replace a different dataset at this name and remove its files.")
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks.")
def command(directory: Path, name: str, overwrite: bool, verbose: bool, **values: Any) -> None:
    """Upload the dataset in DIRECTORY to the Hugging Face Hub, with its data card and splits.

    The token is read from HF_TOKEN or `hf auth login`. The upload skips identical files, so you can run the same command again
    to resume it. At the end, it compares the digest of each file with the Hub's.

    \b
        bertdata push pairs-128 ada/pairs-128 --format parquet
    """
    from ..commands.push import push

    with bytes_bar(name) as progress:
        done = push(directory, name, config=take(PushConfig, values), overwrite=overwrite, progress=progress)
    at = f" at {done.commit[:12]}" if done.commit else ""
    sent = count(done.sent, "file") + " sent" if done.commit else "nothing to do"
    echo(f"{done.address}{at}: {sent}, {done.kept} there already; digests are right")

"""`bertdata push`: a dataset on the Hugging Face Hub."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from ..config import PushConfig
from ..io.terminal import clean
from ..report.words import count
from .bars import of_bytes
from .options import Command, config_options, take
from .paths import to_path
from .run import echo

__all__ = ["command"]


@click.command("push", cls=Command)
@click.argument("directory", type=to_path)
@click.argument("name", metavar="OWNER/NAME")
@config_options(PushConfig)
@click.option("--overwrite", is_flag=True, help="Replace another dataset that is there, and remove its files.")
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks.")
def command(directory: Path, name: str, overwrite: bool, verbose: bool, **values: Any) -> None:
    """Put the dataset in DIRECTORY on the Hugging Face Hub, with its card and splits.

    The token is HF_TOKEN, or that of `hf auth login`.  Files that are there as they are here are not sent again, so the same
    command goes on after an interruption; at the end each file is compared with what the Hub says that it has.

    \b
        bertdata push pairs-128 ada/pairs-128 --format parquet
    """
    from ..commands.push import push

    with _progress(name) as progress:
        done = push(directory, name, config=take(PushConfig, values), overwrite=overwrite, progress=progress)
    at = f" at {done.commit[:12]}" if done.commit else ""
    sent = count(done.sent, "file") + " sent" if done.commit else "nothing to do"
    echo(f"{done.address}{at}: {sent}, {done.kept} there already; digests are right")


@contextlib.contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a bar of the bytes that are done; nothing where no one looks."""
    with of_bytes() as bars:
        if bars is None:
            yield None
            return
        bar = bars.add_task(clean(f"…{name[-24:]}"), total=None)
        yield lambda done, of: bars.update(bar, completed=done, total=of)

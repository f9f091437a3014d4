"""`bertdata download`: fetch Wikipedia dumps and Hugging Face datasets, with checksums and resume."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..commands.download import WIKIMEDIA
from ..errors import UsageError
from ..reports.summary import count, size
from ..storage.files import is_local
from .console import ProgressPrinter, bytes_of, echo
from .options import Command

if TYPE_CHECKING:
    from ..commands.download import Download


@click.group("download")
def command() -> None:
    """Download Wikipedia dumps and Hugging Face datasets.

    Run the same command again to resume an interrupted download, or to check a finished one.
    """


def _local(_ctx: click.Context, _param: click.Parameter, value: str) -> Path:
    if not is_local(value):
        raise UsageError(f"--output {value}: downloads need a local directory. Pass a path on this machine")
    return Path(value)


_output = click.option("--output", required=True, callback=_local, metavar="DIR", help="Directory for the files.")
_dry_run = click.option("--dry-run", is_flag=True, help="List the files and their sizes without downloading them.")
_connections = partial(click.option, "--connections", show_default=True, help="Number of parallel downloads.")


@command.command("wikipedia", cls=Command, short_help="Download the articles of a Wikipedia.")
@click.option("--language", required=True, metavar="CODE", help="Code of the Wikipedia, such as en, zh, zh-yue or simple.")
@click.option("--date", default="", metavar="YYYYMMDD", help="Date of the dump.  [default: latest complete dump]")
@click.option("--base-url", default=WIKIMEDIA, show_default=True, help="Dump server or mirror.")
@click.option(
    "--contact", default="", help="Your e-mail address or web page for the User-Agent header, as Wikimedia's policy requests."
)
@_connections(type=click.IntRange(1, 3), default=2)  # the robot policy of dumps.wikimedia.org allows two
@_dry_run
@_output
def wikipedia(language: str, date: str, base_url: str, contact: str, connections: int, dry_run: bool, output: Path) -> None:
    """Download the articles of a Wikipedia: its multistream dump files, indexes and checksums.

    \b
        bertdata download wikipedia --language zh --output dumps
    """
    from ..commands.download import find_wikipedia

    found = find_wikipedia(language, date, base_url, contact, partial(echo, err=True))
    dumps = output / f"{found.title}-pages-articles*.xml*.bz2"
    _fetch(found, output, connections, dry_run, f"bertdata build-corpus --wikipedia '{dumps}' --output corpus")


@command.command("hub", cls=Command)
@click.argument("name")
@click.option("--config", default="", help="Configuration of the dataset.  [default: the dataset's default, or all files]")
@click.option("--split", default="", help="Split, such as train.  [default: all]")
@click.option(
    "--revision", default="", help="Branch, tag or commit. refs/convert/parquet has most datasets as tables.  [default: main]"
)
@click.option("--base-url", default="", help="URL of the Hub.  [default: HF_ENDPOINT, or https://huggingface.co]")
@_connections(type=click.IntRange(1, 8), default=4)
@_dry_run
@_output
def hub(name: str, config: str, split: str, revision: str, base_url: str, connections: int, dry_run: bool, output: Path) -> None:
    """Download the tables and text files of a Hugging Face dataset.

    \b
        bertdata download hub OWNER/NAME --split train --output books
    """
    from ..commands.download import find_hub

    found = find_hub(name, config, split, revision, base_url, partial(echo, err=True))
    go_on = f"bertdata build-corpus --text '{output}' --output corpus   (--books for a table of books)"
    _fetch(found, output, connections, dry_run, go_on)


def _fetch(found: Download, output: Path, connections: int, dry_run: bool, go_on: str) -> None:
    """Print the total to download, and download, or in a dry run list the files."""
    from ..sources.download.transfer import missing_bytes

    total, to_come = sum(file.size for file in found.files), missing_bytes(found.files, output)
    for file in found.files if dry_run else ():
        echo(f"  {size(file.size):>9}  {file.name}")
    rest = "" if to_come == total else f", {size(to_come)} to come" if to_come else ", all of it there"
    echo(f"{found.title}: {count(len(found.files), 'file')}, {size(total)}{rest} -> {output}", err=not dry_run)
    if dry_run:
        return
    done_bytes = dict[str, int]()
    with ProgressPrinter() as printer:
        show = bytes_of(printer, "download")

        def progress(name: str, at: int) -> None:
            done_bytes[name] = at
            show(sum(done_bytes.copy().values()), total)

        found.fetch(output, connections, progress)
    done = "" if to_come else ": nothing to do"
    echo(f"{output} has {count(len(found.files), 'file')}, {size(total)}; lengths and checksums are right{done}")
    echo(f"Go on with: {go_on}")

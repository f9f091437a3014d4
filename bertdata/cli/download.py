"""`bertdata download`: fetch Wikipedia dumps and Hugging Face datasets, with checksums and resume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..commands.download import WIKIMEDIA
from ..errors import UsageError
from ..reports.summary import count, size
from ..storage.files import is_local
from .bars import bytes_bar
from .build_commands import echo
from .options import Command

if TYPE_CHECKING:
    from ..sources.download.client import Client
    from ..sources.download.transfer import RemoteFile

__all__ = ["command"]


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


def _connections(most: int, default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    kind = click.IntRange(1, most)
    return click.option("--connections", type=kind, default=default, show_default=True, help="Number of parallel downloads.")


@command.command("wikipedia", cls=Command, short_help="Download the articles of a Wikipedia.")
@click.option("--language", required=True, metavar="CODE", help="Code of the Wikipedia, such as en, zh, zh-yue or simple.")
@click.option("--date", default="", metavar="YYYYMMDD", help="Date of the dump.  [default: latest complete dump]")
@click.option("--base-url", default=WIKIMEDIA, show_default=True, help="Dump server or mirror.")
@click.option(
    "--contact", default="", help="Your e-mail address or web page for the User-Agent header, as Wikimedia's policy requests."
)
@_connections(3, 2)  # the robot policy of dumps.wikimedia.org allows two
@_dry_run
@_output
def wikipedia(language: str, date: str, base_url: str, contact: str, connections: int, dry_run: bool, output: Path) -> None:
    """Download the articles of a Wikipedia: its multistream dump files, indexes and checksums.

    \b
        bertdata download wikipedia --language zh --output dumps
    """
    from ..sources.download.client import Client, user_agent
    from ..sources.download.wikimedia import find_dump

    client = Client({"User-Agent": user_agent(contact)}, note=_note)
    dump = find_dump(client, language, date, base_url)
    _say(f"{dump.wiki} of {dump.date}", dump.files, output, dry_run)
    if not dry_run:
        _fetch(dump.files, output, client, connections, sums=dump.sums)
        dumps = output / f"{dump.wiki}-{dump.date}-pages-articles*.xml*.bz2"
        echo(f"Go on with: bertdata build-corpus --wikipedia '{dumps}' --output corpus")


@command.command("hub", cls=Command)
@click.argument("name")
@click.option("--config", default="", help="Configuration of the dataset.  [default: the dataset's default, or all files]")
@click.option("--split", default="", help="Split, such as train.  [default: all]")
@click.option(
    "--revision", default="", help="Branch, tag or commit. refs/convert/parquet has most datasets as tables.  [default: main]"
)
@click.option("--base-url", default="", help="URL of the Hub.  [default: HF_ENDPOINT, or https://huggingface.co]")
@_connections(8, 4)
@_dry_run
@_output
def hub(name: str, config: str, split: str, revision: str, base_url: str, connections: int, dry_run: bool, output: Path) -> None:
    """Download the tables and text files of a Hugging Face dataset.

    \b
        bertdata download hub OWNER/NAME --split train --output books
    """
    from ..sources.download.client import Client, user_agent
    from ..sources.download.hub import find_data_set

    data_set = find_data_set(name, config=config, split=split, revision=revision, endpoint=base_url)
    client = Client({"User-Agent": user_agent(), **data_set.headers}, note=_note)
    if data_set.is_partial:
        _note(f"{name}: the Hub has converted only the first gigabytes. Convert the other files yourself")
    _say(f"{data_set.name} at {data_set.commit[:12]}", data_set.files, output, dry_run)
    if not dry_run:
        _fetch(data_set.files, output, client, connections)
        echo(f"Go on with: bertdata build-corpus --text '{output}' --output corpus   (--books for a table of books)")


def _note(text: str) -> None:
    echo(text, err=True)


def _say(what: str, files: Sequence[RemoteFile], output: Path, dry_run: bool) -> None:
    """Print the total to download, and in a dry run each file."""
    from ..sources.download.transfer import missing_bytes

    total, to_come = sum(file.size for file in files), missing_bytes(files, output)
    for file in files if dry_run else ():
        echo(f"  {size(file.size):>9}  {file.name}")
    rest = "" if to_come == total else f", {size(to_come)} to come" if to_come else ", all of it there"
    echo(f"{what}: {count(len(files), 'file')}, {size(total)}{rest} -> {output}", err=not dry_run)


def _fetch(
    files: Sequence[RemoteFile], output: Path, client: Client, connections: int, sums: tuple[str, str] | None = None
) -> None:
    """Download files. Also write their checksum file, if `sums` has its name and text."""
    from ..commands.download import fetch
    from ..sources.download.transfer import missing_bytes

    to_come, total, done_bytes = missing_bytes(files, output), sum(file.size for file in files), dict[str, int]()
    with bytes_bar(f"{len(files)} files") as show:

        def progress(name: str, at: int) -> None:
            done_bytes[name] = at
            show(sum(done_bytes.copy().values()), total)

        fetch(files, output, client, connections, sums, progress)
    done = "" if to_come else ": nothing to do"
    echo(f"{output} has {count(len(files), 'file')}, {size(total)}; lengths and checksums are right{done}")

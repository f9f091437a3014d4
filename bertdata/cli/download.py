"""`bertdata download`: fetch Wikipedia dumps, with checksums and resume."""

from __future__ import annotations

from pathlib import Path

import click

from ..commands.download import WIKIMEDIA
from ..errors import UsageError
from ..reports.summary import count, size
from ..storage.files import is_local
from .console import ProgressPrinter, bytes_of, echo
from .options import Command


@click.group("download")
def command() -> None:
    """Download Wikipedia dumps.

    Run the same command again to resume an interrupted download, or to check a finished one.
    """


def _local(value: str) -> Path:
    if not is_local(value):
        raise UsageError(f"--output {value}: downloads need a local directory. Pass a path on this machine")
    return Path(value)


@command.command("wikipedia", cls=Command, short_help="Download the articles of a Wikipedia.")
@click.option("--language", required=True, metavar="CODE", help="Code of the Wikipedia, such as en, zh, zh-yue or simple.")
@click.option("--date", default="", metavar="YYYYMMDD", help="Date of the dump.  [default: latest complete dump]")
@click.option("--html", is_flag=True, help="Download the articles rendered as HTML, for `--wikipedia-html`.")
@click.option("--base-url", default=WIKIMEDIA, show_default=True, help="Dump server or mirror.")
@click.option(
    "--contact", default="", help="Your e-mail address or web page for the User-Agent header, as Wikimedia's policy requests."
)
# The robot policy of dumps.wikimedia.org allows two
@click.option("--connections", type=click.IntRange(1, 3), default=2, show_default=True, help="Number of parallel downloads.")
@click.option("--dry-run", is_flag=True, help="List the files and their sizes without downloading them.")
@click.option("--output", required=True, type=_local, metavar="DIR", help="Directory for the files.")
def wikipedia(
    language: str, date: str, html: bool, base_url: str, contact: str, connections: int, dry_run: bool, output: Path
) -> None:
    """Download the articles of a Wikipedia: its multistream dump files, indexes and checksums, or its rendered pages.

    \b
        bertdata download wikipedia --language zh --output dumps
        bertdata download wikipedia --language zh --html --output rendered
    """
    from ..sources.download import fetch_all, missing_bytes, open_session
    from ..sources.wikimedia import find_dump, find_rendered

    with open_session(contact) as session:
        dump = (find_rendered if html else find_dump)(session, language, date, base_url)
        total, to_come = sum(file.size for file in dump.files), missing_bytes(dump.files, output)
        for file in dump.files if dry_run else ():
            echo(f"  {size(file.size):>9}  {file.name}")
        rest = "" if to_come == total else f", {size(to_come)} to come" if to_come else ", all of it there"
        echo(f"{dump.wiki}-{dump.date}: {count(len(dump.files), 'file')}, {size(total)}{rest} -> {output}", err=not dry_run)
        if dry_run:
            return
        done_bytes = dict[str, int]()
        with ProgressPrinter() as printer:
            show = bytes_of(printer, "download")

            def progress(name: str, at: int) -> None:
                done_bytes[name] = at
                show(sum(done_bytes.copy().values()), total)

            fetch_all(dump, output, session, connections, progress)
    done = "" if to_come else ": nothing to do"
    checked = "lengths and checksums are right" if dump.files[0].sha1 else "its length is right, and no checksum is published"
    echo(f"{output} has {count(len(dump.files), 'file')}, {size(total)}; {checked}{done}")
    option, name = ("--wikipedia-html", dump.files[0].name) if html else ("--wikipedia", "pages-articles*.xml*.bz2")
    files = output / (name if html else f"{dump.wiki}-{dump.date}-{name}")
    echo(f"Go on with: bertdata build-corpus {option} '{files}' --output corpus")

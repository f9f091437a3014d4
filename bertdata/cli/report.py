"""`bertdata report`: write an HTML report about datasets or training runs."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path

import click

from ..errors import UsageError
from .build_commands import echo
from .options import Command
from .paths import to_path

__all__ = ["command"]


@click.command("report", cls=Command, arrow=True, writes=False)
@click.argument("directories", nargs=-1, required=True, type=to_path, metavar="DIRECTORY...")
@click.option(
    "--output",
    type=to_path,
    metavar="FILE",
    help="HTML file to write. Required for several directories.  [default: report.html in DIRECTORY]",
)
@click.option(
    "--vocab",
    "vocabs",
    multiple=True,
    metavar="PATH",
    help="Compare these vocabularies on the corpus in DIRECTORY: tokens per word, [UNK], split words. Repeat the option.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison of --vocab as JSON.")
def command(directories: tuple[Path, ...], output: Path | None, vocabs: tuple[str, ...], as_json: bool) -> None:
    """Write an HTML report about each DIRECTORY, and compare datasets or training runs of the same kind.

    The page is a single file without scripts or network access. It is based on the manifest and a sample of the rows, so it
    takes seconds at any size. build-corpus, train-vocab and make-pairs also write report.html. This command writes it
    again and adds the time of each stage, if it was recorded.

    \b
        bertdata report pairs
        bertdata report pairs-a pairs-b --output compared.html
        bertdata report corpus --vocab vocab-a --vocab vocab-b
    """
    if vocabs:
        _compare_vocabularies(directories, vocabs, output, as_json)
        return
    if as_json:
        raise UsageError("--json prints the comparison of --vocab. Pass vocabularies, or use manifest.json")
    from ..reports.page.dataset_page import write

    if len(directories) > 1 and output is None:
        again = shlex.join(["bertdata", "report", *map(str, directories), "--output", "compared.html"])
        raise UsageError(f"several directories need --output: {again}")
    path, new = write(*directories, output=output)
    echo(f"{path}" if new else f"{path} is complete already: nothing to do")


def _compare_vocabularies(directories: tuple[Path, ...], vocabs: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """Print figures of vocabularies on a corpus, as a table or as JSON, and write a page to `output`."""
    from ..commands.vocabularies import compare_vocabularies
    from ..reports.page.fertility import page
    from ..storage.files import write_text

    if len(directories) != 1:
        raise UsageError("--vocab compares vocabularies on one corpus. Pass one DIRECTORY")
    results = compare_vocabularies(directories[0], list(vocabs))
    if as_json:
        names = ("tokens_per_word", "bytes_per_token", "unknown_share", "split_share")
        for each in results:
            shares = {name: round(getattr(each, name), 6) for name in names}
            echo(json.dumps({**dataclasses.asdict(each), **shares}, ensure_ascii=False))
    else:
        width = max(10, *(len(each.vocabulary) for each in results))
        echo(
            f"{'language':10}{'source':12}{'vocabulary':{width}}{'words':>13}{'tokens/word':>13}{'bytes/token':>13}{'[UNK]':>9}{'split':>8}"
        )
        for each in results:
            group = f"{each.language or 'unknown':10}{each.source:12}{each.vocabulary:{width}}{each.words:13,}"
            means = f"{each.tokens_per_word:13.2f}{each.bytes_per_token:13.2f}"
            echo(f"{group}{means}{each.unknown_share:9.2%}{each.split_share:8.1%}")
    if output is not None:
        write_text(output, page(f"Vocabularies on {directories[0].name}", results))
        echo(str(output), err=as_json)

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
    help="Compare this vocabulary with others on the corpus in DIRECTORY: tokens per word, share of [UNK], share of split words. "
    "Repeat the option for each one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison of --vocab as JSON.")
def command(directories: tuple[Path, ...], output: Path | None, vocabs: tuple[str, ...], as_json: bool) -> None:
    """Write an HTML report about a dataset or training run, or compare several of the same kind on one page.

    The page is a single file without scripts or network access. It is based on the manifest and a sample of the rows, so it
    takes seconds at any size. build-corpus, train-vocab and make-pairs also write report.html. This command writes the file
    again.

    \b
        bertdata report pairs
        bertdata report pairs-a pairs-b --output compared.html
        bertdata report corpus --vocab vocab-a --vocab vocab-b
    """
    if vocabs:
        if output is not None:
            raise UsageError("--vocab prints a table, or JSON with --json. Omit --output")
        _compare_vocabularies(directories, vocabs, as_json)
        return
    if as_json:
        raise UsageError("--json only prints the comparison of --vocab. Add --vocab, or read manifest.json")
    from ..reports.page import write_report

    if len(directories) > 1 and output is None:
        example = shlex.join(["bertdata", "report", *map(str, directories), "--output", "compared.html"])
        raise UsageError(f"several directories need --output: {example}")
    echo(str(write_report(*directories, output=output)))


def _compare_vocabularies(directories: tuple[Path, ...], vocabs: tuple[str, ...], as_json: bool) -> None:
    """Print figures of vocabularies on a corpus, as a table or as JSON."""
    from ..reports.fertility import compare_vocabularies

    if len(directories) != 1:
        raise UsageError("--vocab compares vocabularies on one corpus. Pass one DIRECTORY")
    results = compare_vocabularies(directories[0], list(vocabs))
    if as_json:
        ratios = ("tokens_per_word", "bytes_per_token", "unknown_share", "split_share")
        for group in results:
            rounded = {name: round(getattr(group, name), 6) for name in ratios}
            echo(json.dumps({**dataclasses.asdict(group), **rounded}, ensure_ascii=False))
        return
    width = max(10, *(len(group.vocabulary) for group in results))
    columns = f"{'words':>13}{'tokens/word':>13}{'bytes/token':>13}{'[UNK]':>9}{'split':>8}"
    echo(f"{'language':10}{'source':12}{'vocabulary':{width}}{columns}")
    for group in results:
        name = f"{group.language or 'unknown':10}{group.source:12}{group.vocabulary:{width}}{group.words:13,}"
        means = f"{group.tokens_per_word:13.2f}{group.bytes_per_token:13.2f}"
        echo(f"{name}{means}{group.unknown_share:9.2%}{group.split_share:8.1%}")

"""`bertdata templates`: the share of template calls in dumps that no table knows."""

from __future__ import annotations

from pathlib import Path

import click

from ..report.words import count
from .options import Command
from .run import echo

__all__ = ["command"]


@click.command("templates", cls=Command, writes=False)
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option("--templates", multiple=True, type=click.Path(path_type=Path), help="TOML file with templates of your own.")
@click.option("--pages", type=click.IntRange(min=0), default=10_000, show_default=True, help="Articles of each dump; 0: all.")
@click.option("--most", type=click.IntRange(min=0), default=20, show_default=True, help="Names that are shown of each language.")
def command(dumps: tuple[str, ...], templates: tuple[Path, ...], pages: int, most: int) -> None:
    """Show which templates in the running prose of each DUMP are not known: their words are missing from a corpus.

    For each language: the share of calls on lines of prose that no table knows, and the most frequent names, with the number
    of calls and a line where one stands.  CONTRIBUTING.md says how to add them.
    """
    from ..build.templates import survey_dumps
    from ..commands.build_corpus import tables

    for language, survey in sorted(survey_dumps(list(dumps), tables(templates), pages).items()):
        share = 100 * survey.unknown.total() / max(1, survey.calls)
        names = count(len(survey.unknown), "unknown template")
        echo(f"{language}: {share:.1f} % of {count(survey.calls, 'call')} in prose are of {names}")
        for name, calls in sorted(survey.unknown.items(), key=lambda pair: (-pair[1], pair[0]))[:most]:
            echo(f"{calls:7d}  {name}\n         {survey.examples[name]}")

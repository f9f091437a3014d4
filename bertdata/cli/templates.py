"""`bertdata templates`: count the templates in dumps that are missing from the template tables."""

from __future__ import annotations

from pathlib import Path

import click

from ..reports.summary import count
from .build_commands import echo
from .options import Command
from .paths import LocalPath

__all__ = ["command"]


@click.command("templates", cls=Command, writes=False)
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option("--templates", multiple=True, type=LocalPath(), help="TOML file with your own templates.")
@click.option(
    "--pages",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    help="Number of articles to read per dump; 0 means all.",
)
@click.option(
    "--most", type=click.IntRange(min=0), default=20, show_default=True, help="Number of template names to show per language."
)
def command(dumps: tuple[str, ...], templates: tuple[Path, ...], pages: int, most: int) -> None:
    """List templates in the running text of each DUMP that have no entry in the template tables, so their words are lost.

    For each language, the command prints the share of unknown template calls in prose, and the most frequent names with their
    number of calls and an example line. It also shows which of them build-corpus learns from the template pages of the dump,
    and why it does not learn the others. CONTRIBUTING.md explains how to add templates.
    """
    from ..commands.templates import templates as survey_templates

    for language, (survey, learned) in survey_templates(dumps, templates=templates, pages=pages).items():
        states = {**learned.unknown, **dict.fromkeys(learned.bodies, "learned")} if learned else {}
        share = 100 * survey.unknown.total() / max(1, survey.calls)
        names = count(len(survey.unknown), "unknown template")
        echo(f"{language}: {count(survey.calls, 'template call')} in prose, {share:.1f} % of them of {names}")
        if learned:
            echo(f"  {learned.summary}")
        for name, calls in sorted(survey.unknown.items(), key=lambda pair: (-pair[1], pair[0]))[:most]:
            state = f"  ({states[name]})" if name in states else ""
            echo(f"{calls:7d}  {name}{state}\n         {survey.examples[name]}")

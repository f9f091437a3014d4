"""`bertdata build-corpus`: extract documents from Wikipedia dumps, books and other text."""

from __future__ import annotations

from typing import Any

import click

from ..config import CorpusConfig
from ..config.filters import DROPPED
from ..config.input_kinds import INPUTS
from .build import beam_options, build, common_options
from .options import Command, Function, config_options, option, to_path


def _input_options(command: Function) -> Function:
    """Add an option for each kind of input."""
    for name, kind in reversed(INPUTS.items()):
        flag = f"--{name.replace('_', '-')}"
        command = option(flag, multiple=True, metavar=kind.metavar, section="Input", help=kind.help)(command)
    return command


@click.command("build-corpus", cls=Command, arrow=True)
@_input_options
@config_options(CorpusConfig)
@option(
    "--map",
    "maps",
    multiple=True,
    metavar="MODULE:FUNCTION",
    section=DROPPED,
    folded=True,
    help="Edit documents with your own function, which returns a document, or the reason to drop it.",
)
@option("--output", required=True, type=to_path, metavar="PATH", section="Output", help="Directory for the corpus.")
@beam_options
@common_options
def command(**values: Any) -> None:
    """Extract documents from dumps, books and other text.

    Each input option can be repeated. Wiki pages keep their paragraphs, without lists, tables, headings and references.
    OUTPUT/rejects lists malformed records, and OUTPUT/manifest.json has all counts.

    \b
        bertdata build-corpus --wikipedia dumps --books books --output corpus
    """
    from ..commands.build_corpus import build_corpus

    build(build_corpus, **values)

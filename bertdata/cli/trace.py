"""`bertdata trace`: follow one document from its wikitext to its sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..reports.summary import count
from ..storage.terminal import clean
from .console import print_wrapped
from .options import Command, to_path

if TYPE_CHECKING:
    from rich.text import Text

    from ..stages.trace import Trace

_MAX_CHANGES, _MAX_LINE_CHARS, _MAX_SENTENCES = 6, 240, 12  # limits without --full


@click.command("trace", cls=Command, arrow=True, writes=False)
@click.argument("corpus", type=to_path)
@click.argument("name", metavar="ID|TITLE")
@click.option("--wikipedia", multiple=True, metavar="PATH", help="Dumps that the corpus was built from, to show the wikitext.")
@click.option("--full", is_flag=True, help="Show all changes and sentences, and the wikitext.")
def command(corpus: Path, name: str, wikipedia: tuple[str, ...], full: bool) -> None:
    """Trace one document of CORPUS, selected by id or title.

    The output shows its paragraphs and sentences. Add --wikipedia for the wikitext and what each step removed.

    \b
        bertdata trace corpus enwiki:12 --wikipedia dumps
    """
    from ..stages.trace import trace

    print_wrapped(_lines(trace(corpus, name, wikipedia=wikipedia), full))


def _lines(traced: Trace, full: bool) -> Iterator[tuple[int, int, Text]]:
    """Yield the lines of the trace."""
    yield _line("bold", f"{traced.id}  {traced.title}  {traced.language}")
    yield from (_line("", line) for line in traced.fate)
    for step in traced.steps:
        summary = f"{count(max(0, step.removed), 'character')} removed, {count(len(step.changes), 'change')}"
        yield _line("bold", f"{step.name}: {summary}")
        for change in step.changes[: None if full else _MAX_CHANGES]:
            for sign, style, text in zip("-+", ("red", "green"), change, strict=True):
                if text:
                    short = text if full or len(text) <= _MAX_LINE_CHARS else f"{text[:_MAX_LINE_CHARS]}…"
                    yield _line(style, f"{sign} {' ⏎ '.join(short.splitlines())}", 2, 4)
        if len(step.changes) > _MAX_CHANGES and not full:
            yield _line("", f"… {len(step.changes) - _MAX_CHANGES} more; --full shows them", 2)
    if traced.lost:
        names = ", ".join(f"{name} {times}" for name, times in traced.lost)
        yield _line("yellow", f"templates without text: {names}")
    sentences = [(not index, text) for paragraph in traced.paragraphs for index, text in enumerate(paragraph)]
    for number, (is_first, sentence) in enumerate(sentences[: None if full else _MAX_SENTENCES]):
        yield _line("", f"{'¶ ' if is_first else '  '}{number:3d}  {sentence}", 0, 7)
    if len(sentences) > _MAX_SENTENCES and not full:
        yield _line("", f"… {len(sentences) - _MAX_SENTENCES} more sentences", 2)
    if full and traced.wikitext:
        yield _line("bold", "wikitext:")
        yield from (_line("", line) for line in traced.wikitext.split("\n"))


def _line(style: str, line: str, indent: int = 0, hanging: int = 2) -> tuple[int, int, Text]:
    from rich.text import Text

    return indent, max(indent, hanging), Text(clean(line), style=style)

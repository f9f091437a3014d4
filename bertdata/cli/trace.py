"""`bertdata trace`: follow one document from its wikitext to its sentences."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from ..reports.summary import count
from ..storage.terminal import clean
from .console import print_wrapped
from .options import Command, to_path

if TYPE_CHECKING:
    from ..stages.trace import Trace


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
    max_changes, max_chars, max_sentences = (sys.maxsize,) * 3 if full else (6, 240, 12)
    yield _line("bold", f"{traced.id}  {traced.title}  {traced.language}")
    yield from (_line("", line) for line in traced.fate)
    for step in traced.steps:
        summary = f"{count(max(0, step.removed), 'character')} removed, {count(len(step.changes), 'change')}"
        yield _line("bold", f"{step.name}: {summary}")
        for change in step.changes[:max_changes]:
            for sign, style, text in zip("-+", ("red", "green"), change, strict=True):
                if text:
                    short = text[:max_chars] + "…" * (len(text) > max_chars)
                    yield _line(style, f"{sign} {' ⏎ '.join(short.splitlines())}", 2, 4)
        if more := len(step.changes[max_changes:]):
            yield _line("", f"… {more} more; --full shows them", 2)
    if traced.lost:
        yield _line("yellow", f"templates without text: {', '.join(f'{name} {times}' for name, times in traced.lost)}")
    sentences = [(not index, text) for paragraph in traced.paragraphs for index, text in enumerate(paragraph)]
    for number, (is_first, sentence) in enumerate(sentences[:max_sentences]):
        yield _line("", f"{'¶ ' if is_first else '  '}{number:3d}  {sentence}", 0, 7)
    if more := len(sentences[max_sentences:]):
        yield _line("", f"… {more} more sentences", 2)
    if full and traced.wikitext:
        yield _line("bold", "wikitext:")
        yield from (_line("", line) for line in traced.wikitext.split("\n"))


def _line(style: str, line: str, indent: int = 0, hanging: int = 2) -> tuple[int, int, Text]:
    return indent, max(indent, hanging), Text(clean(line), style=style)

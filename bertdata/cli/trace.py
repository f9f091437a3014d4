"""`bertdata trace`: one document from its wikitext to the rows it is in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from ..io.terminal import clean
from ..report.trace import Trace
from ..report.words import count
from .options import Command
from .paths import to_path
from .run import echo

__all__ = ["command"]

_CHANGES, _LINE, _SENTENCES, _ROWS = 6, 160, 12, 4  # of what is shown in a terminal; --html has more


@click.command("trace", cls=Command)
@click.argument("corpus", type=to_path)
@click.argument("name", metavar="ID|TITLE")
@click.option("--wikipedia", multiple=True, metavar="PATH", help="Dumps that the corpus was made from, to see the wikitext.")
@click.option("--vocab", type=to_path, metavar="PATH", help="Vocabulary that cuts the sentences.  [default: that of --pairs]")
@click.option("--pairs", type=to_path, metavar="PATH", help="Rows that were made of the corpus, to see those it is in.")
@click.option("--epoch", type=click.IntRange(min=0), default=0, show_default=True, help="Epoch whose masks are shown.")
@click.option("--html", type=to_path, metavar="FILE", help="Write all of it into an HTML file instead.")
def command(
    corpus: Path, name: str, wikipedia: tuple[str, ...], vocab: Path | None, pairs: Path | None, epoch: int, html: Path | None
) -> None:
    """Show what became of one document of CORPUS, by its id or its title.

    From its wikitext, with --wikipedia, and what each step removed, over paragraphs and sentences to pieces and the
    rows it is in, with --pairs.

    \b
        bertdata trace corpus enwiki:12 --wikipedia dumps --pairs pairs
    """
    from ..build.trace import trace

    found = trace(corpus, name, wikipedia=wikipedia, vocab=vocab, pairs=pairs)
    if html is not None:
        from ..report.page.trace import write_trace

        write_trace(found, html, pairs, epoch)
        echo(f"{html}")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    for style, line in _lines(found):
        console.print(Text(clean(line), style=style))
    if pairs is not None:
        from .inspect import show_row

        for row in found.rows[:_ROWS]:
            echo()
            show_row(pairs, row.number, epoch)


def _lines(found: Trace) -> Iterator[tuple[str, str]]:
    """Yield (style, line) of all but the rows."""
    yield "bold", f"{found.id}  {found.title}  {found.language}"
    yield from (("", line) for line in found.fate)
    for step in found.steps:
        yield "bold", f"{step.name}: {count(max(0, step.removed), 'character')} removed, {count(len(step.changes), 'change')}"
        for change in step.changes[:_CHANGES]:
            for style, sign, text in (("red", "-", change.before), ("green", "+", change.after)):
                if text:
                    yield style, f"  {sign} {_short(text)}"
        if len(step.changes) > _CHANGES:
            yield "", f"  … {len(step.changes) - _CHANGES} more; --html FILE has them"
    if found.lost:
        yield "yellow", f"templates without words: {', '.join(f'{name} {times}' for name, times in found.lost)}"
    number = 0
    for paragraph in found.paragraphs:
        for place, sentence in enumerate(paragraph):
            if number < _SENTENCES:
                yield "", f"{'¶ ' if not place else '  '}{number:3d}  {sentence}"
                if found.pieces:
                    yield "dim", f"       {' '.join(found.pieces[number])}"
            number += 1
    if number > _SENTENCES:
        yield "", f"  … {number - _SENTENCES} more sentences"
    if found.rows:
        yield "bold", f"in {count(len(found.rows), 'row')}: {', '.join(str(row.number) for row in found.rows)}"


def _short(text: str) -> str:
    line = " ⏎ ".join(text.split("\n"))
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"

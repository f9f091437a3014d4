"""`bertdata trace`: follow one document from wikitext to training rows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import click

from ..errors import UsageError
from ..pieces import shown
from ..reports.summary import count
from ..reports.trace import Change, Trace
from ..storage.terminal import clean
from .build_commands import echo
from .folding import Line, print_folded
from .options import Command
from .paths import LocalPath, to_path

__all__ = ["command"]

_MAX_CHANGES, _MAX_LINE_CHARS, _MAX_SENTENCES, _MAX_ROWS = 6, 240, 12, 4  # limits without --full
_MAX_COMPARED = 1_000  # words of a change that are compared; a longer change is shown as replaced


@click.command("trace", cls=Command, arrow=True, writes=False)
@click.argument("corpus", type=to_path, required=False)
@click.argument("name", metavar="ID|TITLE", required=False)
@click.option("--wikipedia", multiple=True, metavar="PATH", help="Dumps that the corpus was built from, to show the wikitext.")
@click.option(
    "--vocab", type=to_path, metavar="PATH", help="Vocabulary to encode the sentences with.  [default: the vocabulary of --pairs]"
)
@click.option("--pairs", type=to_path, metavar="PATH", help="Dataset of make-pairs, to show the rows that contain the document.")
@click.option("--full", is_flag=True, help="Show all changes, sentences and rows, and the wikitext.")
@click.option(
    "--run",
    type=LocalPath(),
    metavar="RUN.TOML",
    help="Configuration of a `bertdata train` run. Without --steps: show which steps serve the document.",
)
@click.option("--steps", metavar="FIRST:END", help="Steps of --run whose rows to write to --to.")
@click.option("--to", type=to_path, metavar="FILE", help="Parquet file for --steps.")
@click.option(
    "--world-size",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of training processes of --run, to show ranks.",
)
def command(
    corpus: Path | None,
    name: str | None,
    wikipedia: tuple[str, ...],
    vocab: Path | None,
    pairs: Path | None,
    full: bool,
    run: Path | None,
    steps: str | None,
    to: Path | None,
    world_size: int,
) -> None:
    """Trace one document of CORPUS, selected by id or title.

    The output shows its paragraphs and sentences. Add --wikipedia for the wikitext and what each stage removed, and --pairs
    for tokens and rows. With --run alone, it shows the training steps that serve the document. With --steps, it writes the
    rows of these steps, without CORPUS.

    \b
        bertdata trace corpus enwiki:12 --wikipedia dumps --pairs pairs
        bertdata trace corpus enwiki:12 --run run.toml
        bertdata trace --steps 1000:1010 --run run.toml --to rows.parquet
    """
    from ..stages.trace import trace

    if steps is not None or to is not None or corpus is None or name is None:
        _write_steps(corpus, run, steps or "", to, world_size)
        return
    if run is not None:
        _show_steps(trace(corpus, name).id, run, world_size)
        return
    traced = trace(corpus, name, wikipedia=wikipedia, vocab=vocab, pairs=pairs)
    print_folded(_lines(traced, full))
    if pairs is not None:
        from .inspect import show_row

        for row in traced.rows[: None if full else _MAX_ROWS]:
            echo()
            show_row(pairs, row.number)


def _write_steps(corpus: Path | None, run: Path | None, steps: str, to: Path | None, world_size: int) -> None:
    from ..training.served import trace_steps

    first, _, last = steps.partition(":")
    if run is None or to is None or corpus is not None or not (first.isdecimal() and last.isdecimal()):
        raise UsageError("pass CORPUS and ID|TITLE, or without them --steps FIRST:END, --run and --to", field="steps")
    echo(f"{to}: {count(trace_steps(run, int(first), int(last), to, world_size=world_size), 'row')}")


def _show_steps(document: str, run: Path, world_size: int) -> None:
    from ..training.served import steps_of

    served = steps_of(run, document, world_size=world_size)
    steps = len({row.step for row in served})
    print_folded(
        [
            _line("bold", f"{document}: {count(len(served), 'row')} in {count(steps, 'step')} of {run}"),
            *(
                _line("", f"step {row.step:,}  epoch {row.epoch}  rank {row.rank}  row {row.row} of {row.directory}", 2)
                for row in served
            ),
        ]
    )


def _lines(traced: Trace, full: bool) -> Iterator[Line]:
    """Yield the lines of the trace, without the rows."""
    yield _line("bold", f"{traced.id}  {traced.title}  {traced.language}")
    yield from (_line("", line) for line in traced.fate)
    for step in traced.steps:
        summary = f"{count(max(0, step.removed), 'character')} removed, {count(len(step.changes), 'change')}"
        yield _line("bold", f"{step.name}: {summary}")
        for change in step.changes[: None if full else _MAX_CHANGES]:
            yield from _changed(change, full)
        if len(step.changes) > _MAX_CHANGES and not full:
            yield _line("", f"… {len(step.changes) - _MAX_CHANGES} more; --full shows them", 2)
    if traced.lost:
        names = ", ".join(f"{name} {times}" for name, times in traced.lost)
        yield _line("yellow", f"templates without text: {names}")
    number = 0
    for paragraph in traced.paragraphs:
        for index, sentence in enumerate(paragraph):
            if number < _MAX_SENTENCES or full:
                yield _line("", f"{'¶ ' if not index else '  '}{number:3d}  {sentence}", 0, 7)
                if traced.pieces:
                    yield _line("dim", " ".join(shown(piece, traced.mark) for piece in traced.pieces[number]), 7, 7)
            number += 1
    if number > _MAX_SENTENCES and not full:
        yield _line("", f"… {number - _MAX_SENTENCES} more sentences", 2)
    if full and traced.wikitext:
        yield _line("bold", "wikitext:")
        yield from (_line("", line) for line in traced.wikitext.split("\n"))
    if traced.rows:
        numbers = ", ".join(str(row.number) for row in traced.rows)
        yield _line("bold", f"{count(len(traced.rows), 'row')} with a sentence of it: {numbers}")


def _line(style: str, line: str, indent: int = 0, hanging: int = 2) -> Line:
    from rich.text import Text

    return Line(indent, max(indent, hanging), Text(clean(line), style=style))


def _changed(change: Change, full: bool) -> Iterator[Line]:
    """Yield a change as a line before and a line after it, with the removed and added words in color."""
    from rich.text import Text

    old, new = (re.findall(r"\w+|\W", text) for text in change)
    is_short = len(old) + len(new) <= _MAX_COMPARED
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if is_short else []
    parts = [(kind != "equal", (old[a:b], new[c:d])) for kind, a, b, c, d in codes] or [(True, (old, new))]
    for side, (sign, colour) in enumerate((("-", "red"), ("+", "green"))):
        text = Text(f"{sign} ")
        for is_changed, words in parts:
            text.append(clean(" ⏎ ".join("".join(words[side]).split("\n"))), style=colour if is_changed else "")
        if change[side]:
            yield Line(2, 4, text if full or len(text) <= _MAX_LINE_CHARS else text[:_MAX_LINE_CHARS].append("…"))

"""`bertdata trace`: follow one document from wikitext to training rows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import click

from ..pieces import shown
from ..reports.summary import count
from ..reports.trace import Change, Trace
from ..storage.terminal import clean
from .build_commands import echo
from .folding import Line, print_folded
from .options import Command
from .paths import to_path

__all__ = ["command"]

_MAX_CHANGES, _MAX_LINE_CHARS, _MAX_SENTENCES, _MAX_ROWS = 6, 240, 12, 4  # limits without --full
_MAX_COMPARED = 1_000  # words of a change that are compared; a longer change is shown as replaced


@click.command("trace", cls=Command, arrow=True, writes=False)
@click.argument("corpus", type=to_path)
@click.argument("name", metavar="ID|TITLE")
@click.option("--wikipedia", multiple=True, metavar="PATH", help="Dumps that the corpus was built from, to show the wikitext.")
@click.option(
    "--vocab", type=to_path, metavar="PATH", help="Vocabulary to encode the sentences with.  [default: the vocabulary of --pairs]"
)
@click.option("--pairs", type=to_path, metavar="PATH", help="Dataset of make-pairs, to show the rows that contain the document.")
@click.option("--full", is_flag=True, help="Show all changes, sentences and rows, and the wikitext.")
def command(
    corpus: Path,
    name: str,
    wikipedia: tuple[str, ...],
    vocab: Path | None,
    pairs: Path | None,
    full: bool,
) -> None:
    """Trace one document of CORPUS, selected by id or title.

    The output shows its paragraphs and sentences. Add --wikipedia for the wikitext and what each stage removed, and --pairs
    for tokens and rows.

    \b
        bertdata trace corpus enwiki:12 --wikipedia dumps --pairs pairs
    """
    from ..stages.trace import trace

    traced = trace(corpus, name, wikipedia=wikipedia, vocab=vocab, pairs=pairs)
    print_folded(_lines(traced, full))
    if pairs is not None:
        from .inspect import show_row

        for row in traced.rows[: None if full else _MAX_ROWS]:
            echo()
            show_row(pairs, row.number)


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

"""`bertdata demo`: the whole job on the sample that comes with bertdata."""

from __future__ import annotations

import time
from pathlib import Path

import click

from .run import echo

__all__ = ["command"]


@click.command("demo")
@click.option(
    "--output",
    default="demo",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Directory for corpus, vocab and pairs; what an earlier demo left there is replaced.",
)
@click.option("--n", "count", type=click.IntRange(min=1), default=4, show_default=True, help="Number of pairs shown.")
@click.pass_context
def command(ctx: click.Context, output: Path, count: int) -> None:
    """Build a corpus, a vocabulary and pairs from the sample, and show pairs.

    The sample is a small English and a small Chinese wiki, as multistream dumps, and three short books.  Every step is an
    ordinary command, shown before it runs.
    """
    from importlib.resources import as_file, files

    from . import cli
    from .inspect import show

    started = time.monotonic()
    with as_file(files("bertdata.sample")) as sample:
        corpus, vocab, pairs = (str(output / name) for name in ("corpus", "vocab", "pairs"))
        steps = [
            ["build-corpus", "--wikipedia", str(sample), "--books", str(sample / "books"), "--output", corpus],
            ["train-vocab", corpus, "--size", "8000", "--output", vocab],
            ["make-pairs", corpus, "--vocab", vocab, "--output", pairs],
        ]
        for step in steps:
            echo(f"$ bertdata {' '.join(step)}")
            arguments = [*step[1:], "--workers", "1", "--overwrite"]
            found = cli.get_command(ctx, step[0])
            assert found is not None
            with found.make_context(step[0], arguments, parent=ctx.parent) as inner:
                found.invoke(inner)
            echo()
    echo(f"$ bertdata inspect {pairs} --n {count}")
    show(Path(pairs), count=count)
    echo(f"\nAll of it took {time.monotonic() - started:.0f} s.  Look closer with: bertdata inspect {corpus}")

"""`bertdata demo`: run the full pipeline on the included sample, from dumps to rows and optionally a model."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import click

from ..errors import UsageError
from ..extras import install
from ..storage.files import write_text
from . import load
from .console import echo
from .options import Command, local_path

_STEPS = 1000  # of the training


@click.command("demo", cls=Command)
@click.option("--output", default="demo", show_default=True, type=local_path, help="Directory to write.")
@click.option(
    "--train", is_flag=True, help=f"Also train a very small BERT, which takes 1 to 2 minutes. Needs {install('train')}."
)
@click.pass_context
def command(ctx: click.Context, output: Path, train: bool) -> None:
    """Build a corpus, a vocabulary and pairs from the sample, and show some pairs.

    The sample has a small English wiki and a small Chinese wiki, as multistream dumps, and three short books. Each step is an
    ordinary command, printed before it runs. The demo takes about 10 seconds on two cores.
    """
    from ..sample import sample
    from .inspect import show

    started, mark = time.monotonic(), output / ".demo"
    if output.exists() and any(output.iterdir()) and not mark.exists():
        raise UsageError(f"{output} has files of your own: choose another --output")
    write_text(mark, "")
    corpus, vocab, pairs = (output / name for name in ("corpus", "vocab", "pairs"))
    _run(ctx, "build-corpus", "--wikipedia", sample(), "--books", sample() / "books", "--output", corpus)
    _run(ctx, "train-vocab", corpus, "--size", 5000, "--output", vocab)
    _run(ctx, "make-pairs", corpus, "--vocab", vocab, "--output", pairs)
    echo(f"$ bertdata inspect {pairs} --n 2")
    show(pairs, count=2, summary=False)
    if train:
        _train(ctx, output, corpus)
    took = f"Finished in {time.monotonic() - started:.0f} s."
    echo(f"\n{took} Open {pairs / 'report.html'}, or read documents with: bertdata inspect {corpus}")


def _run(ctx: click.Context, name: str, *words: object) -> None:
    """Print a command and run it, quick and again if it is complete."""
    echo(f"$ bertdata {shlex.join([name, *map(str, words)])}")
    arguments = ["--overwrite", *["--workers=1"] * (name != "train"), *map(str, words)]
    with load(name).make_context(name, arguments, parent=ctx.parent) as inner:
        inner.command.invoke(inner)
    echo()


def _train(ctx: click.Context, output: Path, corpus: Path) -> None:
    """Train on many copies of short rows with a small vocabulary, which suits little text. Print the result."""
    from ..reports.metrics import read_metrics

    # A model this small gains nothing from more threads. On a busy machine they wait for each other and take ten times as long.
    # Set this before the training imports PyTorch, which reads it on import.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    vocab, pairs, recipe, run = (output / name for name in ("train-vocab", "train-pairs", "train.toml", "train-run"))
    _run(ctx, "train-vocab", corpus, "--size", 2000, "--output", vocab)
    rows = ("--max-seq-length", 64, "--dupe-factor", 20, "--validation-fraction", 0.2, "--shards", 1)
    _run(ctx, "make-pairs", corpus, "--vocab", vocab, *rows, "--output", pairs)
    text = Path(__file__).with_name("demo.toml").read_text(encoding="utf-8")
    write_text(recipe, text.replace("PAIRS", json.dumps(str(pairs))).replace("STEPS", str(_STEPS)))
    _run(ctx, "train", recipe, "--output", run)
    scores = [record for record in read_metrics(run / "metrics.jsonl") if record["kind"] == "evaluation"][-1]
    echo(
        f"On held-out documents, the loss of masked words is {scores['mlm_loss']:.2f} (unigram baseline: "
        f"{scores['unigram_entropy']:.2f}), and the NSP accuracy is {scores['nsp_accuracy']:.0%} (baseline: 50%). The sample is "
        "too small to learn NSP."
    )
    echo(f"Learning curve: {run / 'report.html'}")

"""`bertdata demo`: the whole job on the sample that comes with bertdata, from dumps to pairs and on to a model."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from ..files import write_text
from .run import echo

__all__ = ["command"]

_RECIPE = """\
# A very small BERT on very little text.  examples/bert-base.toml has the paper's recipe.
batch_size = 32
workers = 0
log_every = 100
evaluate_every = 200
save_every = 2000
keep = 1

[model]
num_hidden_layers = 2
hidden_size = 128
num_attention_heads = 2
intermediate_size = 512
hidden_dropout_prob = 0.0
attention_probs_dropout_prob = 0.0

[optimizer]
learning_rate = 1e-3
warmup_steps = 100

[[phases]]
shards = {pairs}
steps = 2000
"""


@click.command("demo")
@click.option(
    "--output",
    default="demo",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Directory for corpus, vocab and pairs; what an earlier demo left there is replaced.",
)
@click.option("--n", "count", type=click.IntRange(min=1), default=4, show_default=True, help="Number of pairs shown.")
@click.option("--train", is_flag=True, help="Train a very small BERT on it as well: minutes; pip install 'bertdata[train]'.")
@click.pass_context
def command(ctx: click.Context, output: Path, count: int, train: bool) -> None:
    """Build a corpus, a vocabulary and pairs from the sample, and show pairs.

    The sample is a small English and a small Chinese wiki, as multistream dumps, and three short books.  Every step is an
    ordinary command, shown before it runs.
    """
    from importlib.resources import as_file, files

    from .inspect import show

    started = time.monotonic()
    corpus, vocab, pairs = (str(output / name) for name in ("corpus", "vocab", "pairs"))
    with as_file(files("bertdata.sample")) as sample:
        _run(ctx, "build-corpus", "--wikipedia", str(sample), "--books", str(sample / "books"), "--output", corpus)
    _run(ctx, "train-vocab", corpus, "--size", "8000", "--output", vocab)
    _run(ctx, "make-pairs", corpus, "--vocab", vocab, "--output", pairs)
    echo(f"$ bertdata inspect {pairs} --n {count}")
    show(Path(pairs), count=count)
    if train:
        _train(ctx, output, corpus)
    echo(f"\nAll of it took {time.monotonic() - started:.0f} s.  Look closer with: bertdata inspect {corpus}")


def _run(ctx: click.Context, name: str, *arguments: str) -> None:
    """Show a command and run it."""
    from . import cli

    echo(f"$ bertdata {' '.join((name, *arguments))}")
    workers = () if name == "train" else ("--workers", "1")
    found = cli.get_command(ctx, name)
    assert found is not None
    with found.make_context(name, [*arguments, *workers, "--overwrite"], parent=ctx.parent) as inner:
        found.invoke(inner)
    echo()


def _train(ctx: click.Context, output: Path, corpus: str) -> None:
    """Train on short rows of a small vocabulary, many copies of them: what little text teaches most; tell what came of it."""
    from ..report.metrics import read_metrics

    vocab, pairs, recipe, run = (output / name for name in ("train-vocab", "train-pairs", "train.toml", "train-run"))
    _run(ctx, "train-vocab", corpus, "--size", "2000", "--output", str(vocab))
    form = ["--max-seq-length", "64", "--dupe-factor", "20", "--validation-fraction", "0.2", "--shards", "1"]
    _run(ctx, "make-pairs", corpus, "--vocab", str(vocab), *form, "--output", str(pairs))
    write_text(recipe, _RECIPE.format(pairs=json.dumps(str(pairs))))
    _run(ctx, "train", str(recipe), "--output", str(run))
    told = [record for record in read_metrics(run / "metrics.jsonl") if record["kind"] == "evaluation"][-1]
    echo(
        f"Of documents it has not seen, the model predicts words at a loss of {told['mlm_loss']:.2f}; to know how frequent words "
        f"are gives {told['unigram_entropy']:.2f} at best.  It tells {told['nsp_accuracy']:.0%} of their pairs; chance, 50 %."
    )
    echo(f"The curve: {run / 'curve.svg'}")

"""`bertdata demo`: run the full pipeline on the included sample, from dumps to rows and optionally a model."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import click

import bertdata

from ..dataset.data_set import DataSet
from ..extras import install
from ..reports.summary import describe
from ..storage.files import write_text
from .console import echo
from .options import Command, local_path

_RECIPE = """\
# A very small BERT on very little text.  examples/bert-base.toml has the paper's recipe.
batch_size = 16
workers = 0
log_every = 100
evaluate_every = 250
save_every = 1000
keep = 1
model = {{ hidden_size = 64, num_hidden_layers = 2, num_attention_heads = 2, intermediate_size = 256, \
hidden_dropout_prob = 0.0, attention_probs_dropout_prob = 0.0 }}
optimizer = {{ learning_rate = 1e-3, warmup_steps = 100 }}
phases = [{{ shards = {pairs}, steps = 1000 }}]
"""


@click.command("demo", cls=Command)
@click.option(
    "--output",
    default="demo",
    show_default=True,
    type=local_path,
    help="Directory for corpus, vocab and pairs. The output of an earlier demo is replaced.",
)
@click.option("--n", "count", type=click.IntRange(min=1), default=2, show_default=True, help="Number of pairs to show.")
@click.option(
    "--train", is_flag=True, help=f"Also train a very small BERT, which takes 1 to 2 minutes. Needs {install('train')}."
)
@click.pass_context
def command(ctx: click.Context, output: Path, count: int, train: bool) -> None:
    """Build a corpus, a vocabulary and pairs from the sample, and show some pairs.

    The sample has a small English wiki and a small Chinese wiki, as multistream dumps, and three short books. Each step is an
    ordinary command, printed before it runs. The demo takes about 10 seconds on two cores.
    """
    from ..sample import sample
    from .inspect import show

    started = time.monotonic()
    corpus, vocab, pairs = (output / name for name in ("corpus", "vocab", "pairs"))
    echo(f"$ bertdata build-corpus --wikipedia {sample()} --books {sample() / 'books'} --output {corpus}")
    _describe(bertdata.build_corpus(wikipedia=sample(), books=sample() / "books", output=corpus, workers=1, overwrite=True))
    echo(f"$ bertdata train-vocab {corpus} --size 8000 --output {vocab}")
    _describe(bertdata.train_vocab(corpus, output=vocab, size=8000, workers=1, overwrite=True))
    echo(f"$ bertdata make-pairs {corpus} --vocab {vocab} --output {pairs}")
    _describe(*bertdata.make_pairs(corpus, vocab=vocab, output=pairs, workers=1, overwrite=True))
    echo(f"$ bertdata inspect {pairs} --n {count}")
    show(pairs, count=count, summary=False)
    if train:
        _train(ctx, output, corpus)
    took = f"Finished in {time.monotonic() - started:.0f} s."
    echo(f"\n{took} Open {pairs / 'report.html'}, or read documents with: bertdata inspect {corpus}")


def _describe(*data_sets: DataSet[Any]) -> None:
    for each in data_sets:
        echo(describe(each.manifest, each.path))
        echo()


def _train(ctx: click.Context, output: Path, corpus: Path) -> None:
    """Train on many copies of short rows with a small vocabulary, which suits little text. Print the result."""
    from ..reports.metrics import read_metrics
    from .train import command as train

    # A model this small gains nothing from more threads. On a busy machine they wait for each other and take ten times as long.
    # Set this before the training imports PyTorch, which reads it on import.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    echo("Training a very small BERT on the sample takes one to two minutes on one core:")
    vocab, pairs, recipe, run = (output / name for name in ("train-vocab", "train-pairs", "train.toml", "train-run"))
    bertdata.train_vocab(corpus, output=vocab, size=2000, workers=1, overwrite=True)
    rows: dict[str, Any] = {"max_seq_length": 64, "dupe_factor": 20, "validation_fraction": 0.2, "shards": 1}
    _describe(*bertdata.make_pairs(corpus, vocab=vocab, output=pairs, workers=1, overwrite=True, **rows))
    write_text(recipe, _RECIPE.format(pairs=json.dumps(str(pairs))))
    echo(f"$ bertdata train {recipe} --output {run}")
    ctx.invoke(train, configuration=recipe, output=str(run), overwrite=True)
    scores = [record for record in read_metrics(run / "metrics.jsonl") if record["kind"] == "evaluation"][-1]
    echo(
        f"On held-out documents, the loss of masked words is {scores['mlm_loss']:.2f} (unigram baseline: "
        f"{scores['unigram_entropy']:.2f}), and the NSP accuracy is {scores['nsp_accuracy']:.0%} (baseline: 50 %). The sample is "
        "too small to learn NSP."
    )
    echo(f"Learning curve: {run / 'report.html'}")

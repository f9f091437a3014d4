"""`bertdata train`: BERT from pairs, to a checkpoint that Hugging Face loads."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from ..config.train import TrainConfig, read_training
from ..errors import BertDataError
from ..recipe import Recipe, prepare
from ..report.words import count
from ..terminal import clean, unguarded
from .run import echo

__all__ = ["command"]


@click.command("train")
@click.argument("configuration", type=click.Path(path_type=Path), metavar="RUN.TOML")
@click.option("--output", default="", help="Directory for checkpoints and metrics.  [default: output in RUN.TOML]")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in --output, to the bit.")
@click.option("--overwrite", is_flag=True, help="Remove an earlier run from --output first.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks.")
def command(configuration: Path, output: str, resume: bool, overwrite: bool, dry_run: bool, verbose: bool) -> None:
    """Train BERT as RUN.TOML tells, on pairs that make-pairs wrote.

    Writes OUTPUT/checkpoint-STEP, which `transformers` loads as it stands, metrics.jsonl and, at the end, curve.svg.  A signal
    (Ctrl-C, SIGTERM) writes a checkpoint before it ends the run.  For several GPUs:

    \b
        torchrun --nproc-per-node 8 -m bertdata.trainer run.toml --output run
    """
    config = read_training(configuration)
    chief = os.environ.get("RANK", "0") == "0"
    if dry_run or chief:
        for line in _plan(prepare(config)):
            echo(line, err=not dry_run)
    if dry_run:
        return
    from ..trainer import train

    with _named_losses(), _noted_signals() as received, _progress(config, chief) as report:
        done = train(config, output, resume=resume, overwrite=overwrite, report=report, stop=lambda: bool(received))
    if not done.complete:
        if chief:
            echo(f"stopped after step {done.step:,}: go on with the same command and --resume", err=True)
        raise click.exceptions.Exit(128 + (received or [signal.SIGTERM])[0])
    if chief:
        told = _told(done.evaluation) if done.evaluation else "no validation split to evaluate on"
        echo(f"{done.checkpoint.parent}: {count(done.step, 'step')}; {told}")
        echo(f'Read it with: transformers.BertForPreTraining.from_pretrained("{done.checkpoint}")')


def _plan(recipe: Recipe) -> Iterator[str]:
    """Say what a run is made of."""
    from ..plan import Plan, widths

    model, config = recipe.model, recipe.config
    shape = f"L{model.num_hidden_layers} H{model.hidden_size} A{model.num_attention_heads}"
    heads = "masked words and pairs" if recipe.pairs else "masked words"
    steps = f"{count(config.total_steps, 'step')} of {config.batch_size} rows"
    yield f"train: BERT {shape}, {model.parameters:,} parameters, to predict {heads}; {steps}"
    for part in recipe.parts:
        rows, sizes = part.shards, part.phase.widths or widths(part.shards.max_seq_length)
        directories = list(zip(rows.rows, rows.weights, strict=True))
        planned = Plan(rows.lengths, config.batch_size, widths=sizes, seed=part.options["seed"], parts=directories)
        evaluated = f"{len(part.validation):,} to evaluate" if part.validation else "none to evaluate"
        epochs = f"{part.phase.steps / planned.batches:.2f} epochs of {planned.batches:,} batches"
        yield (
            f"  steps {part.first:,} to {part.end:,}: {', '.join(part.phase.shards)}, {len(rows):,} rows, {evaluated}; "
            f"{epochs}, {planned.left:,} rows left over of each, widths {', '.join(map(str, planned.widths))}"
        )


@contextlib.contextmanager
def _named_losses() -> Iterator[None]:
    """Say which of torch's errors mean that another process is gone: one on another GPU, or one that reads."""
    try:
        yield
    except RuntimeError as error:
        if not re.search("gloo|nccl|DataLoader worker", str(error), re.IGNORECASE):
            raise
        told = f"another process of this run is gone ({' '.join(str(error).split())})"
        raise BertDataError(f"{told}: see what it said, or whether memory ran out, then go on with --resume") from error


@contextlib.contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Take note of SIGINT and SIGTERM, for training to end after its step; those that follow do nothing more."""
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    old = {number: signal.signal(number, lambda number, frame: received.append(number)) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _progress(config: TrainConfig, chief: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yield what shows a line of metrics: above a bar that is alive on a terminal, else by itself, with the time left."""
    if not chief or sys.stderr is None or not sys.stderr.isatty():
        yield lambda record: echo(_line(record), err=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (TextColumn("train"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"), *times)
    with Progress(*columns, console=Console(file=unguarded(sys.stderr)), speed_estimate_period=600) as bars:
        bar = bars.add_task("train", total=config.total_steps)

        def show(record: dict[str, Any]) -> None:
            bars.console.print(clean(_line(record)), markup=False, highlight=False)
            bars.update(bar, completed=record["step"])

        yield show


def _line(record: dict[str, Any]) -> str:
    """Say a record in a line."""
    if record["kind"] == "error":
        return f"{record['step']:>9,}  error: {record['problem']}"
    if record["kind"] == "evaluation":
        return f"{record['step']:>9,}  evaluation: {_told(record)}"
    norm = record["gradient_norm"]
    rates = f"{record['sequences_per_second']:,.0f} sequences/s  {record['tokens_per_second']:,.0f} tokens/s"
    rates += f"  padding {record['padding_share']:.1%}"
    learning = f"rate {record['learning_rate']:.2e}  gradient {'overflow' if norm is None else f'{norm:.2f}'}"
    return f"{record['step']:>9,}  {_told(record)}  {learning}  {rates}  {_duration(record['seconds_left'])} left"


def _told(record: dict[str, Any]) -> str:
    text = f"words: loss {record['mlm_loss']:.3f}, right {record['mlm_accuracy']:.1%}, perplexity {record['perplexity']:,.1f}"
    return text + (f"; pairs: loss {record['nsp_loss']:.3f}, right {record['nsp_accuracy']:.1%}" if "nsp_loss" in record else "")


def _duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds.

    >>> _duration(59.6), _duration(360000)
    ('0:01:00', '100:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"

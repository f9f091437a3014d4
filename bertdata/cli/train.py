"""`bertdata train`: train BERT and write a checkpoint for Hugging Face."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..config.train import TrainConfig, read_training
from ..reports.metrics import Record
from ..reports.summary import count
from ..reports.vocabulary_warnings import chinese_without_words
from ..storage.files import read_json
from ..storage.signals import Answer, signals
from ..training.recipe import Recipe, prepare
from ..training.resume import changes, checkpoints, local_output, steps_of
from .build import output_options
from .console import ProgressPrinter, echo
from .options import Command, config_options, local_path, with_option_names

_MAX_USEFUL_EPOCHS = 100  # warn above this; BERT was trained for 40 (section A.2)
_FIGURES = {  # of a record of metrics
    "problem": "{}",
    "mlm_loss": "MLM loss {:.3f}",
    "mlm_accuracy": "accuracy {:.1%}",
    "perplexity": "perplexity {:,.1f}",
    "nsp_loss": "NSP loss {:.3f}",
    "nsp_accuracy": "accuracy {:.1%}",
    "unigram_entropy": "unigram baseline {:.3f}",
    "learning_rate": "lr {:.2e}",
    "gradient_norm": "grad norm {:.2f}",
    "tokens_per_second": "{:,.0f} tokens/s",
    "padding_share": "padding {:.1%}",
}


@click.command("train", cls=Command)
@click.argument("configuration", type=local_path, metavar="RUN.TOML")
@click.option("--output", default="", help="Directory for checkpoints and metrics.  [default: output in RUN.TOML]")
@click.option("--overwrite", is_flag=True, help="Remove an earlier run from --output first.")
@click.option(
    "--model",
    metavar="DIR",
    help="Train a masked language model of transformers from random weights, with the configuration of this model: a directory, "
    "a config.json, or a model of the Hugging Face Hub.  [default: model in RUN.TOML]",
)
@config_options(TrainConfig)
@click.option("--dry-run", is_flag=True, help="Print the training plan without writing anything.")
@output_options
def command(configuration: Path, output: str, overwrite: bool, dry_run: bool, **options: Any) -> None:
    """Train an encoder on the rows of make-pairs, with the settings in RUN.TOML.

    The run writes OUTPUT/checkpoint-STEP for `transformers`, metrics.jsonl, and at the end report.html with the curves. After a
    signal (Ctrl-C, SIGTERM, SIGHUP), it finishes its step and saves a checkpoint. A second Ctrl-C stops it at once. Run the same
    command to resume from the last checkpoint; on one process, the result is bit-identical. On several GPUs:

    \b
        torchrun --nproc-per-node 8 -m bertdata train run.toml --output run
    """
    fields = {name: value for name, value in options.items() if value}
    config = dataclasses.replace(read_training(configuration), **fields)
    if not dry_run:
        local_output(output or config.output)
    chief = os.environ.get("RANK", "0") == "0"
    recipe = prepare(config, 1 if dry_run else int(os.environ.get("WORLD_SIZE", 1)))
    for line in _plan(recipe) if chief else ():
        echo(with_option_names(line), err=not dry_run)
    path = Path(output or config.output)
    if chief and not overwrite and not changes(path, recipe.identity) and (last := checkpoints(path)[-1:]):
        echo(f"  {path} has {count(steps_of(last[0]), 'step')}, which are kept", err=not dry_run)
    if dry_run:
        return
    from ..training.trainer import train

    position = _Position(chief, config.total_steps)
    with signals(position.answer) as received, position:

        def stop(done: int, saved: int) -> bool:
            position.move(done, saved)
            return bool(received)

        done = train(recipe, output, overwrite=overwrite, report=position.report, stop=stop)
    if not done.complete:
        if chief:
            echo(_stopped(done.step), err=True)
        raise click.exceptions.Exit((received or [128 + signal.SIGTERM])[0])
    if chief:
        run = done.checkpoint.parent
        result = _figures(done.evaluation) if done.evaluation else "no validation split to evaluate on"
        echo(f"{run}: {count(done.step, 'step')}; {result}" if done.new else f"{run} is complete already: nothing to do")
        (head,) = read_json(done.checkpoint / "config.json")["architectures"]
        echo(f'Read it with: transformers.{head}.from_pretrained("{done.checkpoint}")')


def _plan(recipe: Recipe) -> Iterator[str]:
    """Yield the lines of the training plan."""
    encoder, config = recipe.encoder, recipe.config
    heads = "masked words and pairs" if encoder.target.pair_label else "masked words"
    sizes = " or ".join(dict.fromkeys(str(part.batch_size) for part in recipe.parts))
    steps = f"{count(config.total_steps, 'step')} of {sizes} rows"
    yield f"train: {encoder.shape}, {encoder.parameters:,} parameters, to predict {heads}; {steps}"
    yield from (f"  {note}" for note in encoder.notes)
    for part in recipe.parts:
        rows = part.shards
        planned = part.plan()
        evaluated = f"{len(part.validation):,} to evaluate" if part.validation else "none to evaluate (--validation-fraction)"
        epochs = part.phase.steps / planned.batches
        yield (
            f"  steps {part.first:,} to {part.end:,}: {', '.join(part.phase.shards)}, {len(rows):,} rows, {evaluated}; "
            f"about {part.tokens_per_step() * part.phase.steps:,.0f} tokens, "
            f"{epochs:,.2f} epochs of {planned.batches:,} batches ({planned.left:,} rows of an epoch fill no batch), "
            f"padded to widths {', '.join(map(str, planned.widths))}"
        )
        if epochs > _MAX_USEFUL_EPOCHS:
            yield f"  warning: each row is read {epochs:,.0f} times, in BERT 40. Use more text or fewer steps"
        if part.masks and part.masks.unit != "piece":
            warnings = dict.fromkeys(filter(None, map(chinese_without_words, rows.manifests)))
            yield from (f"  warning: {warning}" for warning in warnings)
    if (warmup := config.optimizer.warmup_steps) >= config.total_steps:
        yield f"  warning: warmup_steps = {warmup:,} is not below the number of steps, so the full learning rate is never reached"


class _Position(ProgressPrinter):
    """The position of a run: for the progress bar, the lines of metrics and signals."""

    def __init__(self, chief: bool, total: int) -> None:
        super().__init__()
        self._chief, self._total, self._together = chief, total, int(os.environ.get("WORLD_SIZE", 1)) > 1
        self._done = self._saved = -1  # steps
        self._rates: Record = {}  # of the last record that has them

    def move(self, done: int, saved: int) -> None:
        """Record the start or the end of a step."""
        self._done, self._saved = done, saved
        if self._chief:
            rate = f"  {self._rates['tokens_per_second']:,.0f} tokens/s" if self._rates else ""
            facts = f"{done:,} of {count(self._total, 'step')}{rate}"
            self.show("train", done, self._total, facts, self._rates.get("seconds_left"))

    def report(self, record: Record) -> None:
        """Print a record of metrics as a line."""
        if "seconds_left" in record:
            self._rates = record
        if self._chief:
            kind = "" if record["kind"] == "train" else f"{record['kind']}: "
            self.line(f"{record['step']:>9,}  {kind}{_figures(record)}")

    def answer(self) -> Answer:
        """Return the response to a signal: stop at once if all finished steps are saved, otherwise save first.

        Processes that train together stop after the same step.
        """
        saves = self._done >= 0 and (self._together or self._done != self._saved)
        if not self._chief:
            return Answer("", saves)
        if not saves:
            return Answer(_stopped(self._done))
        kept = f"keeps checkpoint-{self._saved}" if self._saved else "keeps no step"
        text = f"step {self._done + 1:,} is finished and saved first; another Ctrl-C ends the run at once and {kept}"
        return Answer(text, saves)


def _stopped(done: int) -> str:
    """Return the message for a stopped run, with the step that it continues from."""
    return f"stopped after step {max(done, 0):,}: continue with the same command"


def _figures(record: Record) -> str:
    """Format the figures of a record of metrics, of a benchmark all of its numbers."""
    if record["kind"] == "benchmark":
        return ", ".join(f"{name} {value:.4g}" for name, value in record.items() if name not in ("kind", "step", "of"))
    return ", ".join(form.format(record[name]) for name, form in _FIGURES.items() if record.get(name) is not None)

"""`bertdata train`: train BERT and write a checkpoint for Hugging Face."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..config.base import options_of
from ..config.train import TrainConfig, read_training
from ..dataset import manifest
from ..dataset.manifest_types import PairsManifest
from ..errors import BertDataError
from ..reports.words import count
from ..storage.files import read_json, to_path
from ..storage.signals import Answer, signals
from ..storage.terminal import clean
from ..training.recipe import PhaseRows, Recipe, prepare
from . import output as speech
from .bars import drawn, is_watched
from .options import Command
from .output import duration, echo
from .run import speech_options

if TYPE_CHECKING:
    from ..training.trainer import Done

__all__ = ["command"]

_BY_WORDS = options_of(TrainConfig)["checkpoint_words"]
_MAX_USEFUL_EPOCHS = 100  # warn above this; BERT was trained for 40 (section A.2)
_LONG_RUN_S = 14 * 86400.0  # suggest a smaller run above this
_SPEED_STEPS = 50  # steps in the mean of the speed
_LINE_INTERVAL_S = 30.0  # between two lines without a terminal
_GO_ON = "continue with the same command"


@click.command("train", cls=Command)
@click.argument("configuration", type=click.Path(path_type=Path), metavar="RUN.TOML")
@click.option("--output", default="", help="Directory for checkpoints and metrics.  [default: output in RUN.TOML]")
@click.option("--resume", is_flag=True, hidden=True, expose_value=False)  # any run resumes without it
@click.option("--overwrite", is_flag=True, help="Remove an earlier run from --output first.")
@click.option(
    "--cache-bytes",
    type=click.IntRange(min=0),
    metavar="N",
    help="Disk cache in TMPDIR for remote shards, in bytes. A larger split is read in windows of a third of the cache.  "
    "[default: cache_bytes in RUN.TOML, or no limit]",
)
@click.option(
    "--checkpoint-words",
    metavar=_BY_WORDS.metavar,
    help=f"{_BY_WORDS.help}  [default: checkpoint_words in RUN.TOML]",
)
@click.option("--dry-run", is_flag=True, help="Print the training plan without writing anything.")
@speech_options
def command(
    configuration: Path,
    output: str,
    overwrite: bool,
    cache_bytes: int | None,
    checkpoint_words: str | None,
    dry_run: bool,
    quiet: bool,
    log_json: bool,
    **_verbose: bool,
) -> None:
    """Train BERT on the rows of make-pairs, with the settings in RUN.TOML.

    The run writes OUTPUT/checkpoint-STEP for `transformers`, metrics.jsonl, predictions.json for a few rows, and at the end
    curve.svg and report.html. After a signal (Ctrl-C, SIGTERM, SIGHUP), it finishes its step and saves a checkpoint. A second
    Ctrl-C stops it at once. Run the same command to resume from the last checkpoint; on one process, the result is
    bit-identical. On several GPUs:

    \b
        torchrun --nproc-per-node 8 -m bertdata.training.trainer run.toml --output run
    """
    speech.speak(quiet=quiet, log_json=log_json)
    given: dict[str, Any] = {"cache_bytes": cache_bytes, "checkpoint_words": checkpoint_words}
    config = dataclasses.replace(read_training(configuration), **{key: each for key, each in given.items() if each is not None})
    chief = os.environ.get("RANK", "0") == "0"
    recipe = prepare(config) if dry_run or chief else None
    for line in _plan(recipe) if recipe else ():
        echo(line, err=not dry_run)
    if dry_run:
        if recipe and not overwrite:
            _foretell(recipe, Path(output or config.output))
        return
    from ..training.trainer import train

    position = _Position(chief, recipe)
    with _named_losses(), signals(position.answer, speech.stop) as received, _progress(config, chief, position) as report:

        def stop(done: int, saved: int) -> bool:
            position.move(done, saved)
            return bool(received)

        done = train(config, output, overwrite=overwrite, report=report, stop=stop)
    if not done.complete:
        if chief:
            echo(_stopped(done.step), err=True, level="warning")
        raise click.exceptions.Exit((received or [128 + signal.SIGTERM])[0])
    if chief:
        _conclude(done)


def _conclude(done: Done) -> None:
    """Print the result of a run, or that it was already complete."""
    run, result = done.checkpoint.parent, _figures(done.evaluation) if done.evaluation else "no validation split to evaluate on"
    speech.event("done" if done.new else "nothing to do", "train", {"step": done.step}, path=str(run))
    echo(f"{run}: {count(done.step, 'step')}; {result}" if done.new else f"{run} is complete already: nothing to do")
    (head,) = read_json(done.checkpoint / "config.json")["architectures"]  # a RoFormer class with rotary positions
    echo(f'Read it with: transformers.{head}.from_pretrained("{done.checkpoint}")')


def _plan(recipe: Recipe) -> Iterator[str]:
    """Yield the lines of the training plan."""
    from ..training.windows import plan_of

    model, config = recipe.model, recipe.config
    shape = f"L{model.num_hidden_layers} H{model.hidden_size} A{model.num_attention_heads}"
    heads = "masked words and pairs" if recipe.pairs else "masked words"
    sizes = " or ".join(dict.fromkeys(str(part.batch_size) for part in recipe.parts))
    steps = f"{count(config.total_steps, 'step')} of {sizes} rows"
    yield f"train: BERT {shape}, {model.parameters:,} parameters, to predict {heads}; {steps}"
    for part in recipe.parts:
        rows = part.shards
        planned = plan_of(rows, part.batch_size, seed=part.options["seed"], widths=part.phase.widths)
        evaluated = f"{len(part.validation):,} to evaluate" if part.validation else "none to evaluate"
        epochs = part.phase.steps / planned.batches
        yield (
            f"  steps {part.first:,} to {part.end:,}: {', '.join(part.phase.shards)}, {len(rows):,} rows, {evaluated}; "
            f"about {_tokens(part) * part.phase.steps * part.batch_size:,.0f} tokens, "
            f"{epochs:,.2f} epochs of {planned.batches:,} batches, {planned.left:,} rows left over of each, "
            f"widths {', '.join(map(str, planned.widths))}"
        )
        if epochs > _MAX_USEFUL_EPOCHS:
            yield f"  warning: each row is read {epochs:,.0f} times, in BERT 40: build pairs from more text, or use fewer steps"


def _tokens(part: PhaseRows) -> float:
    """Return the mean number of tokens per row of a phase. It comes from the manifests, so no remote rows are read."""
    splits = [manifest.read(to_path(path), PairsManifest).splits["train"] for path in part.phase.shards]
    rows = [split.rows * weight for split, weight in zip(splits, part.shards.weights, strict=True)]
    return float(np.average([split.mean_length for split in splits], weights=rows))


@contextlib.contextmanager
def _named_losses() -> Iterator[None]:
    """Convert torch's errors about lost processes, of another GPU or a data loader, to BertDataError."""
    try:
        yield
    except RuntimeError as error:
        if not re.search("gloo|nccl|DataLoader worker", str(error), re.IGNORECASE):
            raise
        problem = f"another process of this run is gone ({' '.join(str(error).split())})"
        raise BertDataError(f"{problem}: check its output and the memory usage, then {_GO_ON}") from error


def _foretell(recipe: Recipe, output: Path) -> None:
    """Print how far an earlier call of this run got."""
    from ..training.resume import changes, checkpoints, steps_of

    last = checkpoints(output)[-1:] if changes(output, recipe.identity) == [] else []
    if not last:
        return
    done, total = steps_of(last[0]), recipe.config.total_steps
    state = "is complete already: nothing to do" if done == total else f"has {count(done, 'step')}, which are kept"
    echo(f"  {output} {state}")


class _Position:
    """The position of a run, for the progress bar and for signals: finished steps, saved steps and time per step."""

    def __init__(self, chief: bool, recipe: Recipe | None) -> None:
        self._chief, self._together = chief, int(os.environ.get("WORLD_SIZE", 1)) > 1
        self._done = self._saved = 0
        self._begun, self._seconds, self._mean, self._counted = 0.0, 0.0, 0.0, 0
        self._total = recipe.config.total_steps if recipe else 0
        # The mean number of tokens per step of each phase.
        self._tokens = (
            [(part.end, float(part.shards.lengths.mean()) * part.batch_size) for part in recipe.parts] if recipe else []
        )
        self.shown: Callable[[int, str], None] = lambda done, text: None

    def move(self, done: int, saved: int) -> None:
        """Record the start of a step. The trainer calls this twice per step."""
        if self._begun and done == self._done:
            return
        now = time.monotonic()
        self._seconds = now - self._begun if self._begun else 0.0
        if self._seconds:  # running mean of about `_SPEED_STEPS` steps
            self._mean += (self._seconds - self._mean) / min(_SPEED_STEPS, self._counted + 1)
            self._counted += 1
        self._done, self._saved, self._begun = done, saved, now
        self.shown(done, self._speed())

    def _speed(self) -> str:
        """Return the speed in tokens per second and the time left."""
        if not self._mean:
            return ""
        tokens = next((tokens for end, tokens in self._tokens if self._done < end), 0.0)
        left = duration(self._mean * (self._total - self._done))
        return f"{tokens / self._mean:,.0f} tokens/s  left {left}"

    def answer(self) -> Answer:
        """Return the response to a signal: stop at once if all finished steps are saved, otherwise save first.

        Processes that train together stop after the same step.
        """
        saves = bool(self._begun) and (self._together or self._done != self._saved)
        if not self._chief:
            return Answer("", saves)
        if not saves:
            return Answer(_stopped(self._done) if self._begun else f"stopped before a step was begun: {_GO_ON}")
        takes = f", which takes about {duration(self._seconds)}," if self._seconds > 1 else ""
        kept = f"keeps checkpoint-{self._saved}" if self._saved else "keeps no step"
        text = f"step {self._done + 1:,}{takes} is finished and saved first; another Ctrl-C ends the run at once and {kept}"
        return Answer(text, saves)


def _stopped(done: int) -> str:
    """Return the message for a stopped run, with the step that it continues from."""
    return f"stopped after step {done:,}: {_GO_ON}" if done else f"stopped in step 1, before there was anything to save: {_GO_ON}"


@contextlib.contextmanager
def _progress(config: TrainConfig, chief: bool, position: _Position) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yield a function that prints a metrics record. A terminal also gets a bar, other output a line every 30 seconds."""
    if not chief or speech.is_quiet():
        yield lambda record: None
    elif is_watched():
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

        facts, words = TextColumn("{task.fields[text]}"), TextColumn("elapsed")
        with drawn(TextColumn("train"), BarColumn(bar_width=16), MofNCompleteColumn(), facts, words, TimeElapsedColumn()) as bars:
            bar = bars.add_task("train", total=config.total_steps, text="")
            position.shown = lambda done, text: bars.update(bar, completed=done, text=text)
            yield lambda record: bars.console.print(clean(_line(record)), markup=False, highlight=False)
    else:
        due = time.monotonic() + _LINE_INTERVAL_S

        def say(record: dict[str, Any]) -> None:
            nonlocal due
            due = time.monotonic() + _LINE_INTERVAL_S
            if speech.is_json():
                counts = {key: value for key, value in record.items() if key != "kind"}
                speech.event(record["kind"], "train", counts, level="error" if record["kind"] == "error" else "info")
            else:
                echo(_line(record), err=True)

        def show(done: int, text: str) -> None:
            nonlocal due
            if text and time.monotonic() >= due:
                due = time.monotonic() + _LINE_INTERVAL_S
                counts = {"step": done, "of": config.total_steps}
                if speech.is_json():
                    speech.event("progress", "train", counts, text=text)
                else:
                    echo(f"{done:>9,}  of {count(config.total_steps, 'step')}  {text}", err=True)

        position.shown = show
        yield say


def _line(record: dict[str, Any]) -> str:
    """Format a metrics record as one line."""
    if record["kind"] == "trial":
        left, steps = record["seconds_left"], count(record["of"] - record["step"], "step")
        advice = ": use GPUs, a smaller model (examples/bert-tiny.toml) or fewer steps" if left > _LONG_RUN_S else ""
        timed = count(record["timed"], "timed step")
        return f"{record['step']:>9,}  {steps} to go take about {duration(left)} here, by {timed}{advice}"
    if record["kind"] == "error":
        return f"{record['step']:>9,}  error: {record['problem']}"
    if record["kind"] == "evaluation":
        return f"{record['step']:>9,}  evaluation: {_figures(record)}"
    norm = record["gradient_norm"]
    rates = f"{record['sequences_per_second']:,.0f} sequences/s  {record['tokens_per_second']:,.0f} tokens/s"
    rates += f"  padding {record['padding_share']:.1%}"
    learning = f"rate {record['learning_rate']:.2e}  gradient {'overflow' if norm is None else f'{norm:.2f}'}"
    return f"{record['step']:>9,}  {_figures(record)}  {learning}  {rates}  {duration(record['seconds_left'])} left"


def _figures(record: dict[str, Any]) -> str:
    text = f"words: loss {record['mlm_loss']:.3f}, right {record['mlm_accuracy']:.1%}, perplexity {record['perplexity']:,.1f}"
    return text + (f"; pairs: loss {record['nsp_loss']:.3f}, right {record['nsp_accuracy']:.1%}" if "nsp_loss" in record else "")

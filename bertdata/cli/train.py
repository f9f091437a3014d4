"""`bertdata train`: train BERT and write a checkpoint for Hugging Face."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config.base import options_of
from ..config.train import TrainConfig, read_training
from ..errors import BertDataError
from ..reports.summary import count
from ..reports.vocabulary_warnings import chinese_without_words
from ..storage.files import read_json
from ..storage.signals import Answer, signals
from ..training.recipe import PhaseRows, Recipe, prepare
from ..training.resume import changes, checkpoints, local_output, steps_of
from . import output as console
from .build_commands import output_options
from .options import Command
from .output import duration, echo
from .paths import LocalPath
from .train_progress import figures, progress

if TYPE_CHECKING:
    from ..training.trainer import Done

__all__ = ["command"]

_OPTIONS = options_of(TrainConfig)
_FIELDS = {field.name for field in dataclasses.fields(TrainConfig)}
_MAX_USEFUL_EPOCHS = 100  # warn above this; BERT was trained for 40 (section A.2)
_WARM_UP_STEPS = 2  # that are not timed: memory is allocated, files are read for the first time, kernels are compiled
_SPEED_STEPS = 50  # steps in the mean of the speed
_GO_ON = "continue with the same command"


def _option(name: str) -> Callable[[Any], Any]:
    """Return the option of a field of `TrainConfig`."""
    option, flag = _OPTIONS[name], f"--{name.replace('_', '-')}"
    return click.option(flag, metavar=option.metavar, help=f"{option.help}  [default: {name} in RUN.TOML]")


@click.command("train", cls=Command)
@click.argument("configuration", type=LocalPath(), metavar="RUN.TOML")
@click.option("--output", default="", help="Directory for checkpoints and metrics.  [default: output in RUN.TOML]")
@click.option("--resume", is_flag=True, hidden=True, expose_value=False)  # any run resumes without it
@click.option("--overwrite", is_flag=True, help="Remove an earlier run from --output first.")
@click.option(
    "--model",
    metavar="DIR",
    help="Train a masked language model of transformers from random weights, with the configuration of this model: a directory, "
    "a config.json, or a model of the Hugging Face Hub.  [default: model in RUN.TOML]",
)
@_option("init_from")
@_option("checkpoint_words")
@click.option("--dry-run", is_flag=True, help="Print the training plan without writing anything.")
@output_options
def command(
    configuration: Path,
    output: str,
    overwrite: bool,
    dry_run: bool,
    quiet: bool,
    log_json: bool,
    **options: Any,
) -> None:
    """Train an encoder on the rows of make-pairs, with the settings in RUN.TOML.

    The run writes OUTPUT/checkpoint-STEP for `transformers`, metrics.jsonl, predictions.json for a few rows, and at the end
    report.html with the curves. After a signal (Ctrl-C, SIGTERM, SIGHUP), the run finishes its step and saves a checkpoint. A
    second Ctrl-C stops it at once. Run the same command to resume from the last checkpoint; on one process, the result is
    bit-identical. On several GPUs:

    \b
        torchrun --nproc-per-node 8 -m bertdata train run.toml --output run
    """
    console.configure(quiet=quiet, log_json=log_json)
    fields = {name: value for name, value in options.items() if name in _FIELDS and value is not None}
    config = dataclasses.replace(read_training(configuration), **fields)
    if not dry_run:
        local_output(output or config.output)
    chief = os.environ.get("RANK", "0") == "0"
    recipe = prepare(config, 1 if dry_run else int(os.environ.get("WORLD_SIZE", 1)))
    for line in _plan(recipe) if chief else ():
        echo(line, err=not dry_run)
    if chief and not overwrite:
        _show_state(recipe, Path(output or config.output), dry_run)
    if dry_run:
        return
    from ..training.trainer import train

    position = _Position(chief, recipe)
    with _named_losses(), signals(position.answer, console.stop) as received, progress(config, chief, position) as report:

        def stop(done: int, saved: int) -> bool:
            position.move(done, saved)
            return bool(received)

        done = train(recipe, output, overwrite=overwrite, report=report, stop=stop)
    if not done.complete:
        if chief:
            echo(_stopped(done.step), err=True, level="warning")
        raise click.exceptions.Exit((received or [128 + signal.SIGTERM])[0])
    if chief:
        _print_result(done)


def _print_result(done: Done) -> None:
    """Print the result of a run, or that it was already complete."""
    run, result = done.checkpoint.parent, figures(done.evaluation) if done.evaluation else "no validation split to evaluate on"
    console.event("done" if done.new else "nothing to do", "train", {"step": done.step}, path=str(run))
    echo(f"{run}: {count(done.step, 'step')}; {result}" if done.new else f"{run} is complete already: nothing to do")
    (head,) = read_json(done.checkpoint / "config.json")["architectures"]
    echo(f'Read it with: transformers.{head}.from_pretrained("{done.checkpoint}")')


def _plan(recipe: Recipe) -> Iterator[str]:
    """Yield the lines of the training plan."""
    model, config = recipe.model, recipe.config
    heads = "masked words and pairs" if recipe.pairs else "masked words"
    sizes = " or ".join(dict.fromkeys(str(part.batch_size) for part in recipe.parts))
    steps = f"{count(config.total_steps, 'step')} of {sizes} rows"
    yield f"train: {model.shape}, {model.parameters:,} parameters, to predict {heads}; {steps}"
    yield from (f"  {note}" for note in getattr(model, "notes", ()))
    for part in recipe.parts:
        rows = part.shards
        planned = part.plan()
        evaluated = f"{len(part.validation):,} to evaluate" if part.validation else "none to evaluate"
        epochs = part.phase.steps / planned.batches
        yield (
            f"  steps {part.first:,} to {part.end:,}: {', '.join(part.phase.shards)}, {len(rows):,} rows, {evaluated}; "
            f"about {part.tokens_per_step() * part.phase.steps:,.0f} tokens, "
            f"{epochs:,.2f} epochs of {planned.batches:,} batches ({planned.left:,} rows of an epoch fill no batch), "
            f"padded to widths {', '.join(map(str, planned.widths))}"
        )
        yield from _shares(part)
        if epochs > _MAX_USEFUL_EPOCHS:
            yield f"  warning: each row is read {epochs:,.0f} times, in BERT 40: build pairs from more text, or use fewer steps"
        if part.masks and part.masks.unit != "piece":
            warnings = dict.fromkeys(filter(None, map(chinese_without_words, rows.manifests)))
            yield from (f"  warning: {warning.replace('`chinese_words`', '--chinese-words')}" for warning in warnings)
    if (warmup := config.optimizer.warmup_steps) >= config.total_steps:
        yield f"  warning: warmup_steps = {warmup:,} is not below the number of steps: the full learning rate is never reached"


def _shares(part: PhaseRows) -> Iterator[str]:
    """Yield a line with the expected tokens of each source, and one for each language."""
    found = part.expected()
    for by, names in found.items() if max(map(len, found.values())) > 1 else ():
        total = max(1.0, sum(each.tokens for each in names.values()))
        shares = [
            f"{name} {each.tokens:,.0f} ({each.tokens / total:.1%}, each row {each.times:,.2f} times)"
            for name, each in names.items()
        ]
        yield f"    expected tokens by {by}: {', '.join(shares)}"


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


def _show_state(recipe: Recipe, output: Path, dry_run: bool) -> None:
    """Print the saved steps of an earlier call of this run. If the run is complete, its result follows, except in a dry run."""
    last = checkpoints(output)[-1:] if changes(output, recipe.identity) == [] else []
    if not last:
        return
    done, total = steps_of(last[0]), recipe.config.total_steps
    if done < total:
        echo(f"  {output} has {count(done, 'step')}, which are kept", err=not dry_run)
    elif dry_run:
        echo(f"  {output} is complete already: nothing to do")


class _Position:
    """The position of a run, for the progress bar and for signals: finished steps, saved steps and time per step."""

    def __init__(self, chief: bool, recipe: Recipe) -> None:
        self._chief, self._together = chief, int(os.environ.get("WORLD_SIZE", 1)) > 1
        self._done = self._saved = self._begun = 0
        self._starts = deque[float](maxlen=_SPEED_STEPS + 1)  # when the last steps started
        # The first and last step of each phase, and the mean number of tokens of its steps.
        self._phases = [(part.first, part.end, part.tokens_per_step()) for part in recipe.parts]
        self.shown: Callable[[int, float, float], None] = lambda done, tokens_per_second, seconds_left: None

    def move(self, done: int, saved: int) -> None:
        """Record the start of a step. The trainer calls this twice per step."""
        if self._begun and done == self._done:
            return
        self._done, self._saved, self._begun = done, saved, self._begun + 1
        if self._begun > _WARM_UP_STEPS:
            self._starts.append(time.monotonic())
        if mean := self._mean():
            # Later phases may have longer rows or larger batches, so the time left is that of their tokens.
            rate = next(tokens for _, end, tokens in self._phases if done < end) / mean
            left = sum(tokens * max(0, end - max(first, done)) for first, end, tokens in self._phases)
            self.shown(done, rate, left / rate)

    def _mean(self) -> float:
        """Return the mean time of the last steps, evaluations included, or 0 before the first timed step has ended."""
        return (self._starts[-1] - self._starts[0]) / (len(self._starts) - 1) if len(self._starts) > 1 else 0.0

    def answer(self) -> Answer:
        """Return the response to a signal: stop at once if all finished steps are saved, otherwise save first.

        Processes that train together stop after the same step.
        """
        saves = self._begun > 0 and (self._together or self._done != self._saved)
        if not self._chief:
            return Answer("", saves)
        if not saves:
            return Answer(_stopped(self._done) if self._begun else f"stopped before a step was begun: {_GO_ON}")
        takes = f", which takes about {duration(mean)}," if (mean := self._mean()) > 1 else ""
        kept = f"keeps checkpoint-{self._saved}" if self._saved else "keeps no step"
        text = f"step {self._done + 1:,}{takes} is finished and saved first; another Ctrl-C ends the run at once and {kept}"
        return Answer(text, saves)


def _stopped(done: int) -> str:
    """Return the message for a stopped run, with the step that it continues from."""
    return f"stopped after step {done:,}: {_GO_ON}" if done else f"stopped in step 1, before there was anything to save: {_GO_ON}"

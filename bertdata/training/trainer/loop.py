"""Run the training loop. The step number is the complete state of data, masks and dropout, so a resumed run is bit-exact."""

from __future__ import annotations

import contextlib
import functools
import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ...config.train import TrainConfig, read_training
from ...dataset.build import REPORT
from ...dataset.rows import Shards
from ...errors import BertDataError
from ...reports.metrics import NAME, Metrics, Record, RunningSums, describe, describe_origins, read_metrics
from ...reports.page import report as write_report
from ...storage.user_functions import load
from ..loader import Loader, batches
from ..models import CUSTOM
from ..recipe import PhaseRows, Recipe, prepare
from ..resume import State, begin, checkpoints, claimed, local_output
from .checkpoint import restore, save
from .learner import Learner
from .world import World, joined

_OURS = re.compile(rf"checkpoint-[0-9]+|{re.escape(NAME)}|{re.escape(REPORT)}|tensorboard")  # the names that a run writes


class Done(NamedTuple):
    """The last checkpoint, its steps, whether the run is complete, the last evaluation (None without validation), and `new`.

    `new` is False if an earlier call had completed the run.
    """

    checkpoint: Path
    step: int
    complete: bool
    evaluation: Record | None
    new: bool = True


def train(
    config: TrainConfig | Recipe | str | Path,
    output: str | Path = "",
    *,
    overwrite: bool = False,
    report: Callable[[Record], None] = lambda record: None,
    stop: Callable[[int, int], bool] = lambda done, saved: False,
) -> Done:
    """Train a configuration, a recipe of it or a TOML file. Write checkpoints, metrics and report.html.

    An existing run continues from its last checkpoint, bit-exactly on one process. Raise ResumeError with the differences if its
    settings or data differ. `report` gets each line of metrics. `stop(done, saved)` is called at the start and end of a step: if
    it returns True at the end, on any process, training saves and stops. Raise BertDataError for a loss that is not finite.
    """
    settings = read_training(config) if isinstance(config, str | Path) else config
    config = settings.config if isinstance(settings, Recipe) else settings
    path = local_output(output or config.output)
    # Only rank 0 writes. The others wait until the directory is claimed, then all of them read the same last checkpoint.
    with joined() as world, contextlib.ExitStack() as stack:
        # Errors are raised before an earlier run is removed.
        recipe = settings if isinstance(settings, Recipe) else prepare(config, world.size)
        if config.evaluate:
            load(config.evaluate, "evaluate")
        if world.rank == 0:
            used = stack.enter_context(claimed(path, lambda name: bool(_OURS.fullmatch(name)), overwrite=overwrite))
            rows, encoder = sum(len(part.shards) for part in recipe.parts), recipe.encoder
            begin(path, recipe.identity, {"model": encoder.shape, "parameters": encoder.parameters, "rows": rows}, used=used)
        world.wait()
        return _Run(recipe, path, world, report, stop).go(checkpoints(path)[-1:])


class _Run:
    def __init__(
        self, recipe: Recipe, output: Path, world: World, report: Callable[[Record], None], stop: Callable[[int, int], bool]
    ) -> None:
        self.recipe, self.output, self.world, self.report, self.stop = recipe, output, world, report, stop
        self.config, self.learner = recipe.config, Learner(recipe, world)

    def go(self, saved: list[Path]) -> Done:
        """Train from a checkpoint or from the start, and write the report last. Do nothing if the run is complete."""
        # The complete state besides the weights and the optimizer: a step number, and the sums of the metrics since the last
        # logged line, so that the next line is the same as without an interruption.
        state = restore(saved[0], self.learner) if saved else State(identity=self.recipe.identity, step=0)
        new = not saved or state.step < self.config.total_steps or not (self.output / REPORT).exists()
        self.step = self.saved = state.step
        self.metrics = None if self.world.rank else Metrics(self.output, self.step, tensorboard=self.config.tensorboard)
        self.window = RunningSums(state.window)
        for part in self.recipe.parts:
            if part.first <= self.step < part.end and not self._train(part):
                break
        last = next((record for record in reversed(read_metrics(self.output / NAME)) if record["kind"] == "evaluation"), None)
        if self.metrics and new:
            write_report(self.output)
        return Done(self.output / f"checkpoint-{self.step}", self.step, self.step == self.config.total_steps, last, new)

    def _train(self, part: PhaseRows) -> bool:
        """Train to the end of a phase. Return False if it was stopped before."""
        # `self.step` counts over the run, the loader's steps over the phase. Each turn: load a batch,
        # update the weights, and then, where due, log, evaluate and save, in this order.
        done, left = self.step - part.first, part.end - self.step
        loader = self._loader(part, part.shards, part.batch_size, start_step=done, steps=left, workers=self.config.workers)
        if self.step == 0 and part.validation is not None and self.recipe.encoder.weights:
            self._evaluate(part, part.validation)  # the model as it is before continued training
        for batch in loader:
            stop = functools.partial(self.stop, self.step, self.saved)
            stop()
            sums, norm, stopping, taken = self.learner.step(self.step, batch, part.phase.accumulation, stop)
            if not taken:
                self._fail(loader.dataset.plan[self.step - part.first].rows.tolist())
            self.window.add(sums)
            self.step += 1
            last = self.step == part.end
            if self.step % self.config.log_every == 0 or last:
                self._log(norm)
            # Evaluation and saving are not training: subtract their time from the reported speed.
            since = time.perf_counter()
            if part.validation is not None and (self.step % self.config.evaluate_every == 0 or last):
                self._evaluate(part, part.validation)
            if self.step % self.config.save_every == 0 or last or stopping:
                self._save()
            self.window.pause(time.perf_counter() - since)
            if stopping:
                break
        return bool(self.step == part.end)

    def _loader(self, part: PhaseRows, rows: Shards, batch_size: int, **options: Any) -> Loader:
        """Return the loader of a phase: training and evaluation have the same masks and widths."""
        device, share = self.world.device, {"rank": self.world.rank, "world_size": self.world.size}
        options |= {**share, **part.options, "masks": part.masks, "pin_memory": device.type == "cuda"}
        return batches(rows, batch_size, for_model=CUSTOM, dense_labels=False, **options)

    def _log(self, norm: float) -> None:
        learning_rate = self.config.rate(self.step - 1)
        means = self.window.close(self.config.total_steps - self.step)
        self._report("train", **means, learning_rate=learning_rate, gradient_norm=norm if math.isfinite(norm) else None)

    def _evaluate(self, part: PhaseRows, rows: Shards) -> None:
        """Evaluate on the first batches of the validation split, with the same rows and masks each time."""
        parts, share = part.phase.accumulation, (self.world.rank, self.world.size)
        loader = self._loader(part, rows, part.batch_size // parts, whole=True)  # micro-batches fit in memory
        steps = range(self.config.evaluate_batches * parts)
        served = ((batch, loader.dataset.plan[step].share(*share).rows) for step, batch in zip(steps, loader, strict=False))
        # A rank may have no row of the last batch.
        found = ((batch, rows.origins_of(numbers)) for batch, numbers in served if len(numbers))
        by_origin, entropy = self.learner.evaluate(found, len(rows.origins))
        means = describe([sum(values) for values in zip(*by_origin, strict=True)])
        baselines = {"unigram_entropy": entropy, "random_baseline": math.log(self.recipe.encoder.config.vocab_size)}
        self._report("evaluation", **means, **baselines, **describe_origins(rows.origins, by_origin))

    def _save(self) -> None:
        if self.metrics:
            state = State(identity=self.recipe.identity, step=self.step, window=self.window.sums)
            save(self.output, self.learner, self.recipe, state)
            if self.config.evaluate:
                numbers = load(self.config.evaluate, "evaluate")(self.output / f"checkpoint-{self.step}", self.step)
                self._report("benchmark", **{key: float(value) for key, value in numbers.items()})
        self.world.wait()
        self.saved = self.step

    def _report(self, kind: str, **values: Any) -> None:
        if self.metrics:
            self.metrics.write(record := {"kind": kind, "step": self.step, "of": self.config.total_steps, **values})
            self.report(record)

    def _fail(self, rows: list[int]) -> None:
        self._report("error", problem="the loss or its gradient is not finite", rows=rows)
        if self.metrics:
            write_report(self.output)
        raise BertDataError(
            f"step {self.step}: the loss or its gradient is not finite; its rows are {', '.join(map(str, rows[:8]))}, … (all "
            f"{len(rows)} in {self.output / NAME}): check them, or use a lower learning_rate. Existing checkpoints are unchanged"
        )

"""Estimate how long a training run takes by its first steps.

The first steps are slow: memory is allocated, files are read for the first time, and kernels are chosen or compiled.  So two
steps warm up, and the five after them are timed from end to end, with the optimizer and the wait for rows in them.  Where 5 steps
of 256 rows of 128 positions take 12 s, 1,000,000 such steps take 28 days.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from typing import Any

from .recipe import PhaseRows, Recipe

__all__ = ["Trial"]

_WARM_UP = 2  # steps that are not timed
_TIMED_STEPS = 5  # that are timed
_ENOUGH_S = 10.0  # seconds of timed steps: if a step takes longer, one is enough
_SAMPLED_STEPS = 16  # steps of each phase sampled for the mean width
_EVALUATION_TIME_SHARE = 1 / 3  # time of an evaluation as a share of a training step: a backward pass costs two forward passes


class Trial:
    """Time steps on this process until they are enough for an estimate.

    Args:
        recipe: The run.
        ranks: Number of processes, each of which takes an equal share of a step.
    """

    def __init__(self, recipe: Recipe, ranks: int) -> None:
        self._recipe, self._ranks = recipe, ranks
        self._steps, self._seconds, self._positions, self._last = 0, 0.0, 0, math.inf

    def add(self, step: int, positions: int) -> dict[str, Any] | None:
        """Count a completed step, number `step` of the run, with `positions` [rows x width] on this process.

        Return the record of the estimate once, after the step that completes it.
        """
        now = time.perf_counter()
        self._steps += 1
        if self._steps > _WARM_UP:
            self._seconds += now - self._last
            self._positions += positions
        self._last = now
        timed = self._steps - _WARM_UP
        if not 1 <= timed <= _TIMED_STEPS or (timed < _TIMED_STEPS and self._seconds < _ENOUGH_S):
            return None
        self._steps = _WARM_UP + _TIMED_STEPS  # prevents a second estimate
        left = sum(map(self._positions_after, itertools.repeat(step), self._recipe.parts))
        seconds = self._seconds / self._positions * left / self._ranks
        return {"kind": "trial", "step": step, "of": self._recipe.config.total_steps, "timed": timed, "seconds_left": seconds}

    def pause(self, seconds: float) -> None:
        """Exclude the seconds after a step that were not training, such as an evaluation or a checkpoint."""
        self._last += seconds

    def _positions_after(self, step: int, part: PhaseRows) -> float:
        """Return the positions that a phase still computes after a step. Evaluations are weighted by their cost."""
        config, begin = self._recipe.config, max(step, part.first)
        if part.end <= begin:
            return 0.0
        plan = part.plan()
        batch = part.batch_size * statistics.fmean(plan[number].width for number in range(_SAMPLED_STEPS))
        batches = float(part.end - begin)
        if part.validation is not None:
            evaluations = part.end // config.evaluate_every - begin // config.evaluate_every
            evaluations += part.end % config.evaluate_every != 0  # a phase ends with an evaluation
            batches += evaluations * min(config.evaluate_batches, len(part.validation) / part.batch_size) * _EVALUATION_TIME_SHARE
        return batches * batch

"""Estimate how long a training run takes by a small part of its first step, which is timed before the run starts.

Where 64 rows of 128 positions take 0.6 s, a step of 256 takes 2.4 s, and 1,000,000 such steps take 28 days.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .loader import batches
from .recipe import Recipe

__all__ = ["estimate"]

_ENOUGH = 0.5  # seconds of work that tell how long more of it takes
_STEPS = 16  # of each phase, whose widths stand for those of all
Score = Callable[[Any, dict[str, Tensor]], tuple[Tensor, Tensor, Tensor]]  # the losses of words and of pairs, and more


def estimate(recipe: Recipe, step: int, ranks: int, model: torch.nn.Module, score: Score) -> dict[str, Any]:
    """Return a record of about how many seconds the steps from `step` on take, on `ranks` processes like this one.

    The model is as before when this returns.  Not in it are the optimizer, the reading of rows and evaluations; `compile` may
    make it half of this.
    """
    per_position, total = 0.0, 0.0
    for part in recipe.parts:
        if part.end > step:
            rows: Any = batches(part.shards, recipe.config.batch_size, world_size=ranks, **part.options).dataset
            if not total:
                parts = part.phase.accumulation
                batch = {name: values[: max(1, len(values) // parts)] for name, values in rows[0].items()}
                per_position = _seconds(batch, model, score)
            width = statistics.fmean(rows.plan[number].width for number in range(_STEPS))
            total += (part.end - max(step, part.first)) * width * recipe.config.batch_size / ranks
    return {"kind": "trial", "step": step, "of": recipe.config.total_steps, "seconds_left": per_position * total}


def _seconds(batch: dict[str, Tensor], model: torch.nn.Module, score: Score) -> float:
    """Return how many seconds a position, a token or padding, takes: of one row, to warm up, then of two, four and so on."""
    count, most, device = 1, len(batch["input_ids"]), next(model.parameters()).device
    while True:
        since = time.perf_counter()
        words, pairs, _ = score(model, {name: values[:count].to(device) for name, values in batch.items()})
        (words + pairs).backward()  # type: ignore[no-untyped-call]
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds = time.perf_counter() - since
        model.zero_grad()
        if count == most or (count > 1 and seconds > _ENOUGH):
            return seconds / batch["input_ids"][:count].numel()
        count = min(most, 2 * count)

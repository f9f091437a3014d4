"""Mask a row as at a training step, in order to show it without PyTorch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..config.train import TrainConfig
from ..errors import UsageError
from ..labels import IGNORED
from ..reports.mask_rules import MaskRule
from .masks import Masker, is_causal
from .recipe import PhaseRows, prepare

__all__ = ["of_run"]

Array = npt.NDArray[Any]


def of_run(pairs: str | Path, step: int, config: TrainConfig) -> MaskRule:
    """Return the mask rule for rows of `pairs` at a step of a training run, counted over all phases from 0.

    Raise UsageError if the run does not have this step, or reads other rows in it.
    """
    if not step < config.total_steps:
        raise UsageError(f"`step` {step:,}: the run has steps 0 to {config.total_steps - 1:,}", field="step", value=step)
    part = next(part for part in prepare(config).parts if step < part.end)
    paths = [Path(path).resolve() for path in part.shards.paths]
    if Path(pairs).resolve() not in paths:
        run_paths = ", ".join(map(str, part.shards.paths))
        raise UsageError(f"`step` {step:,}: the run then reads {run_paths}, not {pairs}", field="step", value=step)
    return _rule(part, step, paths.index(Path(pairs).resolve()))


def _rule(part: PhaseRows, step: int, directory: int) -> MaskRule:
    """Return the mask rule of a step of a phase, for the rows of directory number `directory`."""
    shards, seed, number, planned = part.shards, part.options["seed"], step - part.first, part.plan()
    if (masks := part.masks) is None:
        problem = f"`step` {step:,}: the rows of {shards.paths[directory]} have one mask, which they were stored with"
        raise UsageError(problem, field="step", value=step)
    if is_causal(masks, seed, number):
        problem = f"`step` {step:,} is causal: it predicts each next token and masks none"
        raise UsageError(problem, field="step", value=step)
    masks = replace(masks, labels="same", causal_share=0.0)  # the page marks masked tokens, wherever they are predicted
    batch, masker = planned[number], Masker(shards, masks, seed=seed, widest=planned.widths[-1])
    # Plans number the rows of all directories through. `first` is this directory's first row.
    first, count = sum(shards.rows[:directory]), shards.rows[directory]
    served = dict(
        sorted(zip((batch.rows - first).tolist(), batch.copies.tolist(), strict=True), reverse=True)
    )  # the first copy of each row

    def when(row: int) -> str:
        if row >= count:
            return "held out, in no step"
        return f"step {step:,}, epoch {batch.epoch}, {'in' if row in served else 'not in'} its batch"

    def mask(ids: Array, rows: Array, continues: Array | None) -> tuple[Array, Array, Array]:
        # A row's mask depends on its number. Further copies of a row, with a weight over 1, have
        # numbers beyond the last row, so that each copy gets another mask.
        numbers = np.array([row + first + served.get(row, 0) * len(shards) for row in rows.tolist()])
        masked, positions, labels = masker(ids, numbers, continues, step=batch.step, epoch=batch.epoch)
        labels[rows >= count] = IGNORED
        masked[rows >= count] = ids[rows >= count]
        return masked, positions, labels

    return MaskRule(when, mask)

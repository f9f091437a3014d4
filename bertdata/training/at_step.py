"""Mask a row as at a training step, in order to show it without PyTorch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..config import OBJECTIVES
from ..config.train import TrainConfig
from ..dataset.shards import Shards
from ..errors import UsageError
from ..labels import IGNORED
from ..reports.mask_rules import MaskRule
from .masks import MaskConfig, Masker, is_causal
from .recipe import prepare
from .windowed_plan import PlanOptions, plan_of

__all__ = ["of_batches", "of_run"]

Array = npt.NDArray[Any]


def of_batches(pairs: str | Path, step: int, batch_size: int, *, seed: int = 12345, masks: MaskConfig | None = None) -> MaskRule:
    """Return the mask rule for rows of `pairs` at a step of `batches`. The arguments are those of `batches`.

    A row that is not in the step is masked as in a step of its epoch with the same share of masks.
    """
    options = PlanOptions(seed=seed, widths=None, mixture=None, epoch_steps=None)
    return _rule(Shards(pairs), 0, step, step, batch_size, options, masks)


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
    directory = paths.index(Path(pairs).resolve())
    return _rule(part.shards, directory, step, step - part.first, part.batch_size, part.options, part.masks)


def _rule(
    shards: Shards, directory: int, step: int, number: int, batch_size: int, options: PlanOptions, masks: MaskConfig | None
) -> MaskRule:
    """Return the mask rule of step `step`, step `number` of its phase, for the rows of directory number `directory`."""
    has_masks = OBJECTIVES[shards.objective].masks
    if shards.masking == "static" or not has_masks:
        what = "have one mask, which they were stored with" if has_masks else "have no masks"
        raise UsageError(f"`step` {step:,}: the rows of {shards.paths[directory]} {what}", field="step", value=step)
    masks, seed = MaskConfig.or_default(masks), options["seed"]
    planned = plan_of(shards, batch_size, **options)
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

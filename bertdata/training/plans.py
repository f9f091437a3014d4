"""Plan the batches of shards, in the shapes that a loader asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from ..config.base import Config
from ..config.mixture import Mixture
from ..dataset.rows import Shards
from .mixture import grouped
from .row_plan import BatchPlan
from .row_plan import widths as equal_widths

__all__ = ["BatchFormat", "PlanOptions", "plan_of"]


@dataclass(frozen=True, kw_only=True)
class BatchFormat(Config):
    """The shapes of batches, and how they store labels.

    Attributes:
        widths: Widths that batches are padded to. Default: four equal steps up to the longest row, or the longest row for packed
            rows.
        dense_labels: Return ``labels`` for all positions instead of ``masked_lm_positions`` and ``masked_lm_labels``.
        unpadded: Concatenate rows, or the segments of packed rows, without padding.
    """

    widths: tuple[int, ...] = ()
    dense_labels: bool = False
    unpadded: bool = False


class PlanOptions(TypedDict):
    """The options of `plan_of`, except `whole`."""

    seed: int
    mixture: Mixture | None
    format: BatchFormat


def plan_of(
    shards: Shards,
    batch_size: int,
    *,
    seed: int,
    mixture: Mixture | None = None,
    format: BatchFormat | None = None,
    whole: bool = False,
) -> BatchPlan:
    """Return the batches of shards. An evaluation (`whole`) has no mixture."""
    widths = (format and format.widths) or ([shards.max_seq_length] if shards.packed else equal_widths(shards.max_seq_length))
    parts, groups = list(zip(shards.rows, shards.weights, strict=True)), None
    if mixture and not whole:
        groups, parts = grouped(shards, mixture, batch_size * (mixture.epoch_steps or len(shards) // batch_size))
    return BatchPlan(shards.lengths, batch_size, widths=widths, seed=seed, parts=parts, groups=groups, whole=whole)

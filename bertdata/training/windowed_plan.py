"""Plan the rows of each step for data larger than the cache: an epoch goes through windows of shards.

Each window has a separate plan, and each epoch has a different order of windows.  The number of batches of a window depends only
on its number of rows, so finding a step does not need the earlier windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from .. import keys
from ..config.base import Config
from ..config.mixture import Mixture
from ..dataset.shards import Shards
from ..errors import UsageError
from .mixture import grouped
from .permutation import Ints, shuffled
from .row_plan import Batch, BatchPlan
from .row_plan import widths as equal_widths

__all__ = ["BatchFormat", "PlanOptions", "WindowPlan", "plan_of"]


class WindowPlan:
    """The batches of every epoch, window by window. The attributes and arguments are those of `BatchPlan`.

    left: the rows that an epoch does not use, less than a batch of each window.
    """

    def __init__(self, shards: Shards, batch_size: int, *, widths: Sequence[int], seed: int, whole: bool = False) -> None:
        self.batch_size, self.widths, self.seed = batch_size, tuple(widths), seed
        self._shards, self._whole = shards, whole
        served = [self._served(window) for window in range(len(shards.windows))]
        self._counts = np.array([-(-rows // batch_size) if whole else rows // batch_size for rows in served])
        if not self._counts.all():
            raise UsageError(
                f"`cache_bytes` {shards.cache_bytes}: a third of it has {min(served):,} rows, less than one batch of "
                f"{batch_size}. Use a larger one",
                field="cache_bytes",
                value=shards.cache_bytes,
            )
        self.left = 0 if whole else sum(rows % batch_size for rows in served)
        self.batches = int(self._counts.sum())
        self._open: tuple[int, BatchPlan] | None = None

    def __getitem__(self, step: int) -> Batch:
        """Return the batch of a step, counted over all epochs. Its window is mapped, and fetching of the next one starts."""
        # Data in a store: only some shards fit in the local cache. Read a window of shards
        # completely before the next one, and shuffle rows within a window, while the next one is
        # downloaded.
        epoch, number = divmod(step, self.batches)
        order = self._order(epoch)
        # Windows in this epoch's order, for example 2, 0, 1 with 5, 3 and 4 batches: ends = 5, 8,
        # 12. Step 6 of the epoch is in the second window of the order, window 0, as its batch 1.
        ends = np.cumsum(self._counts[order])
        position = int(np.searchsorted(ends, number, "right"))
        number -= int(ends[position - 1]) if position else 0
        current, following = order[position], order[position + 1] if position + 1 < len(order) else self._order(epoch + 1)[0]
        window = self._shards.window(int(current), int(following))
        if self._open is None or self._open[0] != current:
            parts = list(zip(self._shards.rows_of(current), self._shards.weights, strict=True))
            seed = keys.key(self.seed, "window", int(current))
            plan = BatchPlan(window.lengths, self.batch_size, widths=self.widths, seed=seed, parts=parts, whole=self._whole)
            self._open = int(current), plan
        batch = self._open[1][epoch * int(self._counts[current]) + number]
        return batch._replace(step=step, rows=window.numbers(batch.rows))

    def _served(self, window: int) -> int:
        """Return how many rows of a window an epoch serves."""
        shares = zip(self._shards.rows_of(window), self._shards.weights, strict=True)
        return sum(rows * int(weight) + round(rows * (weight - int(weight))) for rows, weight in shares)

    def _order(self, epoch: int) -> Ints:
        return shuffled(np.arange(len(self._counts)), len(self._counts), keys.key(self.seed, "windows", epoch))


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
) -> BatchPlan | WindowPlan:
    """Return the batches of shards, over all rows or over their windows. An evaluation (`whole`) has no mixture."""
    widths = (format and format.widths) or ([shards.max_seq_length] if shards.packed else equal_widths(shards.max_seq_length))
    if len(shards.windows) > 1 and not (mixture and not whole):
        return WindowPlan(shards, batch_size, widths=widths, seed=seed, whole=whole)
    parts, groups = list(zip(shards.rows, shards.weights, strict=True)), None
    if mixture and not whole:
        groups, parts = grouped(shards, mixture, batch_size * (mixture.epoch_steps or len(shards) // batch_size))
    return BatchPlan(shards.lengths, batch_size, widths=widths, seed=seed, parts=parts, groups=groups, whole=whole)

"""Yield the batches of an evaluation, with the origins of their rows, so that losses can be split by source and language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .loader import Tensors, batches
from .recipe import PhaseRows

__all__ = ["held_out_batches"]


def held_out_batches(part: PhaseRows, count: int, **rank: Any) -> Iterator[tuple[Tensors, npt.NDArray[np.uint16]]]:
    """Yield batches of a phase's validation split with the origins of their rows [B], as indices of its `origins`.

    Every call yields the same rows and masks. Batches have the size of a micro-batch, which is known to fit in memory.

    Args:
        part: A phase with a validation split.
        count: Number of global batches, at most.
        rank: The arguments of `loader.batches` for this process.
    """
    rows, parts = part.validation, part.phase.accumulation
    assert rows is not None
    loader = batches(rows, part.batch_size // parts, whole=True, **rank, masks=part.masks, **part.options)
    for step, batch in zip(range(count * parts), loader, strict=False):
        mine = loader.dataset.plan[step].share(rank.get("rank", 0), rank.get("world_size", 1))
        if len(mine.rows):  # a rank may have no row of the last batch
            yield batch, rows.origins_of(mine.rows)

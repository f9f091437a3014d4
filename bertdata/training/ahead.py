"""Build the arrays of several steps together, because the overhead of NumPy calls exceeds the arithmetic on a few rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from .epoch_plan import Batch, EpochPlan

Arrays = dict[str, npt.NDArray[Any]]
_TOKENS_AHEAD = 1 << 17  # tokens of the steps built together: their arrays still fit in a CPU cache


class StepsAhead:
    """The arrays of each step. `make` builds them from a list of batches of one width.

    Steps read in order, or every n-th step as a worker reads them, are built a few at a time and kept until they are read. The
    arrays are the same as when built one by one.
    """

    def __init__(self, plan: EpochPlan, make: Callable[[list[Batch]], list[Arrays]]) -> None:
        self._plan, self._make = plan, make
        self._last, self._stride = -1, 0
        self._made: dict[int, Arrays] = {}

    def __getitem__(self, step: int) -> Arrays:
        # Worker w of W reads steps w, w + W, w + 2 W, ... After two equal strides assume the next
        # ones are the same, and build those steps too. A wrong guess costs some time, never a wrong
        # batch.
        stride = step - self._last
        if step not in self._made:
            batches = self._together(step, stride if stride == self._stride else 0)
            self._made = {batch.step: arrays for batch, arrays in zip(batches, self._make(batches), strict=True)}
        self._last, self._stride = step, stride
        return self._made.pop(step)

    def _together(self, step: int, stride: int) -> list[Batch]:
        """Return the batch of a step and, if the stride is over 0, of later steps at this stride in the same epoch and width."""
        first = self._plan[step]
        batches = [first]
        if stride > 0:
            last = min(first.epoch * self._plan.batches + self._plan.batches, step + stride * (_TOKENS_AHEAD // first.tokens))
            # Stop at another width, because arrays of different widths can't be built as one.
            for following in range(step + stride, last, stride):
                batch = self._plan[following]
                if batch.width != first.width:
                    break
                batches.append(batch)
        return batches

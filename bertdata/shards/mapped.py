"""Ragged rows, gathered into arrays of one width."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["padded"]


def padded(values: npt.NDArray[Any], ends: npt.NDArray[Any], rows: npt.NDArray[Any], width: int, fill: int) -> npt.NDArray[Any]:
    """Take rows [B] out of ragged ones, row i being ``values[ends[i]:ends[i + 1]]``: [B, width], filled up with `fill`.

    >>> padded(np.array([5, 6, 7]), np.array([0, 1, 3]), np.array([1, 0]), 3, 0).tolist()
    [[6, 7, 0], [5, 0, 0]]
    """
    places = ends[rows][:, None] + np.arange(width)
    inside = places < ends[rows + 1][:, None]
    return np.asarray(np.where(inside, values[np.minimum(places, len(values) - 1)], fill), values.dtype)

"""Find the rows that hold a run of ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["rows_with"]


def rows_with(batch: Any, probes: Iterable[bytes]) -> list[int]:
    """Return the rows of a record batch that hold one of these runs of ids, as bytes of their column, masks undone."""
    column = batch.column("input_ids")
    ids, ends = column.flatten().to_numpy().copy(), column.offsets.to_numpy()
    if "masked_lm_positions" in batch.schema.names:
        positions, labels = batch.column("masked_lm_positions"), batch.column("masked_lm_labels")
        starts = np.repeat(ends[:-1] - ends[0], np.diff(positions.offsets.to_numpy()))
        ids[starts + positions.flatten().to_numpy()] = labels.flatten().to_numpy()
    data, width = ids.tobytes(), ids.dtype.itemsize
    rows: set[int] = set()
    for probe in probes:
        at = data.find(probe)
        while at >= 0:
            if at % width == 0:
                rows.add(int(np.searchsorted(ends - ends[0], at // width, "right")) - 1)
            at = data.find(probe, at + 1)
    return sorted(rows)

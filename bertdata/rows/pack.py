"""Pack rows: several of them, one behind the other, in a row of at most `max_seq_length`.

    of at most 20 tokens, rows of 12, 9, 8, 7 and 3      12 + 8, 9 + 7 + 3

Best fit, the longest first: each goes where it leaves the least room, or begins a packed row where it fits in none (Johnson 1973,
"Near-optimal bin packing algorithms": at most 11/9 of the fewest rows, and some more).  So no two rows of a bucket fit in one.
What was a row is a *part* of a packed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import keys
from .bucket import Pairs, copy

__all__ = ["best_fit", "pack"]


def pack(built: Pairs, most: int, seed: int) -> Pairs:
    """Pack the rows of a bucket, whose order is random already, into rows of at most `most` tokens.

    The packed rows are in random order; the parts of one stay in that of the rows they were.
    """
    sizes = np.diff(built.ends)
    rows = np.array(best_fit(sizes.tolist(), most), np.int64)
    count = int(rows.max(initial=-1)) + 1
    position = np.empty(count, np.int64)
    position[np.argsort(keys.stream(keys.key(seed, "packed rows", most), count), kind="stable")] = np.arange(count)
    order = np.argsort(position[rows], kind="stable")
    parts = np.append(0, np.cumsum(sizes[order]))

    def moved(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        target = np.empty_like(values)
        copy(target, parts[:-1], values, built.ends[order], sizes[order])
        return target

    def taken(values: npt.NDArray[Any] | None) -> Any:
        return None if values is None else values[order]

    return built._replace(
        input_ids=moved(built.input_ids),
        token_type_ids=moved(built.token_type_ids),
        continues=None if built.continues is None else moved(built.continues),
        ends=np.append(0, np.cumsum(np.bincount(position[rows], sizes, count).astype(np.int64))),
        labels=taken(built.labels),
        a_documents=taken(built.a_documents),
        b_documents=taken(built.b_documents),
        parts=parts,
    )


def best_fit(sizes: Sequence[int], most: int) -> list[int]:
    """Return for each size the row it goes into; of equal sizes the first one goes first.

    >>> best_fit([12, 9, 8, 7, 3], 20)
    [0, 1, 0, 1, 1]
    """
    row_of, count = [0] * len(sizes), 0
    open_rows: list[list[int]] = [[] for _ in range(most + 1)]  # by the room that is left in them
    rooms = 0  # of which there is a row: bit r is set where `open_rows[r]` is not empty
    for part in sorted(range(len(sizes)), key=lambda part: -sizes[part]):
        size = sizes[part]
        if fitting := rooms >> size:
            room = size + (fitting & -fitting).bit_length() - 1
            row = open_rows[room].pop()
            if not open_rows[room]:
                rooms ^= 1 << room
        else:
            room, row, count = most, count, count + 1
        row_of[part] = row
        if left := room - size:
            open_rows[left].append(row)
            rooms |= 1 << left
    return row_of

"""Pack several rows, one after another, into a row of at most `max_seq_length` tokens.

    rows of 12, 9, 8, 7 and 3 tokens, at most 20 together  ->  12 + 8 and 9 + 7 + 3

Best fit decreasing: take the longest row first, and add it to the packed row with the least space left in which it fits, or
start a new one (Johnson 1973, "Near-optimal bin packing algorithms": at most 11/9 of the minimum, plus a constant). So no two
packed rows of a partition fit into one. The original rows are the *parts* of a packed row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import keys
from .partition import Ints, Pairs, placed


def pack(built: Pairs, most: int, seed: int) -> Pairs:
    """Pack the rows of a partition, whose order is random already, into rows of at most `most` tokens."""
    sizes = np.diff(built.ends)
    order, ends = arrange(sizes, most, seed)
    parts = np.append(0, np.cumsum(sizes[order]))

    columns: dict[str, Any] = built._asdict()
    for name in ("input_ids", "token_type_ids", "continues"):  # values of tokens move with their row
        if (values := columns[name]) is not None:
            columns[name] = placed(values, built.ends[order], sizes[order], parts[:-1], len(values))
    for name in ("labels", "a_documents", "b_documents"):
        columns[name] = None if columns[name] is None else columns[name][order]
    return Pairs(**{**columns, "ends": ends, "parts": parts})


def arrange(sizes: Ints, most: int, seed: int) -> tuple[Ints, Ints]:
    """Pack parts of these sizes. Return the order of the parts [N], and the offsets of the packed rows in it, in tokens [R + 1].

    The packed rows are in random order. Within a packed row, parts keep their order.
    """
    rows = best_fit(sizes, most)
    count = int(rows.max(initial=-1)) + 1
    position = np.empty(count, np.int64)
    # Best fit takes the longest rows first. Without a shuffle, they would be the first of a shard.
    # `position[r]` is the random place of packed row r.
    position[np.argsort(keys.stream(keys.key(seed, "packed rows", most), count), kind="stable")] = np.arange(count)
    rows = position[rows]
    return np.argsort(rows, kind="stable"), np.append(0, np.cumsum(np.bincount(rows, sizes, count).astype(np.int64)))


def best_fit(sizes: npt.ArrayLike, most: int) -> Ints:
    """Return the packed row of each size [N]. Equal sizes are placed in input order.

    >>> best_fit([12, 9, 8, 7, 3], 20).tolist()
    [0, 1, 0, 1, 1]
    """
    # Best fit needs "the open row with the least space that still fits `size`". A row has at most a
    # few thousand tokens, so the space left is a small integer, and one list per amount of space
    # replaces a search tree. `spaces` has a bit for each list that is not empty:
    #
    #   open rows with 3, 5 and 9 tokens left     spaces      = 0b1000101000   (bits 3, 5, 9)
    #   size = 4: drop the bits below 4           spaces >> 4 = 0b100010       (bits 5 - 4 and 9 - 4)
    #   the lowest set bit is the best fit        fitting & -fitting = 0b10    -> space 4 + 1 = 5
    #
    # So a step takes a few operations on one Python integer, however many rows are open.
    sizes = np.asarray(sizes, np.int64)
    order = np.argsort(-sizes, kind="stable")
    descending = sizes[order]
    open_rows: list[list[int]] = [[] for _ in range(most + 1)]  # by the space left in them
    spaces = 0  # bit r is set if `open_rows[r]` is not empty
    # A size of more than half a row starts a new row, because the rows before it have less space left.
    count = int(np.count_nonzero(2 * sizes > most))
    placed = list(range(count))
    for row, left in enumerate((most - descending[:count]).tolist()):
        if left:
            open_rows[left].append(row)
            spaces |= 1 << left
    for size in descending[count:].tolist():
        if fitting := spaces >> size:
            space = size + (fitting & -fitting).bit_length() - 1
            row = open_rows[space].pop()
            # The last open row of this space is taken: clear the bit.
            if not open_rows[space]:
                spaces ^= 1 << space
        else:
            space, row, count = most, count, count + 1
        placed.append(row)
        if left := space - size:
            open_rows[left].append(row)
            spaces |= 1 << left
    row_of = np.empty(len(sizes), np.int64)
    row_of[order] = placed
    return row_of

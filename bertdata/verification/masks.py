"""Check the rules for static masks: positions in order, not on special tokens, the right number per row, and valid masked ids.

input_ids             [CLS] the [MASK] is high [SEP] it will turn [MASK] noon [SEP]
masked_lm_positions   2 9
masked_lm_labels      tide at
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from ..config import PairsConfig
from ..rows.masking import max_predictions_of
from .directory import CheckFailed
from .row_checks import Rows, SpecialPieces

__all__ = ["check", "restore"]

Array = npt.NDArray[Any]


def restore(
    rows: Rows, positions: tuple[Array, Array], labels: tuple[Array, Array], config: PairsConfig, vocabulary: SpecialPieces
) -> tuple[Array, tuple[Array, Array]]:
    """Restore the original ids. Return all ids [T], the masked positions in them [M], and row ends in these [N + 1].

    `positions` and `labels` are (values [M], row ends in them [N + 1]).
    """
    (within, ends), (original, other) = positions, labels
    counts = np.diff(ends)
    rows.require(np.diff(other) == counts, "has not one label for each masked position")
    rows.require(counts <= max_predictions_of(config), f"has more than {max_predictions_of(config)} masked positions")
    _each(rows, within < np.repeat(rows.lengths, counts), ends, "has a masked position after its end")
    where = np.repeat(rows.starts, counts) + within
    _each(rows, np.diff(where, prepend=-1) > 0, ends, "has masked positions that are not in order")
    _each(rows, original < len(vocabulary.never), ends, "has a label outside its vocabulary")
    # Put the labels back where they were taken from: this is the row before masking.
    ids = rows.ids.copy()
    ids[where] = original
    return ids, (where, ends)


def check(
    rows: Rows, shown: Array, masked: tuple[Array, Array], config: PairsConfig, vocabulary: SpecialPieces, joined: Array | None
) -> Counter[str]:
    """Check masks against the unmasked rows. `shown` [T] are the masked ids, `joined` [T] marks tokens that continue a word.

    Return the number of maskable and of masked tokens.
    """
    where, ends = masked
    counts = np.diff(ends)
    now, was = shown[where], rows.ids[where]
    _each(rows, ~vocabulary.never[was], ends, "has a mask on a special token")
    # A masked position shows [MASK], the original, or a random token that is not special.
    fits = (now == was) | (now == vocabulary.mask_id) | ~vocabulary.never[now]
    _each(rows, fits, ends, "has a special token in the place of a word")
    if config.mask_shares == "100/0/0":
        _each(rows, now == vocabulary.mask_id, ends, "has a masked position without [MASK]")
    maskable = ~vocabulary.never[rows.ids]
    wanted = np.add.reduceat(maskable, rows.starts, dtype=np.int64)
    share = np.clip(np.rint(wanted * (config.masked_lm_prob or 0.0)), 1, max_predictions_of(config))
    if config.unit != "piece":  # words are masked completely, and spans consist of complete words
        selected = np.zeros(len(shown), bool)
        selected[where] = True
        continues_word = vocabulary.continues[rows.ids] if joined is None else joined
        # Two tokens of the same word must both be masked, or neither.
        inside = continues_word[1:] & maskable[1:] & maskable[:-1]
        rows.require_tokens(np.append(True, ~inside | (selected[1:] == selected[:-1])), "has a word that is masked in part")
    else:
        rows.require(
            counts == np.minimum(share, wanted), f"has not the share of masked positions it is to have ({config.masked_lm_prob})"
        )
    return Counter(masked=len(where), maskable=int(wanted.sum()))


def _each(rows: Rows, holds: Array, ends: Array, what: str) -> None:
    """Raise CheckFailed with the row number for the first masked position [M] that breaks a rule."""
    if not holds.all():
        row = int(np.searchsorted(ends, int(np.argmin(holds)), "right")) - 1
        raise CheckFailed(f"row {rows.first + row} {what}")

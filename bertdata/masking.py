"""Mask token ids for the masked language model: 15 % of every row, 80 % [MASK], 10 % random, 10 % kept.

Everything is a function of (seed, epoch, row): a row's mask is the same in any batch, on any rank and worker, and another one
each epoch (BERT's paper, section 3.1 task 1; RoBERTa's paper, section 4.1, for masks that change).

    >>> vocabulary = Ordinary(mask_id=4, special=np.array([0, 1, 2, 3, 4]), words=np.arange(5, 100))
    >>> ids = np.array([[2, 10, 11, 12, 3, 13, 14, 3, 0, 0]])
    >>> masked, positions, labels = mask(ids, vocabulary, seed=1, epoch=0, rows=np.array([7]), max_predictions=2)
    >>> positions.shape, bool(labels[0, 0] == ids[0, positions[0, 0]])
    ((1, 2), True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import keys

__all__ = ["IGNORED", "Ordinary", "mask", "ordinary"]

IGNORED = -100  # the label of a position that is not predicted, as in torch's cross_entropy
Ids = npt.NDArray[Any]


class Ordinary(NamedTuple):
    """What masking needs of a vocabulary: [MASK]'s id, the ids never masked, and those that may replace a word."""

    mask_id: int
    special: Ids
    words: Ids


def ordinary(pieces: Sequence[str]) -> Ordinary:
    """Read a vocabulary's pieces: no special and no ``[unusedN]`` piece is ever masked or put in a word's place."""
    brackets = [p.startswith("[") and p.endswith("]") and len(p) > 2 for p in pieces]
    special = {i for i, p in enumerate(pieces) if p in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")}
    words = [i for i, bracket in enumerate(brackets) if not bracket]
    return Ordinary(pieces.index("[MASK]"), np.array(sorted(special)), np.array(words))


def mask(
    ids: Ids,
    vocabulary: Ordinary,
    *,
    seed: int,
    epoch: int,
    rows: Ids,
    max_predictions: int,
    masked_lm_prob: float = 0.15,
) -> tuple[Ids, Ids, Ids]:
    """Mask ``ids`` [B, L], padded with a special id; ``rows`` [B] are the rows' numbers in the data set.

    Return masked ids [B, L], positions [B, P] and labels [B, P] with P = `max_predictions`.  Exactly round(0.15 n) of the n
    maskable tokens are selected, at least 1 and at most P; unused places have position 0 and label -100.
    """
    masked = ids.copy()
    count, length = ids.shape
    row_keys = keys.substream(np.uint64(keys.key(seed, "mask", epoch)), rows.astype(np.uint64))
    draws = keys.stream(row_keys, length)  # of its own, so that neither padding nor room changes what is drawn below
    kinds, others = (keys.stream(keys.substream(row_keys, n), max_predictions) for n in (0, 1))
    maskable = ~np.isin(ids, vocabulary.special)
    wanted = np.clip(np.rint(maskable.sum(1) * masked_lm_prob), 1, max_predictions)
    wanted = np.minimum(wanted, maskable.sum(1)).astype(np.int64)
    order = np.where(maskable, draws >> np.uint64(1), np.uint64(2**64 - 1))
    chosen = np.argsort(order, axis=1, kind="stable")[:, :max_predictions]
    used = np.arange(chosen.shape[1]) < wanted[:, None]
    positions = np.sort(np.where(used, chosen, length), axis=1)
    used = positions < length
    positions = np.where(used, positions, 0)
    labels = np.where(used, np.take_along_axis(ids, positions, 1).astype(np.int64), IGNORED)
    kind = keys.share(kinds[:, : positions.shape[1]])
    choices = vocabulary.words if len(vocabulary.words) else np.array([vocabulary.mask_id])
    words = choices[keys.below(others[:, : positions.shape[1]], len(choices))]
    new = np.where(kind < 0.8, vocabulary.mask_id, np.where(kind < 0.9, words, labels))
    row, column = np.nonzero(used)
    masked[row, positions[row, column]] = new[row, column]
    return masked, _widen(positions, max_predictions, 0), _widen(labels, max_predictions, IGNORED)


def _widen(values: Ids, width: int, fill: int) -> Ids:
    return np.pad(values, ((0, 0), (0, width - values.shape[1])), constant_values=fill)

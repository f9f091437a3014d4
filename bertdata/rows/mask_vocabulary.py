"""Describe a vocabulary for masking: which pieces may be masked, continue a word or replace others; and count predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..config import PairsConfig
from ..pieces import Special, continues_word, of_bert

__all__ = ["MaskVocabulary", "mask_vocabulary", "max_predictions_of", "predictions_per_row"]

_EXTRA_POSITIONS = 8  # positions beyond the share, for the last word, which may reach over it


class MaskVocabulary(NamedTuple):
    """What masking needs of a vocabulary of V pieces.

    mask_id: [MASK]'s id.  maskable: whether a piece may be masked, [V].  continues: whether it continues a word (``##ing``), [V].
    words: the ids from which random replacements are drawn.
    """

    mask_id: int
    maskable: npt.NDArray[np.bool_]
    continues: npt.NDArray[np.bool_]
    words: npt.NDArray[np.int64]


def mask_vocabulary(pieces: Sequence[str], special: Special | None = None) -> MaskVocabulary:
    """Return which tokens of a vocabulary can be masked, and which can replace a masked token.

    Special tokens are never masked, and neither they nor [UNK] replace a token. `special` is for vocabularies other than BERT's.
    """
    special = special or of_bert(pieces)
    maskable = np.ones(len(pieces), bool)
    maskable[sorted(special.never)] = False
    words = maskable.copy()
    # [UNK] can be masked, because the model sees it in text, but it never replaces another token.
    words[[i for i in (special.unk,) if i >= 0]] = False
    continues = np.array([continues_word(piece, special.mark) for piece in pieces])
    drawn = np.flatnonzero(words)
    return MaskVocabulary(special.mask, maskable, continues, drawn if len(drawn) else np.array([special.mask]))


def predictions_per_row(length: int, masked_lm_prob: float = 0.15, unit: str = "piece") -> int:
    """Return the `max_predictions` with which rows of `length` tokens, at least two of them special, get their full share.

    >>> predictions_per_row(128), predictions_per_row(512), predictions_per_row(128, unit="word")
    (19, 76, 27)
    """
    return max(1, int(np.rint((length - 2) * masked_lm_prob))) + (_EXTRA_POSITIONS if unit != "piece" else 0)


def max_predictions_of(config: PairsConfig) -> int:
    """Return the most tokens that are masked in a row of a dataset with static masks."""
    return config.max_predictions or predictions_per_row(config.max_seq_length, config.masked_lm_prob or 0.0, config.unit)

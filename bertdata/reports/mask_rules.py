"""Mask rows for display as in an epoch, by words if the rows mark them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..config import PairsConfig
from ..rows import masking
from ..tokens.vocab import Vocabulary

Array = npt.NDArray[Any]


def mask_in_epoch(
    known: Vocabulary, config: PairsConfig, epoch: int, ids: Array, rows: Array, continues: Array | None
) -> tuple[Array, Array, Array]:
    """Mask ids [B, L] of `rows` [B] with BERT's shares and the rows' seed, as `rows.masking.mask` does."""
    # The same function and the same keys as in training, so a report shows real masks of an epoch.
    vocabulary, unit = masking.mask_vocabulary(known.pieces, known.special), unit_of(config)
    most = masking.predictions_per_row(max(config.max_seq_length, 3), unit=unit)
    tokens, seed = ids.astype(np.int64), config.seed
    return masking.mask(
        tokens, vocabulary, seed=seed, epoch=epoch, rows=rows, continues=continues, unit=unit, max_predictions=most
    )


def unit_of(config: PairsConfig) -> str:
    """Return the unit of masking to show: that of stored masks, else the word if the rows mark words.

    >>> unit_of(PairsConfig()), unit_of(PairsConfig(chinese_words="jieba"))
    ('piece', 'word')
    """
    return config.unit if config.masking == "static" or config.chinese_words == "none" else "word"

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
    vocabulary: Vocabulary, config: PairsConfig, epoch: int, ids: Array, rows: Array, continues: Array | None
) -> tuple[Array, Array, Array]:
    """Mask ids [B, L] of `rows` [B] with BERT's shares and the rows' seed, by the function and keys of training."""
    unit = unit_of(config)
    return masking.mask(
        ids.astype(np.int64),
        masking.mask_vocabulary(vocabulary.pieces, vocabulary.special),
        seed=config.seed,
        epoch=epoch,
        rows=rows,
        continues=continues,
        unit=unit,
        max_predictions=masking.predictions_per_row(max(config.max_seq_length, 3), unit=unit),
    )


def unit_of(config: PairsConfig) -> str:
    """Return the unit of masking to show: that of stored masks, else the word if the rows mark words.

    >>> unit_of(PairsConfig()), unit_of(PairsConfig(chinese_words="jieba"))
    ('piece', 'word')
    """
    return config.unit if config.masking == "static" or config.chinese_words == "none" else "word"

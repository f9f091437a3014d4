"""Mask rows for display: as in an epoch, by words if the rows mark them, or by the rule of a training run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..config import PairsConfig
from ..rows import masking
from ..tokens.vocab import Vocabulary

__all__ = ["MaskRule", "of_epoch", "unit_of"]

Array = npt.NDArray[Any]


class MaskRule(NamedTuple):
    """How rows are masked that were stored without masks.

    when: says of the row of this number when it is masked so.  mask: of ids [B, L], padded, the rows' numbers [B] and which
    tokens continue a word, [B, L] or None, it returns masked ids [B, L], positions and labels [B, P], as `rows.masking.mask`.
    """

    when: Callable[[int], str]
    mask: Callable[[Array, Array, Array | None], tuple[Array, Array, Array]]


def of_epoch(known: Vocabulary, config: PairsConfig, epoch: int = 0) -> MaskRule:
    """Return the masks of an epoch with BERT's shares and the rows' seed, by word if the rows mark words, else by token."""
    vocabulary, unit = masking.mask_vocabulary(known.pieces, known.special), unit_of(config)
    most = masking.predictions_per_row(max(config.max_seq_length, 3), unit=unit)

    def mask(ids: Array, rows: Array, continues: Array | None) -> tuple[Array, Array, Array]:
        # The same function and the same keys as in training, so a report shows real masks of an
        # epoch.
        tokens, seed = ids.astype(np.int64), config.seed
        return masking.mask(
            tokens, vocabulary, seed=seed, epoch=epoch, rows=rows, continues=continues, unit=unit, max_predictions=most
        )

    return MaskRule(lambda _: f"epoch {epoch}{', whole words' if unit == 'word' else ''}", mask)


def unit_of(config: PairsConfig) -> str:
    """Return the unit of masking to show: that of stored masks, else the word if the rows mark words.

    >>> unit_of(PairsConfig()), unit_of(PairsConfig(chinese_words="jieba"))
    ('piece', 'word')
    """
    return config.unit if config.masking == "static" or config.chinese_words == "none" else "word"

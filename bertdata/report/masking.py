"""Mask rows that are shown: as BERT's defaults do in an epoch, or by a rule of a training run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..config import PairsConfig
from ..rows import masking
from ..tokens.vocab import AnyVocabulary

__all__ = ["MaskRule", "of_epoch"]

Array = npt.NDArray[Any]


class MaskRule(NamedTuple):
    """How rows are masked that were stored without masks.

    when: says of the row of this number when it is masked so.  mask: of ids [B, L], padded, the rows' numbers [B] and which
    tokens continue a word, [B, L] or None, it returns masked ids [B, L], positions and labels [B, P], as `rows.masking.mask`.
    """

    when: Callable[[int], str]
    mask: Callable[[Array, Array, Array | None], tuple[Array, Array, Array]]


def of_epoch(known: AnyVocabulary, config: PairsConfig, epoch: int = 0) -> MaskRule:
    """Return BERT's masks of an epoch, by the seed that the rows were made with."""
    vocabulary = masking.mask_vocabulary(known.pieces, known.special)

    def mask(ids: Array, rows: Array, continues: Array | None) -> tuple[Array, Array, Array]:
        most = masking.predictions_per_row(max(ids.shape[1], 3))
        about: dict[str, Any] = {"seed": config.seed, "epoch": epoch, "rows": rows, "continues": continues}
        return masking.mask(ids.astype(np.int64), vocabulary, **about, max_predictions=most)

    return MaskRule(lambda _: f"epoch {epoch}", mask)

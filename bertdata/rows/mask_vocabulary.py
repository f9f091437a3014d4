"""What masking needs of a vocabulary: which pieces may be masked, which continue a word, and which replace others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..pieces import Special, continues_word, of_bert

__all__ = ["MaskVocabulary", "mask_vocabulary"]


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
    """Read a vocabulary's pieces: no special token is masked, and none, nor an unknown word, replaces a piece.

    `special` are those of a vocabulary that is not BERT's.
    """
    special = special or of_bert(pieces)
    maskable = np.ones(len(pieces), bool)
    maskable[sorted(special.never)] = False
    words = maskable.copy()
    words[[i for i in (special.unk,) if i >= 0]] = False
    continues = np.array([continues_word(piece, special.mark) for piece in pieces])
    drawn = np.flatnonzero(words)
    return MaskVocabulary(special.mask, maskable, continues, drawn if len(drawn) else np.array([special.mask]))

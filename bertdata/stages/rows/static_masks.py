"""Mask the rows of a partition when they are built, into masked ids, masked positions, and the original ids at these positions.

A mask is a function of (seed, split, partition, row), so the rows of each copy have their own.

    input_ids             [CLS] the [MASK] is high [SEP] it will turn [MASK] noon [SEP]
    masked_lm_positions   2 9
    masked_lm_labels      tide at
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import keys
from ...config import PairsConfig
from ...dataset import shards
from ...pieces import IGNORED
from ...rows import Pairs, masking
from ...tokens.vocab import Vocabulary

_TOKENS_PER_CALL = 1 << 17  # tokens masked per call, including padding; each takes about 100 bytes


def mask_rows(
    built: Pairs, vocabulary: Vocabulary, config: PairsConfig, split: str, partition: int
) -> tuple[dict[str, npt.NDArray[Any]], Counter[str]]:
    """Return the columns that masking changes or adds, and the counts of maskable and masked tokens."""
    mask_vocabulary, pad_id = masking.mask_vocabulary(vocabulary.pieces, vocabulary.special), vocabulary.special.pad
    input_ids = np.empty_like(built.input_ids)
    all_positions, all_labels, counts = [np.zeros(0, np.uint16)], [input_ids[:0]], [np.zeros(1, np.int64)]
    maskable, width = 0, config.max_seq_length
    at_once = max(1, _TOKENS_PER_CALL // width)
    for start in range(0, len(built.ends) - 1, at_once):
        rows = np.arange(start, min(start + at_once, len(built.ends) - 1))
        ids = shards.padded(built.input_ids, built.ends, rows, width, pad_id)
        words = None if built.continues is None else shards.padded(built.continues, built.ends, rows, width, 0)
        masked, positions, labels = masking.mask(
            ids,
            mask_vocabulary,
            seed=keys.key(config.seed, "static masks", split, partition),
            epoch=0,
            rows=rows,
            max_predictions=masking.max_predictions_of(config),
            masked_lm_prob=config.masked_lm_prob or 0.0,
            unit=config.unit,
            continues=words,
            shares=config.mask_shares,
        )
        first, last = built.ends[start], built.ends[start + len(rows)]
        input_ids[first:last] = masked[np.arange(width) < np.diff(built.ends)[rows][:, None]]
        used = labels != IGNORED
        all_positions.append(positions[used].astype(np.uint16))
        all_labels.append(labels[used].astype(input_ids.dtype))
        counts.append(used.sum(1))
        maskable += int(mask_vocabulary.maskable[ids].sum())
    columns = {
        "input_ids": input_ids,
        "masked_lm_positions": np.concatenate(all_positions),
        "masked_lm_labels": np.concatenate(all_labels),
        "masked_lm_ends": np.cumsum(np.concatenate(counts)),
    }
    return columns, Counter(maskable=maskable, masked=len(columns["masked_lm_labels"]))

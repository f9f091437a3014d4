"""Mask the rows of a bucket when they are built: masked ids, the places that were masked, and what stood there.

A mask is a function of (seed, split, bucket, row), so the rows of each copy have their own.

    input_ids             [CLS] the [MASK] is high [SEP] it will turn [MASK] noon [SEP]
    masked_lm_positions   2 9
    masked_lm_labels      tide at
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from bertdata import keys, masking, pairs, shards
from bertdata.config import PairsConfig
from bertdata.vocab import Vocabulary

__all__ = ["mask_rows", "max_predictions"]

_TOKENS = 1 << 17  # masked at a time, padding included: this takes some 100 bytes each


def max_predictions(config: PairsConfig) -> int:
    """Return the most tokens that are masked in a row."""
    share = config.masked_lm_prob or 0.0
    return config.max_predictions or masking.room(config.max_seq_length, share, config.unit)


def mask_rows(
    built: pairs.Pairs, vocabulary: Vocabulary, config: PairsConfig, split: str, bucket: int
) -> tuple[dict[str, Any], Counter[str]]:
    """Return the columns that differ from those of rows without masks, and how many tokens could be and are masked."""
    pieces, pad_id = masking.ordinary(vocabulary.pieces), vocabulary.pieces.index("[PAD]")
    input_ids = np.empty_like(built.input_ids)
    positions, labels, counts = [np.zeros(0, np.uint16)], [input_ids[:0]], [np.zeros(1, np.int64)]
    maskable, width = 0, config.max_seq_length
    at_once = max(1, _TOKENS // width)
    for start in range(0, len(built.ends) - 1, at_once):
        rows = np.arange(start, min(start + at_once, len(built.ends) - 1))
        ids = shards.padded(built.input_ids, built.ends, rows, width, pad_id)
        words = None if built.continues is None else shards.padded(built.continues, built.ends, rows, width, 0)
        masked, places, answers = masking.mask(
            ids,
            pieces,
            seed=keys.key(config.seed, "static masks", split, bucket),
            epoch=0,
            rows=rows,
            max_predictions=max_predictions(config),
            masked_lm_prob=config.masked_lm_prob or 0.0,
            unit=config.unit,
            per_piece=config.per_piece,
            continues=words,
        )
        first, last = built.ends[start], built.ends[start + len(rows)]
        input_ids[first:last] = masked[np.arange(width) < np.diff(built.ends)[rows][:, None]]
        used = answers != masking.IGNORED
        positions.append(places[used].astype(np.uint16))
        labels.append(answers[used].astype(input_ids.dtype))
        counts.append(used.sum(1))
        maskable += int(pieces.maskable[ids].sum())
    columns = {
        "input_ids": input_ids,
        "masked_lm_positions": np.concatenate(positions),
        "masked_lm_labels": np.concatenate(labels),
        "masked_lm_ends": np.cumsum(np.concatenate(counts)),
    }
    return columns, Counter(maskable=maskable, masked=len(columns["masked_lm_labels"]))

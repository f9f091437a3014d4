"""Concatenate the rows of several batches without padding, as flash attention requires."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..labels import IGNORED

__all__ = ["Arrays", "segments", "unpad"]

Arrays = dict[str, npt.NDArray[Any]]


def unpad(arrays: Arrays, counts: Sequence[int]) -> list[Arrays]:
    """Return one batch per entry of `counts`: the concatenated tokens of its rows, with labels.

    Args:
        arrays: Rows as `Shards.gather` returns them, [B, L] and [B, D], with their masks.
        counts: Rows of each batch, B together.
    """
    # Two rows of 3 and 2 tokens, the first with segments at 0 and 2:
    #
    #   ends    0  3  5           where rows begin in the flat tokens
    #   starts  0  2  3  5        where segments begin, then the total (cu_seqlens)
    sizes = arrays["attention_mask"].sum(1)
    row, segment = segments(arrays, len(sizes))
    ends = np.append(0, np.cumsum(sizes))
    starts = np.append(ends[row] + (arrays["document_starts"][row, segment] if "document_starts" in arrays else 0), ends[-1])
    names, lengths = [name for name in ("input_ids", "token_type_ids") if name in arrays], sizes.tolist()
    flat: Arrays = {name: _end_to_end(arrays[name], lengths) for name in names}
    if "masked_lm_labels" in arrays:
        # A masked position p of row i is the flat position ends[i] + p.
        labels = np.full(len(flat["input_ids"]), IGNORED, np.int32)
        used = arrays["masked_lm_labels"] != IGNORED
        labels[(ends[:-1, None] + arrays["masked_lm_positions"])[used]] = arrays["masked_lm_labels"][used]
    else:
        labels = flat["input_ids"].astype(np.int32)
        labels[starts[:-1]] = IGNORED
    flat["labels"] = labels
    pairs = arrays.get("next_sentence_label")
    if pairs is not None and pairs.ndim == 2:
        pairs = pairs[row, segment]
    # The arrays may have several steps. Cut them into steps, and let offsets restart at 0.
    rows = np.cumsum([0, *counts])
    batches: list[Arrays] = []
    of_tokens, of_segments = ends[rows].tolist(), np.searchsorted(row, rows).tolist()
    for (begin, end), (first, last) in zip(pairwise(of_tokens), pairwise(of_segments), strict=True):
        batch: Arrays = {name: tokens[begin:end] for name, tokens in flat.items()}
        batch["cu_seqlens"] = (starts[first : last + 1] - begin).astype(np.int32)
        if pairs is not None:
            batch["next_sentence_label"] = pairs[first:last]
        batches.append(batch)
    return batches


def segments(arrays: Arrays, rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the row of each segment, and its number in that row."""
    if "document_starts" not in arrays:
        return np.arange(rows), np.zeros(rows, np.int64)
    used = arrays["document_starts"] > 0
    used[:, :1] = True
    row, segment = np.nonzero(used)
    return row, segment


def _end_to_end(tokens: npt.NDArray[Any], lengths: list[int]) -> npt.NDArray[Any]:
    """Return the tokens [B, L] of rows of these lengths, concatenated. This is faster than selecting by the attention mask."""
    return np.concatenate([tokens[:0].ravel(), *(row[:length] for row, length in zip(tokens, lengths, strict=True))])

"""Measure sampled rows: which features predict a label although they should not, and how masks are distributed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...config import LABEL_1_COUNTS, OBJECTIVES, PairsConfig
from ...dataset.manifest_records import Pairing
from ...dataset.shards import padded
from ...pieces import IGNORED
from ...rows import masking
from ...tokens.vocab import Vocabulary
from ..auc import auc, partner_auc
from ..examples import mask_in_epoch
from .sample import RowSample

_MAX_MASKED_ROWS = 2_048  # rows to mask as in an epoch
Array = npt.NDArray[Any]


class PairSample(NamedTuple):
    """The pairs of sampled rows, with packed rows split: labels, lengths of A and B, positions in the shard, all [P]."""

    labels: Array
    a: Array
    b: Array
    positions: Array


def pairs_of(rows: RowSample, config: PairsConfig) -> PairSample | None:
    """Return the pairs in rows, or None for objectives without pairs."""
    if config.objective not in LABEL_1_COUNTS:
        return None
    types, ends = rows.flat("token_type_ids")
    begins, positions, labels = ends[:-1], rows.positions, rows.table.column("next_sentence_label")
    if config.pack:
        starts, of_row = rows.flat("document_starts")
        parts = np.diff(of_row)
        begins, positions = starts + np.repeat(begins, parts), np.repeat(positions, parts)
        labels, _ = rows.flat("next_sentence_label")
    edges = np.append(begins, ends[-1]).astype(np.int64)
    b = np.diff(np.concatenate([[0], np.cumsum(types == 1)])[edges])
    return PairSample(np.asarray(labels), np.diff(edges) - b, b, positions)


def predictors(pairs: PairSample, pairings: dict[str, dict[str, Pairing]]) -> Iterator[tuple[str, float, float]]:
    """Yield each feature that could predict the label without reading the text, with its AUC and standard error."""
    yield "length of the pair", *auc(pairs.a + pairs.b, pairs.labels)
    yield "length of A", *auc(pairs.a, pairs.labels)
    yield "length of B", *auc(pairs.b, pairs.labels)
    yield "position in the file", *auc(pairs.positions, pairs.labels)
    yield from ((f"{fact} of A and B", *partner_auc(counts)) for fact, counts in pairings.items() if counts)


def masks_of(rows: RowSample, config: PairsConfig, vocabulary: Vocabulary) -> tuple[Array, Array, int] | None:
    """Return the masked tokens of rows, as stored or as in epoch 0: shown and original ids [M], and how many can be masked.

    Return None for an objective without masks.
    """
    if not OBJECTIVES[config.objective].masks:
        return None
    ids, ends = rows.flat("input_ids")
    whole, maskable = ids.astype(np.int64), masking.mask_vocabulary(vocabulary.pieces, vocabulary.special).maskable
    if config.masking == "static":
        (positions, of_row), (originals, _) = rows.flat("masked_lm_positions"), rows.flat("masked_lm_labels")
        places = positions.astype(np.int64) + np.repeat(ends[:-1], np.diff(of_row))
        whole[places] = originals
        return ids[places], originals, int(maskable[whole].sum())
    numbers = rows.numbers[:_MAX_MASKED_ROWS]
    indices, width = np.arange(len(numbers)), int(np.diff(ends[: len(numbers) + 1]).max(initial=1))
    whole = padded(whole, ends, indices, width, max(vocabulary.special.pad, 0))
    continues = None
    if "continues_word" in rows.table.column_names:
        continues = padded(rows.flat("continues_word")[0], ends, indices, width, 0)
    masked, positions, labels = mask_in_epoch(vocabulary, config, 0, whole, numbers, continues)
    used = labels != IGNORED
    return np.take_along_axis(masked, positions, 1)[used], labels[used], int(maskable[whole].sum())

"""Measure rows that were read: which features predict a label and should not, how masks are distributed, how long words are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...config import LABEL_1_COUNTS, OBJECTIVES, PairsConfig
from ...dataset.manifest_records import Pairing
from ...dataset.shards import padded
from ...labels import IGNORED
from ...pieces import bare
from ...rows import masking
from ...tokens.vocab import Vocabulary
from ..mask_rules import mask_in_epoch
from .sample import RowSample

__all__ = ["Masks", "PairSample", "auc", "masks_of", "of_partners", "pairs_of", "predictors", "words_of"]

_MAX_MASKED_ROWS = 2_048  # rows that are masked to see how
Array = npt.NDArray[Any]


class PairSample(NamedTuple):
    """The pairs of the sampled rows, with packed rows split: labels, lengths of A and B, positions in the shard, all [P]."""

    labels: Array
    a: Array
    b: Array
    positions: Array


class Masks(NamedTuple):
    """Masks of rows: all unmasked ids, and for each masked token the shown id, the original id, its row and position."""

    ids: Array
    rows: Array
    positions: Array
    shown: Array
    wanted: Array
    maskable: int


def auc(values: Array, labels: Array) -> tuple[float, float]:
    """Return how well values predict label 1 rather than 0, as the area under the ROC curve, and its standard error under chance.

    0.5 is chance.  The area is U over the number of pairs of rows, and the error that of U (Mann and Whitney 1947).

    >>> auc(np.array([1, 2, 3, 4]), np.array([0, 0, 1, 1]))[0], auc(np.array([5, 5]), np.array([0, 1]))[0]
    (1.0, 0.5)
    """
    ones = int(labels.sum())
    zeros = len(labels) - ones
    if not ones or not zeros:
        return 0.5, 0.5
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    area = (ranks[inverse][labels == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros)
    return float(area), float(np.sqrt((ones + zeros + 1) / (12 * ones * zeros)))


def pairs_of(rows: RowSample, config: PairsConfig) -> PairSample | None:
    """Return the pairs in rows, or None for other objectives."""
    if config.objective not in LABEL_1_COUNTS:
        return None
    types, ends = rows.flat("token_type_ids")
    if config.pack:
        starts, of_row = rows.flat("document_starts")
        begins = starts + np.repeat(ends[:-1], np.diff(of_row))
        labels, positions = rows.flat("next_sentence_label")[0], np.repeat(rows.positions, np.diff(of_row))
    else:
        begins, positions = ends[:-1], rows.positions
        labels = rows.table.column("next_sentence_label").to_numpy()
    edges = np.append(begins, ends[-1]).astype(np.int64)
    ones = np.concatenate([[0], np.cumsum(types == 1)])
    b = ones[edges[1:]] - ones[edges[:-1]]
    return PairSample(labels, np.diff(edges) - b, b, positions)


def predictors(pairs: PairSample) -> list[tuple[str, float, float]]:
    """Return the features that could predict the label without reading, by name, with their AUC and its standard error."""
    known = (
        ("length of the pair", pairs.a + pairs.b),
        ("length of A", pairs.a),
        ("length of B", pairs.b),
        ("place in its file", pairs.positions),
    )
    return [(name, *auc(values, pairs.labels)) for name, values in known]


def of_partners(values: dict[str, Pairing]) -> tuple[float, float]:
    """Return how well one fact of A's and B's documents predicts the label: area under the ROC curve, and its standard error.

    `values` is what a manifest counts by each value of the fact: pairs, NotNext pairs, and those whose B has another value.

    >>> area, error = of_partners({"en": Pairing(pairs=8, not_next=4, other=4)})
    >>> area, of_partners({"en": Pairing(pairs=8, not_next=4, other=0)})[0]
    (1.0, 0.5)
    """
    cells = [(each.not_next - each.other, each.pairs - each.not_next) for each in values.values()]
    counts = np.array([*cells, *((each.other, 0) for each in values.values())], np.float64)
    # The best classifier ranks pairs by the share of NotNext among those that are alike.
    _, of = np.unique(counts[:, 0] / np.maximum(1, counts.sum(1)), return_inverse=True)
    ones, zeros = (np.bincount(of, column) for column in counts.T)
    below = np.cumsum(zeros) - zeros / 2
    if not ones.sum() or not zeros.sum():
        return 0.5, 0.5
    error = np.sqrt((counts.sum() + 1) / (12 * ones.sum() * zeros.sum()))
    return float((ones * below).sum() / (ones.sum() * zeros.sum())), float(error)


def masks_of(rows: RowSample, config: PairsConfig, known: Vocabulary) -> Masks | None:
    """Return the stored masks of rows, or those of epoch 0, or None for an objective without masks."""
    if not OBJECTIVES[config.objective].masks:
        return None
    ids, ends = rows.flat("input_ids")
    maskable = masking.mask_vocabulary(known.pieces, known.special).maskable
    if config.masking == "static":
        positions, of_row = rows.flat("masked_lm_positions")
        wanted = rows.flat("masked_lm_labels")[0].astype(np.int64)
        at = positions.astype(np.int64) + np.repeat(ends[:-1], np.diff(of_row))
        whole = ids.astype(np.int64)
        whole[at] = wanted
        row = np.repeat(np.arange(len(ends) - 1), np.diff(of_row))
        return Masks(whole, row, positions, ids[at], wanted, int(maskable[whole].sum()))
    numbers = rows.numbers[:_MAX_MASKED_ROWS]
    width, indices = int(np.diff(ends[: len(numbers) + 1]).max(initial=1)), np.arange(len(numbers))
    continues = None
    if "continues_word" in rows.table.column_names:
        continues = padded(rows.flat("continues_word")[0], ends, indices, width, 0)
    whole = padded(ids.astype(np.int64), ends, indices, width, max(known.special.pad, 0))
    masked, positions, labels = mask_in_epoch(known, config, 0, whole, numbers, continues)
    row, column = np.nonzero(labels != IGNORED)
    positions = positions[row, column]
    return Masks(
        ids[: ends[len(numbers)]], row, positions, masked[row, positions], labels[row, column], int(maskable[whole].sum())
    )


def words_of(rows: RowSample, known: Vocabulary) -> Array | None:
    """Return the number of tokens of each word of the rows, in order, or None if the rows do not mark words.

    A word begins with a letter or a digit. Punctuation and special tokens are not words.
    """
    if "continues_word" not in rows.table.column_names:
        return None
    ids, continues = rows.flat("input_ids")[0], rows.flat("continues_word")[0].astype(bool)
    begins = np.flatnonzero(~continues)
    never, mark = known.special.never, known.special.mark
    counted = np.array([i not in never and bare(piece, mark)[:1].isalnum() for i, piece in enumerate(known.pieces)])
    return np.asarray(np.diff(np.append(begins, len(ids)))[counted[ids[begins]]])

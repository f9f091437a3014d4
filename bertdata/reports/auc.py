"""Measure how well a feature predicts a label: the area under the ROC curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..dataset.manifest_records import Pairing

Array = npt.NDArray[Any]


def auc(values: Array, labels: Array) -> tuple[float, float]:
    """Return how well values predict label 1, as the area under the ROC curve, and its standard error under chance.

    0.5 is chance. The area is U over the number of pairs of rows, and the error is that of U (Mann and Whitney, 1947).

    >>> auc(np.array([1, 2, 3, 4]), np.array([0, 0, 1, 1]))[0], auc(np.array([5, 5]), np.array([0, 1]))[0]
    (1.0, 0.5)
    """
    _, ranks = np.unique(values, return_inverse=True)
    return _area(np.bincount(ranks, labels == 1), np.bincount(ranks, labels == 0))


def partner_auc(counts: dict[str, Pairing]) -> tuple[float, float]:
    """Return the area and error of a classifier that knows one fact of A's document, and whether B's document has the same.

    >>> partner_auc({"en": Pairing(pairs=8, not_next=4, other=4)})[0]
    1.0
    """
    # NotNext and IsNext pairs by value where B's document has the same value, then where it has another one.
    ones = np.array([*(each.not_next - each.other for each in counts.values()), *(each.other for each in counts.values())])
    zeros = np.array([*(each.pairs - each.not_next for each in counts.values()), *(0 for _ in counts)])
    # The best classifier ranks pairs by the share of NotNext among those that look alike.
    _, ranks = np.unique(ones / np.maximum(1, ones + zeros), return_inverse=True)
    return _area(np.bincount(ranks, ones), np.bincount(ranks, zeros))


def _area(ones: Array, zeros: Array) -> tuple[float, float]:
    """Return the area under the ROC curve, and its error, from counts of labels 1 and 0 by rising value."""
    both = float(ones.sum() * zeros.sum())
    if not both:
        return 0.5, 0.5
    area = float((ones * (np.cumsum(zeros) - zeros / 2)).sum()) / both
    return area, float(np.sqrt((ones.sum() + zeros.sum() + 1) / (12 * both)))

"""Fit what was measured as a sum of shares of what it may grow with, none below zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

__all__ = ["fit", "predict"]

_FEW = 1.02  # a term more has to make the error smaller by this factor


def fit(features: Sequence[Mapping[str, float]], values: Sequence[float]) -> dict[str, float]:
    """Return a coefficient for each feature: those with the least squares of relative errors, of as few features as do.

    A value below 1 counts as one of 1, so that a request more or less in small runs does not decide.

    >>> fit([{"one": 1, "task": n, "byte": n * n} for n in (1, 2, 3, 4)], [5, 8, 11, 14])
    {'one': 2.0, 'task': 3.0}
    """
    names = list(dict.fromkeys(name for each in features for name in each))
    weights = 1 / np.maximum(np.abs(np.array(values, float)), 1)
    table = np.array([[each.get(name, 0.0) for name in names] for each in features]) * weights[:, None]
    target = np.array(values, float) * weights
    best, least = dict[str, float](), float(np.linalg.norm(target)) + 1e-12
    for count in range(1, min(len(names), len(values)) + 1):
        found, error = dict[str, float](), float("inf")
        for chosen in map(list, combinations(range(len(names)), count)):
            scale = np.maximum(np.abs(table[:, chosen]).max(axis=0), 1e-300)
            solved = np.linalg.lstsq(table[:, chosen] / scale, target, rcond=None)[0]
            left = float(np.linalg.norm(table[:, chosen] / scale @ solved - target))
            if (solved >= 0).all() and left < error:
                found, error = {names[c]: v for c, v in zip(chosen, (solved / scale).tolist(), strict=True)}, left
        if error * _FEW < least - 1e-9:
            best, least = found, error + 1e-12
    return {name: float(f"{value:.9g}") for name, value in best.items() if value > 0}


def predict(coefficients: Mapping[str, float], features: Mapping[str, float]) -> float:
    """Return what coefficients tell of these features.

    >>> predict({"one": 2.0, "task": 3.0}, {"one": 1, "task": 10, "byte": 100})
    32.0
    """
    return sum(value * features.get(name, 0.0) for name, value in coefficients.items())

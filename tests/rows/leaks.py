"""Measure what the facts of a pair say about its label: the AUC of each fact, and of a classifier fitted to all of them.

Every token of a partition is replaced by its position, so that a row says which text it is made of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import bertdata
from bertdata import rows
from bertdata.config import PairsConfig
from bertdata.pieces import Special
from bertdata.rows import Partition

FIRST = 10
SPECIAL = Special(pad=0, unk=1, cls=2, sep=3, mask=-1, others=(), mark="##")
SEEDS = range(8)


class Auc(NamedTuple):
    """The mean AUC over the seeds, and its standard error."""

    mean: float
    error: float


def auc(score: np.ndarray, label: np.ndarray) -> float:
    """Return how often label 1 scores above label 0. Ties count half."""
    _, position, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[position]
    n, m = int((label == 1).sum()), int((label == 0).sum())
    return float((ranks[label == 1].sum() - n * (n + 1) / 2) / (n * m))


def of_positions(partition: Partition) -> Partition:
    """Return a partition whose tokens are positions."""
    positions = dataclasses.replace(partition, tokens=np.arange(FIRST, len(partition.tokens) + FIRST, dtype=np.uint32))
    positions.__dict__["traditional"] = partition.traditional  # which reads tokens
    return positions


def partitions_of(corpus: Path, vocab: Path, output: Path, shards: int, patch: pytest.MonkeyPatch) -> list[Partition]:
    """Return the partitions that make-pairs builds from a corpus."""
    found: list[Partition] = []
    build = rows.build

    def keep(partition: Partition, *more: Any) -> Any:
        found.append(of_positions(partition))
        return build(partition, *more)

    with patch.context() as context:
        context.setattr(rows, "build", keep)
        bertdata.make_pairs(corpus, vocab=vocab, output=output, shards=shards, workers=1)
    return found


def facts(partition: Partition, config: PairsConfig) -> dict[str, np.ndarray]:
    """Return the labels of a partition's pairs, and everything that is known of them from outside."""
    built = rows.build(partition, config, SPECIAL)
    assert built.labels is not None and built.b_documents is not None
    size, start = np.diff(built.ends), built.ends[:-1]
    b = np.add.reduceat(built.token_type_ids, start, dtype=np.int64) - 1 if len(size) else size
    bounds = partition.sentences[partition.documents]
    first, last = (built.input_ids[at].astype(np.int64) - FIRST for at in (start + 1, built.ends[1:] - 2))
    inside, full = ~np.isin(last + 1, partition.sentences), size == config.max_seq_length
    groups = np.zeros(len(partition.ids), np.int64) if partition.groups is None else partition.groups
    assert (groups[built.a_documents] == groups[built.b_documents]).all(), "languages and scripts tell the label"
    return {
        "label": built.labels.astype(np.int64),
        "pair": size,
        "A": size - b - 3,
        "B": b,
        "A's position": first - bounds[built.a_documents],
        "A's document": np.diff(bounds)[built.a_documents],
        "A begins a sentence": np.isin(first, partition.sentences),
        "B ends inside a sentence": inside,
        "the row is full": full,
        "not full, and B ends inside a sentence": inside & ~full,
        "language and script": groups[built.a_documents],
    }


def leaks(samples: Sequence[Sequence[Partition]], length: int, **more: Any) -> dict[str, Auc]:
    """Return the AUC of each fact, and of all together. Each seed has its sample of partitions, or all have the same one."""
    labels, values, names = [], [], list[str]()
    for seed in SEEDS:
        config = PairsConfig(max_seq_length=length, seed=seed, **more)
        found = [facts(partition, config) for partition in samples[seed % len(samples)]]
        joined = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
        labels.append(joined.pop("label"))
        values.append(np.stack(list(joined.values()), 1).astype(np.float64))
        names = list(joined)
        assert 2 * int(labels[-1].sum()) == len(labels[-1]) > 0
    aucs = np.array([[auc(column, label) for column in value.T] for label, value in zip(labels, values, strict=True)])
    aucs = np.concatenate([aucs, np.array(fitted(values, labels))[:, None]], 1)
    errors = aucs.std(0, ddof=1) / len(SEEDS) ** 0.5
    return {name: Auc(*both) for name, *both in zip([*names, "fitted"], aucs.mean(0).tolist(), errors.tolist(), strict=True)}


def fitted(values: list[np.ndarray], labels: list[np.ndarray]) -> list[float]:
    """Return the AUC on each seed of a linear classifier, of all facts and their products, that is fitted to the other seeds.

    The seeds have other coins. Within a seed, a fitted classifier would do worse than chance, because its pairs are half NotNext.
    """
    mean, deviation = (getattr(np.concatenate(values), name)(0) for name in ("mean", "std"))
    one, other = np.triu_indices(values[0].shape[1])
    designs = []
    for value in values:
        x = (value - mean) / np.maximum(deviation, 1e-9)
        designs.append(np.concatenate([np.ones((len(x), 1)), x, x[:, one] * x[:, other]], 1))
    squares = [x.T @ x for x in designs]
    slopes = [x.T @ (label - 0.5) for x, label in zip(designs, labels, strict=True)]
    ridge = np.eye(len(squares[0]))
    weights = [
        np.linalg.solve(sum(squares) - square + ridge, sum(slopes) - slope) for square, slope in zip(squares, slopes, strict=True)
    ]
    return [auc(x @ weight, label) for x, weight, label in zip(designs, weights, labels, strict=True)]

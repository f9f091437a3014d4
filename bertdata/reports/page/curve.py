"""Choose the curves of a training run: loss of words and accuracy of pairs by step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..metrics import Record
from .charts import Line, Panel, Points

__all__ = ["overlaid", "panels"]

_KINDS = {"train": "training", "evaluation": "evaluation"}  # of records: what the charts call them
_MAX_POINTS, _MAX_MARKED = 300, 60  # points per line: above the first limit they are averaged, below the second each is marked


def panels(records: Sequence[Record]) -> list[Panel]:
    """Return the panels of a run: the loss of words and, for pairs, the accuracy of labels."""
    drawn = [_panel(records, "mlm_loss", "Loss of masked words (nats)")]
    entropies = [record["unigram_entropy"] for record in records if record.get("unigram_entropy")]
    if entropies:
        drawn[0] = drawn[0]._replace(across=("unigram baseline", entropies[-1]))
    if any("nsp_accuracy" in record for record in records):
        pairs = _panel(records, "nsp_accuracy", "NSP accuracy")
        drawn.append(pairs._replace(across=("chance", 0.5), percent=True))
    return drawn


def _panel(records: Sequence[Record], field: str, title: str) -> Panel:
    return Panel(title, [line for kind, label in _KINDS.items() for line in _lines(records, field, kind, label)])


def overlaid(runs: Sequence[tuple[str, Sequence[Record]]]) -> Iterator[Panel]:
    """Yield panels with a line for each of up to four runs, by name: loss and accuracy, in training and evaluation."""
    for field, title, percent in (("mlm_loss", "Loss of masked words (nats)", False), ("nsp_accuracy", "NSP accuracy", True)):
        for kind, label in _KINDS.items():
            if lines := [line for name, records in runs for line in _lines(records, field, kind, name)]:
                yield Panel(f"{title}, {label}", lines, percent=percent)


def _lines(records: Sequence[Record], field: str, kind: str, name: str) -> Iterator[Line]:
    """Yield the line of a figure, if it has finite values."""
    points = [(record["step"], record[field]) for record in records if record["kind"] == kind and field in record]
    if points := _thinned([point for point in points if math.isfinite(point[1])]):
        yield Line(name, points, marked=kind == "evaluation" and len(points) <= _MAX_MARKED)


def _thinned(points: Points) -> Points:
    """Average neighbours until there are few enough points to see.

    >>> len(_thinned([(float(x), 1.0) for x in range(1000)])) <= 300
    True
    """
    # A run of a million steps logs thousands of points, more than the picture has pixels.
    run = math.ceil(len(points) / _MAX_POINTS)
    groups = [points[start : start + run] for start in range(0, len(points), run or 1)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]

"""Make a transform of Beam's of a chain of steps, which any engine runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apache_beam as beam
from apache_beam.transforms.combiners import ToListCombineFn

from ..steps import Create, FlatMap, GroupByKey, Map, Step, ToList

__all__ = ["on_beam"]

_PRIMITIVES: dict[type[Step], Callable[[Any], beam.PTransform]] = {
    Create: lambda step: beam.Create(step.values, reshuffle=False),
    Map: lambda step: beam.Map(step.function, *step.arguments),
    FlatMap: lambda step: beam.FlatMap(step.function, *step.arguments),
    GroupByKey: lambda step: beam.GroupByKey(),
    ToList: lambda step: beam.CombineGlobally(ToListCombineFn()).without_defaults(),
}


def on_beam(step: Step) -> beam.PTransform:
    """Return what Beam does for a step."""
    return _PRIMITIVES.get(type(step), _Composite)(step)


class _Composite(beam.PTransform):
    def __init__(self, step: Step) -> None:
        super().__init__()
        self._step = step

    def expand(self, collection: Any) -> Any:
        return self._step.expand(_Collection(collection)).collection


class _Collection:
    """A collection of Beam's that takes our steps."""

    def __init__(self, collection: Any) -> None:
        self.collection = collection

    def __or__(self, step: Step) -> _Collection:
        return _Collection(self.collection | step.label >> on_beam(step))

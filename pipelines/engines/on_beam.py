"""Convert a chain of steps to a Beam transform that any engine can run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.transforms.combiners import ToListCombineFn

from bertdata.chains.steps import Create, FlatMap, GroupByKey, Map, Step, ToList
from bertdata.errors import StorageError
from bertdata.storage.progress import TaskContext, TaskProgress

__all__ = ["on_beam"]

_NOT_SEEN = (FileNotFoundError, PermissionError, NotADirectoryError)


@contextlib.contextmanager
def _naming_the_host() -> Iterator[None]:
    """Add this host's name to storage errors: on a cluster, another host may see other files or have more space."""
    try:
        yield
    except StorageError as error:
        advice = ""
        if isinstance(error.__cause__, _NOT_SEEN):
            advice = ". All workers must see the input and `output` under the same names: use a shared directory or a store"
        raise type(error)(f"worker on {os.uname().nodename}: {error}{advice}") from error


def _count(progress: TaskProgress) -> None:
    """Add a finished task to Beam's counters, such as ``extract drops: redirect``, which the engine shows."""
    if progress.done:
        totals = [("tasks", 1), *((name, getattr(progress, name)) for name in ("bytes", "documents", "rejects"))]
        for name, number in (*totals, *progress.reasons):
            Metrics.counter("bertdata", f"{progress.step} {name}").inc(number)


_CONTEXT = TaskContext(_count)


class _OnWorker:
    """Call a function of an element, with constant arguments, on a worker of an engine."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._function, self._arguments = function, arguments

    def __call__(self, element: Any) -> Any:
        with _naming_the_host():
            return _CONTEXT.bind(self._function)(element, *self._arguments)


class _OnWorkerEach(_OnWorker):
    """Call a function that returns several elements, or a generator."""

    def __call__(self, element: Any) -> Iterable[Any]:
        with _naming_the_host():
            yield from _CONTEXT.bind(self._function)(element, *self._arguments)


_PRIMITIVES: dict[type[Step], Callable[[Any], beam.PTransform]] = {
    Create: lambda step: beam.Create(step.values, reshuffle=False),
    Map: lambda step: _typed(beam.Map(_OnWorker(step.function, *step.arguments)), step.returns()),
    FlatMap: lambda step: _typed(beam.FlatMap(_OnWorkerEach(step.function, *step.arguments)), step.returns()),
    GroupByKey: lambda step: beam.GroupByKey(),
    # `combiners.ToList()` has a default for no elements, which needs a side input: the graph would not be a single chain.
    ToList: lambda step: beam.CombineGlobally(ToListCombineFn()).without_defaults(),
}


def on_beam(step: Step) -> beam.PTransform:
    """Return the Beam transform for a step."""
    return _PRIMITIVES.get(type(step), _Composite)(step)


def _typed(transform: beam.PTransform, kind: Any) -> beam.PTransform:
    return transform if kind is Any else transform.with_output_types(kind)


class _Composite(beam.PTransform):
    """A composite step. The engine's UI shows its class name and settings."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self._step = step

    def default_label(self) -> str:
        return type(self._step).__name__

    def display_data(self) -> dict[str, Any]:
        return {"step": self.default_label(), **self._step.display()}

    def expand(self, collection: Any) -> Any:
        return self._step.expand(_Collection(collection)).collection


class _Collection:
    """A Beam collection that accepts bertdata's steps."""

    is_local = False

    def __init__(self, collection: Any) -> None:
        self.collection = collection

    def __or__(self, step: Step) -> _Collection:
        return _Collection(self.collection | step.label >> on_beam(step))

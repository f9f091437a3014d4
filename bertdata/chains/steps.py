"""Define the steps of chains, with the names that Beam uses. They run in this process or by Beam.

A chain is ``begin | "Label" >> step | "Label" >> step``. `local.py` runs its steps in this process or in worker
processes, and `pipelines/engines/on_beam.py` converts them to Beam transforms. Beam is not imported here, because that takes a
second.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from inspect import isroutine
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, get_args, get_type_hints

from ..storage.progress import NO_CONTEXT, TaskContext

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Create", "FlatMap", "GroupByKey", "Map", "Step", "Steps", "ToList"]


class Steps(Protocol):
    """The output of a step and input of the next: local elements, or a Beam collection."""

    is_local: bool  # whether the steps run locally without Beam

    def __or__(self, step: Step, /) -> Steps: ...


class Step:
    """A step: one of the basic steps below, or a composite of other steps."""

    label = ""

    def __rrshift__(self, label: str) -> Self:
        # "Label" >> step: Python asks the string first, which cannot do it, then this method of the
        # step. A copy, so that one step can be used twice with two labels.
        labelled = copy.copy(self)
        labelled.label = label
        return labelled

    def display(self) -> dict[str, str | int | float]:
        """Return the settings that an engine's UI shows."""
        return {}

    def expand(self, steps: Any) -> Any:
        """Append further steps."""
        raise NotImplementedError(f"{type(self).__name__} is made of no others")


class Create(Step):
    """Elements known in advance."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = values

    def here(self, elements: Iterable[Any]) -> Iterable[Any]:
        """Return the elements."""
        return self.values


class Map(Step):
    """Apply a function with constant arguments to each element."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def returns(self) -> Any:
        """Return the annotated return type, or Any."""
        function = self.function
        while callable(inner := getattr(function, "function", None)):
            function = inner
        try:
            return get_type_hints(function if isroutine(function) else type(function).__call__).get("return", Any)
        except (NameError, TypeError):  # names imported only for type checking, or a C function
            return Any

    def here(self, elements: Iterable[Any], context: TaskContext = NO_CONTEXT) -> Iterable[Any]:
        """Apply the function in this process, one element at a time on request."""
        function = context.bind(self.function)
        return (function(element, *self.arguments) for element in elements)


class FlatMap(Map):
    """Apply a function that returns any number of elements."""

    def returns(self) -> Any:
        """Return the type of an output element: X of an annotation such as ``Iterator[X]``, or Any."""
        return next(iter(get_args(super().returns())), Any)

    def here(self, elements: Iterable[Any], context: TaskContext = NO_CONTEXT) -> Iterable[Any]:
        return chain.from_iterable(super().here(elements, context))


class GroupByKey(Step):
    """(key, value) pairs -> each key with all its values."""

    def here(self, elements: Iterable[Any]) -> Iterable[Any]:
        """Group the elements in this process."""
        # The only place where a local run holds all elements of a stage in memory. That is why
        # elements are small: numbers and references to files, not documents.
        groups: dict[Any, list[Any]] = {}
        for key, value in elements:
            groups.setdefault(key, []).append(value)
        for key in [*groups]:  # popping the first key of a dict again and again takes quadratic time
            yield key, groups.pop(key)  # frees finished groups


class ToList(Step):
    """All elements -> one list of them, or no list without elements."""

    def here(self, elements: Iterable[Any]) -> Iterable[Any]:
        """Collect the elements in this process."""
        if values := [*elements]:
            yield values

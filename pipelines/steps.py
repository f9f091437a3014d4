"""Define the steps that chains are made of, under the names that Beam gives them: done in this process, or by Beam.

A chain is a sentence, ``begin | "Label" >> step | "Label" >> step``.  `Here` does its steps in this process as soon as elements
are asked for, `engines/local.py` in worker processes; `engines/on_beam.py` makes Beam's own transforms of them.  Beam is not
imported here: that takes a second.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from inspect import isroutine
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, get_args, get_type_hints

from bertdata.io.progress import NO_CONTEXT, TaskContext

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Create", "FlatMap", "GroupByKey", "Here", "Map", "Step", "Steps", "ToList"]


class Steps(Protocol):
    """What a step makes, and the next one takes: elements on this machine, or a collection of Beam's."""

    is_local: bool  # whether the steps run on this machine without Beam

    def __or__(self, step: Step, /) -> Steps: ...


class Step:
    """A step, made of others unless it is one of those below."""

    label = ""

    def __rrshift__(self, label: str) -> Self:
        labelled = copy.copy(self)
        labelled.label = label
        return labelled

    def display(self) -> dict[str, str | int | float]:
        """Return the settings that an engine's UI shows."""
        return {}

    def expand(self, steps: Any) -> Any:
        """Put further steps behind those before."""
        raise NotImplementedError(f"{type(self).__name__} is made of no others")

    def here(self, elements: Iterable[Any], context: TaskContext = NO_CONTEXT) -> Iterable[Any]:
        """Do the step in this process: an element is made when it is asked for."""
        done: Here = self.expand(Here(elements, context))
        return done.elements


class Here:
    """Elements in this process."""

    is_local = True

    def __init__(self, elements: Iterable[Any] = (), context: TaskContext = NO_CONTEXT) -> None:
        self.elements, self._context = elements, context

    def __or__(self, step: Step) -> Here:
        return Here(step.here(self.elements, self._context), self._context)


class Create(Step):
    """Elements that are known beforehand."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = values

    def here(self, elements: Iterable[Any], context: TaskContext = NO_CONTEXT) -> Iterable[Any]:
        return self.values


class Map(Step):
    """A function of each element, and of arguments that are the same for all."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def returns(self) -> Any:
        """Return the annotated type of what comes out, or Any."""
        function = self.function
        while callable(inner := getattr(function, "function", None)):
            function = inner
        try:
            return get_type_hints(function if isroutine(function) else type(function).__call__).get("return", Any)
        except (NameError, TypeError):  # of names that only type checkers import, or of a function of C
            return Any

    def here(self, elements: Iterable[Any], context: TaskContext = NO_CONTEXT) -> Iterable[Any]:
        return (context.call(self.function, element, *self.arguments) for element in elements)


class FlatMap(Map):
    """A function that makes several elements of each, or none."""

    def returns(self) -> Any:
        """Return the type of an element that comes out: X of an annotation such as ``Iterator[X]``, or Any."""
        return next(iter(get_args(super().returns())), Any)

    def here(self, elements: Iterable[Any], context: TaskContext = NO_CONTEXT) -> Iterable[Any]:
        return chain.from_iterable(super().here(elements, context))


class GroupByKey(Step):
    """Pairs of a key and a value -> each key with all its values."""

    def here(self, elements: Iterable[Any], context: TaskContext = NO_CONTEXT) -> Iterable[Any]:
        groups: dict[Any, list[Any]] = {}
        for key, value in elements:
            groups.setdefault(key, []).append(value)
        for key in [*groups]:  # a dictionary looks for its first key among all that were there: the square of their number
            yield key, groups.pop(key)  # what was done is not held


class ToList(Step):
    """All elements -> one list of them, or none where there are none."""

    def here(self, elements: Iterable[Any], context: TaskContext = NO_CONTEXT) -> Iterable[Any]:
        if values := [*elements]:
            yield values

"""Run a chain of steps on this machine, without Beam: in this process alone, or in worker processes.

Up to the next GroupByKey each element goes its way alone.  So the steps until there are a stage, which workers do of one element
after another: an idle one gets the next.  What a stage makes comes back to this process, which groups it: references of a few
numbers.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable
from itertools import chain as chained
from typing import Any

from bertdata.errors import BertDataError
from bertdata.io.progress import NO_CONTEXT, InContext, TaskContext, TaskProgress
from bertdata.io.storage import storage_error
from bertdata.io.workers import Pool

from ..steps import Map, Step
from ..transforms import Chain

__all__ = ["run"]


def run(
    chain: Step,
    workers: int = 1,
    verbose: bool = False,
    warn: Callable[[str], object] = warnings.warn,
    report: Callable[[TaskProgress], object] = lambda _: None,
) -> None:
    """Run a chain of steps to its end, in this process where one worker is enough.

    `warn` gets a message when a worker was killed and is replaced, `report` the progress of each task.
    Raise the BertDataError that a step raises, and BertDataError for any other exception, or where a second worker is killed.
    """
    if isinstance(chain, Chain):
        chain.write_plan()
    try:
        if workers == 1:
            elements = chain.here((), TaskContext(report))
            del chain  # what it has written for its steps need not be in memory any more
            _exhaust(elements)
        else:
            with Pool(workers, verbose, warn, report) as pool:
                elements = chain.expand(_Stage(pool)).results()
                del chain
                _exhaust(elements)
    except BertDataError:
        raise
    except Exception as error:
        if system := storage_error(error):
            raise system from error
        logging.getLogger(__name__).exception("a step failed")
        problem = f"{type(error).__name__}: {error}".splitlines()[-1]
        raise BertDataError(f"the run failed: {problem}: run the same command again, with --verbose for more") from error


def _exhaust(elements: Iterable[Any]) -> None:
    for _ in elements:
        pass


class _Stage:
    """Elements, and the steps that workers are to do of each."""

    is_local = True

    def __init__(self, pool: Pool, elements: Iterable[Any] = (), steps: tuple[Map, ...] = ()) -> None:
        self._pool, self._elements, self._steps = pool, elements, steps

    def __or__(self, step: Step) -> _Stage:
        if isinstance(step, Map):
            return _Stage(self._pool, self._elements, (*self._steps, step))
        if type(step).here is Step.here:  # it is made of others
            stage: _Stage = step.expand(self)
            return stage
        return _Stage(self._pool, step.here(self.results()))

    def results(self) -> Iterable[Any]:
        """Return what the steps make of the elements, in any order."""
        if not self._steps:
            return self._elements
        return chained.from_iterable(self._pool.each(_Steps(self._steps), self._elements))


class _Steps(InContext):
    """Return what steps make of an element."""

    def __init__(self, steps: tuple[Map, ...]) -> None:
        self._steps = steps

    def __call__(self, element: Any, context: TaskContext = NO_CONTEXT) -> list[Any]:
        elements: Any = [element]
        for step in self._steps:
            elements = step.here(elements, context)
        return [*elements]

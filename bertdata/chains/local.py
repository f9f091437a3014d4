"""Run a chain of steps locally without Beam, in this process or in worker processes.

Up to the next GroupByKey, elements are independent.  The steps up to there form a stage, which workers run on one element
after another. An idle worker gets the next element.  The results, references of a few numbers, return to this process, which
groups them.
"""

from __future__ import annotations

import logging
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain as chained
from typing import Any

from ..errors import BertDataError
from ..storage.progress import NO_CONTEXT, InContext, TaskContext, TaskProgress
from ..storage.storage import storage_error
from ..storage.workers import Pool
from .steps import Map, Step
from .transforms import Chain

__all__ = ["run"]


def run(
    chain: Step,
    workers: int = 1,
    verbose: bool = False,
    warn: Callable[[str], object] = warnings.warn,
    report: Callable[[TaskProgress], object] = lambda _: None,
) -> None:
    """Run a chain of steps to its end, in this process if one worker is enough.

    `warn` gets a message when a killed worker is replaced, and `report` the progress of each task.
    Raise the BertDataError that a step raises. Raise BertDataError for any other exception, or if a second worker is killed.
    """
    if isinstance(chain, Chain):
        chain.write_plan()
    try:
        # One worker needs no processes: elements are pulled through the steps by generators, one at
        # a time.
        if workers == 1:
            elements = chain.here((), TaskContext(report))
            del chain  # frees the values that it has written for its steps
            deque(elements, maxlen=0)
        else:
            with Pool(workers, verbose, warn, report) as pool:
                elements = chain.expand(_Stage(pool)).results()
                del chain
                deque(elements, maxlen=0)
    except BertDataError:
        raise
    except Exception as error:
        if system := storage_error(error):
            raise system from error
        logging.getLogger(__name__).exception("a step failed")
        problem = f"{type(error).__name__}: {error}".splitlines()[-1]
        raise BertDataError(f"the run failed: {problem}: run the same command again, with --verbose for more") from error


class _Stage:
    """Elements, and the steps that workers run on each."""

    is_local = True

    def __init__(self, pool: Pool, elements: Iterable[Any] = (), steps: tuple[Map, ...] = ()) -> None:
        self._pool, self._elements, self._steps = pool, elements, steps

    def __or__(self, step: Step) -> _Stage:
        # A step without a GroupByKey only extends the list of steps to run on each element. A
        # GroupByKey needs all elements first, so it asks for the results, which starts the workers.
        if isinstance(step, Map):
            return _Stage(self._pool, self._elements, (*self._steps, step))
        if type(step).here is Step.here:  # a composite step
            stage: _Stage = step.expand(self)
            return stage
        return _Stage(self._pool, step.here(self.results()))

    def results(self) -> Iterable[Any]:
        """Return the results of the steps, in any order."""
        if not self._steps:
            return self._elements
        return chained.from_iterable(self._pool.each(_Steps(self._steps), self._elements))


class _Steps(InContext):
    """Apply steps to an element."""

    def __init__(self, steps: tuple[Map, ...]) -> None:
        self._steps = steps

    def __call__(self, element: Any, context: TaskContext = NO_CONTEXT) -> list[Any]:
        # A worker runs all steps of the stage on one element before it takes the next one, so
        # results of intermediate steps stay in the worker.
        elements: Any = [element]
        for step in self._steps:
            elements = step.here(elements, context)
        return [*elements]

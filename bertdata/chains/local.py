"""Run a chain of steps locally without Beam, in this process or in worker processes.

Up to the next GroupByKey, elements are independent.  The steps up to there form a stage, which workers run on one element
after another. An idle worker gets the next element.  The results, references of a few numbers, return to this process, which
groups them.
"""

from __future__ import annotations

import logging
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import chain as chained
from typing import Any

from ..errors import BertDataError
from ..storage.progress import NO_CONTEXT, InContext, TaskContext, TaskProgress
from ..storage.storage import storage_error
from ..storage.workers import Pool
from .steps import Create, GroupByKey, Map, Step, ToList
from .transforms import Chain

__all__ = ["Stage", "run"]


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
        with nullcontext(_InProcess(report)) if workers == 1 else Pool(workers, verbose, warn, report) as pool:
            elements = chain.expand(Stage(pool)).results()
            del chain  # frees the values that it has written for its steps
            deque(elements, maxlen=0)
    except BertDataError:
        raise
    except Exception as error:
        if system := storage_error(error):
            raise system from error
        logging.getLogger(__name__).exception("a step failed")
        problem = f"{type(error).__name__}: {error}".splitlines()[-1]
        raise BertDataError(f"the run failed: {problem}: run the same command again, with --verbose for more") from error


class _InProcess:
    """The pool of a run with one worker, which needs no other process: this one works on one element at a time."""

    def __init__(self, report: Callable[[TaskProgress], object]) -> None:
        self._context = TaskContext(report)

    def each(self, work: Callable[[Any], Any], elements: Iterable[Any]) -> Iterator[Any]:
        """Yield the result of `work` for each element."""
        return map(self._context.bind(work), elements)


class Stage:
    """Elements, and the steps that workers run on each."""

    is_local = True

    def __init__(self, pool: Pool | _InProcess, elements: Iterable[Any] = (), steps: tuple[Map, ...] = ()) -> None:
        self._pool, self._elements, self._steps = pool, elements, steps

    def __or__(self, step: Step) -> Stage:
        # A step without a GroupByKey only extends the list of steps to run on each element. A
        # GroupByKey needs all elements first, so it asks for the results, which starts the workers.
        if isinstance(step, Map):
            return Stage(self._pool, self._elements, (*self._steps, step))
        if isinstance(step, Create | GroupByKey | ToList):
            return Stage(self._pool, step.here(self.results()))
        stage: Stage = step.expand(self)
        return stage

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

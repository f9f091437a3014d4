"""Run a chain of steps on this machine, without Beam: in this process alone, or in worker processes.

Up to the next GroupByKey each element goes its way alone.  So the steps until there are a stage, which workers do of one element
after another: an idle one gets the next.  What a stage makes comes back to this process, which groups it: references of a few
numbers.  A worker is reached by a pipe, which nobody else can open.
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterable, Iterator
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from bertdata.credentials import hand_over
from bertdata.errors import BertDataError

from ..steps import Map, Step
from ..transforms import Chain
from . import processes

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["run"]

_DIED = "a worker process was killed, perhaps for want of memory: run the same command again, with fewer `workers`"
_CLOSING = 1  # seconds for a worker that has nothing left to do


def run(chain: Step, workers: int = 1, verbose: bool = False) -> None:
    """Run a chain of steps to its end, in this process where one worker is enough.

    Raise the BertDataError that a step raises, and BertDataError for any other exception, or where a worker dies.
    """
    if isinstance(chain, Chain):
        chain.write_plan()
    try:
        if workers == 1:
            _exhaust(chain.here(()))
        else:
            with _Pool(workers, verbose) as pool:
                _exhaust(chain.expand(_Stage(pool)).results())
    except BertDataError:
        raise
    except Exception as error:
        logging.getLogger(__name__).exception("a step failed")
        problem = f"{type(error).__name__}: {error}".splitlines()[-1]
        raise BertDataError(f"the run failed: {problem}: run the same command again, with --verbose for more") from error


def _exhaust(elements: Iterable[Any]) -> None:
    for _ in elements:
        pass


class _Stage:
    """Elements, and the steps that workers are to do of each."""

    def __init__(self, pool: _Pool, elements: Iterable[Any] = (), steps: tuple[Map, ...] = ()) -> None:
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
        return self._pool.each(self._steps, self._elements) if self._steps else self._elements


class _Pool:
    """Worker processes, which end with the block."""

    def __init__(self, count: int, verbose: bool) -> None:
        self._count, self._verbose, self._workers = count, verbose, list[_Worker]()

    def __enter__(self) -> Self:
        try:
            for _ in range(self._count):
                self._workers.append(_Worker(self._verbose))
                self._workers[-1].begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.end()

    def each(self, steps: tuple[Map, ...], elements: Iterable[Any]) -> Iterator[Any]:
        """Yield what the steps make of each element; of the elements, each is asked for when a worker is idle."""
        idle, left = [*self._workers], iter(elements)
        new = set(idle)  # who doesn't have the steps yet
        by_pipe = {worker.pipe: worker for worker in self._workers}
        made: list[Any] = []
        while True:
            while idle and (element := next(left, self)) is not self:
                worker = idle.pop()
                worker.give(steps if worker in new else None, element)
                new.discard(worker)
            yield from made  # the workers are at work again
            if len(idle) == self._count:
                return
            made = []
            for pipe in wait([*by_pipe]):
                made += by_pipe[pipe].answer()  # type: ignore[index]
                idle.append(by_pipe[pipe])  # type: ignore[index]


class _Worker:
    """A worker process, which does one element at a time."""

    def __init__(self, verbose: bool) -> None:
        (self._process, self.pipe), self._is_busy = processes.start(verbose), False

    def begin(self) -> None:
        """Tell it what it needs to read what this process reads; raise BertDataError where it is dead."""
        self._send(hand_over())

    def give(self, steps: tuple[Map, ...] | None, element: Any) -> None:
        """Let it do these steps, or the ones it has, of an element; raise BertDataError where it is dead."""
        self._is_busy = True
        self._send((steps, element))

    def _send(self, value: Any) -> None:
        try:
            self.pipe.send(value)
        except ConnectionError as error:
            raise BertDataError(_DIED) from error

    def answer(self) -> list[Any]:
        """Return what it has made of its element; raise what a step raised there, and BertDataError where it is dead."""
        try:
            made, error, traceback = self.pipe.recv()
        except (EOFError, OSError) as error:
            raise BertDataError(_DIED) from error
        self._is_busy = False
        if error is not None:
            raise error from RuntimeError(f"in a worker process:\n{traceback}")
        elements: list[Any] = made
        return elements

    def close(self) -> None:
        """Tell it that there is nothing left to do; one that still does something is ended at once, for the run has failed."""
        if self._is_busy:
            self._process.kill()
        self.pipe.close()

    def end(self) -> None:
        """Wait for its end."""
        try:
            self._process.wait(_CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

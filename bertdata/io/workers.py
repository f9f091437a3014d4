"""Do work in worker processes of this machine, each of which is reached by a pipe that nobody else can open."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, TypeVar

from ..credentials import hand_over
from ..errors import BertDataError
from .process import FOR_PARENT

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Pool", "start"]

Element = TypeVar("Element")
Made = TypeVar("Made")
_KILLED = "a worker process was killed, perhaps for want of memory: run the same command again, with fewer `workers`"
_CLOSING = 1  # seconds for a worker that has nothing left to do
_START = "import sys; sys.path[:] = {path}; from {module} import main; main()"  # `-m` would look in the current directory first


def start(verbose: bool) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a worker process, whose standard input is a pipe that goes both ways; return it and our end of the pipe."""
    # What a worker prints must not go to a disk that may be full: the worker would fail in that.
    said = 2 if verbose else subprocess.DEVNULL
    command = [sys.executable, "-u", "-c", _START.format(path=sys.path, module=f"{__package__}.worker")]
    ours, theirs = Pipe()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_PARENT)  # stays so in the process
    try:
        return subprocess.Popen(command, stdin=theirs.fileno(), stdout=said, stderr=said), ours
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


class Pool:
    """Worker processes, which end with the block; `verbose` shows what they print."""

    def __init__(self, count: int, verbose: bool = False) -> None:
        self._count, self._verbose, self._workers = count, verbose, list[_Worker]()

    def __enter__(self) -> Self:
        try:
            for _ in range(self._count):
                self._workers.append(_Worker(self._verbose))
                self._workers[-1].begin()
        except BaseException as failed:
            self.__exit__(type(failed))
            raise
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        for worker in self._workers:
            worker.close(at_once=failed is not None)
        for worker in self._workers:
            worker.end()

    def each(self, work: Callable[[Element], Made], elements: Iterable[Element]) -> Iterator[Made]:
        """Yield what `work` makes of each element, in any order; of the elements, each is asked for when a worker is idle.

        Raise the BertDataError or other exception that `work` raises, and BertDataError where a worker dies.
        """
        idle, left = [*self._workers], iter(elements)
        new = set(idle)  # who doesn't have the work yet
        by_pipe = {worker.pipe: worker for worker in self._workers}
        made: list[Made] = []
        while True:
            while idle and (element := next(left, self)) is not self:
                worker = idle.pop()
                worker.give(work if worker in new else None, element)
                new.discard(worker)
            yield from made  # the workers are at work again
            if len(idle) == self._count:
                return
            made = []
            for pipe in wait([*by_pipe]):
                made.append(by_pipe[pipe].answer())  # type: ignore[index]
                idle.append(by_pipe[pipe])  # type: ignore[index]


class _Worker:
    """A worker process, which does one element at a time."""

    def __init__(self, verbose: bool) -> None:
        self._process, self.pipe = start(verbose)

    def begin(self) -> None:
        """Tell it what it needs to read what this process reads; raise BertDataError where it is dead."""
        self._send(hand_over())

    def give(self, work: Callable[[Any], Any] | None, element: Any) -> None:
        """Let it do this work, or the one it has, of an element; raise BertDataError where it is dead."""
        self._send((work, element))

    def _send(self, value: Any) -> None:
        try:
            self.pipe.send(value)
        except ConnectionError as error:
            raise self._death() from error

    def answer(self) -> Any:
        """Return what it has made of its element; raise what was raised there, and BertDataError where it is dead."""
        try:
            made, error, traceback = self.pipe.recv()
        except (EOFError, OSError) as error:
            raise self._death() from error
        if error is not None:
            raise error from RuntimeError(f"in a worker process:\n{traceback}")
        return made

    def _death(self) -> BertDataError:
        """Return an error that tells how it ended, which its pipe says a moment before the system does."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING)
        code = self._process.returncode
        if code is None or code < 0:
            return BertDataError(_KILLED)
        return BertDataError(f"a worker process ended with exit code {code}: run the same command again, with --verbose for more")

    def close(self, at_once: bool) -> None:
        """Tell it that there is nothing left to do, or end it, whatever it does."""
        if at_once:
            self._process.kill()
        self.pipe.close()

    def end(self) -> None:
        """Wait for its end."""
        try:
            self._process.wait(_CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

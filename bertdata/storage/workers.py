"""Run work in local worker processes, each connected by a private pipe.

If the system kills a worker, for example because memory ran out, the pool replaces it once and retries its element. The second
killed worker ends the run, because further workers would probably be killed, too.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import BertDataError
from .process import FOR_PARENT

if TYPE_CHECKING:
    from typing_extensions import Self

Element = TypeVar("Element")
Result = TypeVar("Result")
_KILLED = "worker process was killed, perhaps because memory ran out"
_RETRY_ADVICE = "Finished tasks are kept: run the same command again with fewer `workers`"
_CLOSE_TIMEOUT_S = 1  # seconds for an idle worker to exit
_START = "import sys; sys.path[:] = {path}; from {module} import main; main()"  # `-m` would look in the current directory first


class Pool:
    """Worker processes that end with the block.

    Args:
        count: Number of processes.
        verbose: Show their output.
        warn: Called with a message when a worker is replaced.
    """

    def __init__(self, count: int, verbose: bool = False, warn: Callable[[str], object] = warnings.warn) -> None:
        self._count, self._verbose, self._warn = count, verbose, warn
        self._workers, self._has_replaced = list[_Worker](), False

    def __enter__(self) -> Self:
        try:
            for _ in range(self._count):
                self._workers.append(_Worker(self._verbose))
        except BaseException as failed:
            self.__exit__(type(failed))
            raise
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        for worker in self._workers:
            worker.close(at_once=failed is not None)
        for worker in self._workers:
            worker.end()

    def each(self, work: Callable[[Element], Result], elements: Iterable[Element]) -> Iterator[Result]:
        """Yield the result of `work` for each element, in any order. Take the next element when a worker is idle.

        Raises:
            BertDataError: `work` raised it, a second worker was killed, or a worker exited.
        """
        left = iter(elements)
        busy: dict[Any, tuple[_Worker, Element]] = {}  # by pipe
        results: list[Result] = []

        def begin(worker: _Worker, element: Element) -> None:
            """Send an element to a worker, or to its replacement if it was killed while it was idle."""
            while True:
                try:
                    worker.send(work, element)
                    break
                except _KilledError as killed:
                    worker = self._replace(worker, killed)
            busy[worker.pipe] = worker, element

        while True:
            while len(busy) < self._count and (element := next(left, self)) is not self:
                begin(next(worker for worker in self._workers if worker.pipe not in busy), element)  # type: ignore[arg-type]
            # The consumer of a result may take long, so all workers are at work again before it gets one.
            yield from results
            if not busy:
                return
            results = []
            for pipe in wait([*busy]):
                worker, element = busy.pop(pipe)
                try:
                    result, error, traceback = worker.receive()
                except _KilledError as killed:  # tasks write files atomically, so another worker can start again
                    begin(self._replace(worker, killed), element)
                    continue
                if error is not None:
                    raise error from RuntimeError(f"in a worker process:\n{traceback}")
                results.append(result)

    def _replace(self, worker: _Worker, killed: _KilledError) -> _Worker:
        """Replace a killed worker. Raise BertDataError the second time."""
        if self._has_replaced:
            raise BertDataError(f"a second {_KILLED}. {_RETRY_ADVICE}") from killed
        self._has_replaced = True
        self._warn(f"a {_KILLED}. It is replaced, and its task starts again")
        worker.close(at_once=True)
        worker.end()
        new = self._workers[self._workers.index(worker)] = _Worker(self._verbose)
        return new


class _KilledError(BertDataError):
    """A worker was killed by a signal."""


class _Worker:
    """A worker process that handles one element at a time."""

    def __init__(self, verbose: bool) -> None:
        # One socket pair per worker, as the worker's stdin. When the parent dies, even by SIGKILL, the system closes its end, the
        # worker reads end-of-file and exits. So no worker outlives a run.
        self.pipe, theirs = Pipe()
        self._work: Callable[[Any], Any] | None = None  # the work that was sent last
        output = 2 if verbose else subprocess.DEVNULL  # not a file: on a full disk, the worker would fail
        command = [sys.executable, "-u", "-c", _START.format(path=sys.path, module=f"{__package__}.worker")]
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_PARENT)  # the child inherits this mask
        try:
            self._process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=output, stderr=output)
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def send(self, work: Callable[[Any], Any], element: Any) -> None:
        """Send work and an element. Raise BertDataError if the worker is dead."""
        try:
            self.pipe.send((None if work is self._work else work, element))
        except ConnectionError as error:
            raise self._death() from error
        self._work = work

    def receive(self) -> Any:
        """Return the answer for an element. Raise BertDataError if the worker is dead."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError) as error:
            raise self._death() from error

    def _death(self) -> BertDataError:
        """Return an error about how the worker ended. The pipe closes a moment before the exit code is available."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_TIMEOUT_S)
        code = self._process.returncode
        if code is None or code < 0:
            return _KilledError(f"a {_KILLED}. {_RETRY_ADVICE}")
        return BertDataError(f"a worker process ended with exit code {code}: run the same command again, with --verbose for more")

    def close(self, at_once: bool) -> None:
        """Close the pipe, so that the worker exits, or kill it at once."""
        if at_once:
            self._process.kill()
        self.pipe.close()

    def end(self) -> None:
        """Wait for the process to end."""
        try:
            self._process.wait(_CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

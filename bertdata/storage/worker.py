"""Run a worker process, which ends with the process that started it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .process import import_arrow_without_pandas
from .terminal import guard

_PR_SET_PDEATHSIG = 1  # of prctl(2)


def main() -> None:
    """Process elements from the pipe at stdin, one after another, until it is closed."""
    with contextlib.suppress(AttributeError, OSError):  # Linux: the end of the driver ends a stopped worker, too
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    driver = os.dup(0)
    with Connection(driver) as pipe, contextlib.suppress(EOFError, ConnectionError):
        _serve(pipe)
    os._exit(0)  # all files are complete, so skip the interpreter's cleanup


def _serve(pipe: Connection) -> None:
    """Answer each request with its result, or with an exception and traceback. Raise EOFError after the last."""
    work: Callable[[Any], Any] | None = None
    while True:
        request = pipe.recv_bytes()
        try:
            if work is None:  # inside this block, because too many threads or open files are an answer, too
                threading.Thread(target=_end_with_driver, args=(pipe.fileno(),), daemon=True).start()
                import_arrow_without_pandas()
                guard()
                with open(os.devnull, "rb") as nothing:
                    os.dup2(nothing.fileno(), 0)  # no child inherits the pipe
            new, element = ForkingPickler.loads(request)
            work = work if new is None else new
            assert work is not None
            answer = ForkingPickler.dumps((work(element), None, ""))
        except BaseException as error:
            answer = ForkingPickler.dumps((None, _portable(error), traceback.format_exc()))
        pipe.send_bytes(answer)


def _portable(error: BaseException) -> BaseException:
    """Return an exception that can be pickled for another process."""
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception_only(type(error), error)).strip())
    return error


def _end_with_driver(pipe: int) -> None:
    """End this process when the other end of the pipe is closed, even if the pipe still has data."""
    hung_up = select.poll()
    hung_up.register(pipe, select.POLLHUP)
    while not hung_up.poll():
        pass
    os._exit(1)

"""Run a worker process, which ends with the process that started it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ..errors import BertDataError
from .process import arrow_alone
from .terminal import guard

__all__ = ["main"]

_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2): the signal that a process gets when its parent ends
_LOOK = 0.5  # seconds between two looks at whether the parent is alive


def main() -> None:
    """Do the work of one element after another, which the pipe at the standard input brings, until it is closed."""
    with contextlib.suppress(AttributeError, OSError):  # Linux ends it at once, even one that is stopped
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    arrow_alone()
    guard()
    with Connection(os.dup(0)) as pipe, contextlib.suppress(EOFError, ConnectionError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the pipe is of this process alone
        os.environ.update(pipe.recv())
        _serve(pipe)
    os._exit(0)  # files are complete: nothing is left that the end of the interpreter would take apart


def _serve(pipe: Connection) -> None:
    """Answer each request by what was made, or else by what was raised and its traceback; raise EOFError after the last."""
    work: Callable[[Any], Any] | None = None
    while True:
        new, element = pipe.recv()
        work = work if new is None else new
        assert work is not None
        try:
            pipe.send((work(element), None, ""))
        except BaseException as error:
            pipe.send((None, _portable(error), traceback.format_exc()))


def _portable(error: BaseException) -> BaseException:
    """Return an exception that can be told to another process."""
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:
        return BertDataError(f"{type(error).__name__}: {error}")
    return error


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)

"""Run a worker process of the local runner, which ends with its driver."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from bertdata.io.terminal import guard

from .processes import lean

__all__ = ["main"]

_SAMPLES = 10  # ms between two samples of Beam's profiler; a bundle ends only after the next sample, with Beam's default 200 ms
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2): the signal that a process gets when its parent ends


def _end_with_driver() -> None:
    """End this process when its driver ends, which closes the pipe; files are complete or temporary at any moment."""
    os.read(0, 1)
    os._exit(1)


@contextlib.contextmanager
def _sampling(sampler: Any) -> Iterator[None]:
    """Let Beam's sampler sample every `_SAMPLES` ms; the period is a default of its constructor, which is restored at the end."""
    old = sampler.__init__.__defaults__
    sampler.__init__.__defaults__ = (_SAMPLES,)
    try:
        yield
    finally:
        sampler.__init__.__defaults__ = old


def main() -> None:
    """Serve the runner that started this process; a line of JSON on the standard input tells where it is."""
    with contextlib.suppress(AttributeError, OSError):  # Linux ends it at once, even one that is stopped
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    with lean():
        from apache_beam.runners.worker import sdk_worker_main, statesampler

    guard()
    where = sys.stdin.buffer.readline()
    if not where:  # the driver needs no worker after all
        return
    os.environ.update(json.loads(where))
    threading.Thread(target=_end_with_driver, daemon=True).start()
    with _sampling(statesampler.StateSampler):
        sdk_worker_main.main(sys.argv)

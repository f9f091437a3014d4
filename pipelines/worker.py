"""A worker process of the local runner, which ends with its driver."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import threading

from bertdata.process import lasting_imports
from bertdata.terminal import guard

__all__ = ["main"]

_SAMPLES = 10  # ms between two looks at which step is at work, the last of which ends a bundle: Beam's are 200
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2): the signal that a process gets when its parent ends


def _end_with_driver() -> None:
    """End this process when its driver has ended, and the pipe from it with it; no file of ours can be harmed by that."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    """Serve the runner that started this process; a line of JSON on the standard input tells where it is."""
    with contextlib.suppress(AttributeError, OSError):  # Linux ends it at once, even one that is stopped
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    with lasting_imports():
        from apache_beam.runners.worker import sdk_worker_main, statesampler

    statesampler.StateSampler.__init__.__defaults__ = (_SAMPLES,)
    guard()
    where = sys.stdin.buffer.readline()
    if not where:  # the driver needs no worker after all
        return
    os.environ.update(json.loads(where))
    threading.Thread(target=_end_with_driver, daemon=True).start()
    sdk_worker_main.main(sys.argv)

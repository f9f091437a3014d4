"""A worker process of the local runner: leaves Ctrl-C and a closed terminal to the driver; ends when that is gone or wants it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time

__all__ = ["main"]

_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2): the signal that a process gets when its parent ends


def _end_with(parent: int, running: str) -> None:
    """End this process when its parent has ended or has removed the file `running`; no file of ours can be harmed by it."""
    while os.getppid() == parent and os.path.exists(running):
        time.sleep(0.2)
    os._exit(1)


def main() -> None:
    """Serve the runner that started this process ; the argument is the file that stands while it runs."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):  # Linux ends it at once, even one that is stopped
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    threading.Thread(target=_end_with, args=(os.getppid(), sys.argv[1]), daemon=True).start()
    from apache_beam.runners.worker import sdk_worker_main

    from bertdata.terminal import guard

    guard()
    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()

"""A worker process of the local runner: leaves Ctrl-C to the driver, and ends when the driver is gone or wants it to."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

__all__ = ["main"]


def _end_with(parent: int, running: str) -> None:
    """End this process when its parent has ended or has removed the file `running`; no file of ours can be harmed by it."""
    while os.getppid() == parent and os.path.exists(running):
        time.sleep(0.2)
    os._exit(1)


def main() -> None:
    """Serve the runner that started this process ; the argument is the file that stands while it runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(), sys.argv[1]), daemon=True).start()
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()

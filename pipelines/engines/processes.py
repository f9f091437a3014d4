"""Start the worker processes of a local run, and tell how many there are."""

from __future__ import annotations

import signal
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from bertdata.errors import StorageError
from bertdata.io.process import FOR_PARENT, workers_for

__all__ = ["number", "start"]

_START = "import sys; sys.path[:] = {path}; from {module} import main; main()"  # `-m` would look in the current directory first


def number(workers: int | None, tasks: int, size: int = sys.maxsize) -> int:
    """Return how many workers a run of so many tasks, and bytes of input, gets: those the user wants, or what suits it.

    Raise StorageError where so many can't be talked to at a time.
    """
    count = workers or workers_for(tasks, size)
    if count > 1:
        _check_open_files(count)
    return count


def start(verbose: bool) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a worker process, whose standard input is a pipe that goes both ways; return it and our end of the pipe."""
    # What a worker prints must not go to a disk that may be full: the worker would fail in that.
    said = 2 if verbose else subprocess.DEVNULL
    command = [sys.executable, "-c", _START.format(path=sys.path, module=f"{__package__}.worker")]
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


def _check_open_files(workers: int) -> None:
    import resource

    limit, needed = resource.getrlimit(resource.RLIMIT_NOFILE)[0], 48 + 2 * workers
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise StorageError(
            f"{limit} open files are too few for {workers} workers, who take {needed}: raise the limit (ulimit -n 1024), or take "
            "fewer `workers`, then run the same command again"
        )

"""Start the worker processes of the local runner: how many there are, and how, best before Beam is imported here."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator

from bertdata.errors import StorageError
from bertdata.io.process import arrow_alone, imports_frozen, workers_for

__all__ = ["lean", "number", "started", "take"]

# Packages that Beam and pyarrow import where they are installed, and no local run uses: half of the time of a start, and 60 MB.
_UNUSED = ("apitools", "boto3", "google.cloud", "pandas", "pymongo")

_START = "import sys; sys.path[:] = {path}; from {module} import main; main()"  # `-m` would look in the current directory first
_FOR_DRIVER = (signal.SIGINT, signal.SIGHUP)  # Ctrl-C and a closed terminal, which all processes of a terminal get

_ready: list[subprocess.Popen[bytes]] = []  # started, and not taken yet


def number(workers: int | None, tasks: int, size: int = sys.maxsize) -> int:
    """Return how many workers a run of so many tasks, and bytes of input, gets: those the user wants, or what suits it.

    Raise StorageError where so many can't be talked to at a time: Beam would wait for ever.
    """
    count = workers or workers_for(tasks, size)
    if count > 1:
        _check_open_files(count)
    return count


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """Import Beam as a local run needs it, in a process that does nothing else: without `_UNUSED`."""
    arrow_alone()
    with imports_frozen(without=_UNUSED):
        yield


@contextlib.contextmanager
def started(count: int, verbose: bool) -> Iterator[None]:
    """Start the processes of so many workers, which import Beam while this one does; end those that nobody took.

    One worker works in this process.
    """
    try:
        for _ in range(count if count > 1 else 0):
            _ready.append(_start(verbose))
        yield
    finally:
        while _ready:
            process = _ready.pop()
            process.kill()
            process.communicate()


def take(verbose: bool) -> subprocess.Popen[bytes]:
    """Return a process that waits for a line of JSON on its standard input, which tells where the runner is."""
    return _ready.pop() if _ready else _start(verbose)


def _start(verbose: bool) -> subprocess.Popen[bytes]:
    # What a worker prints must not go to a disk that may be full: the worker would fail in that.
    said = None if verbose else subprocess.DEVNULL
    command = [sys.executable, "-c", _START.format(path=sys.path, module=f"{__package__}.worker")]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_DRIVER)  # stays so in the process
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _check_open_files(workers: int) -> None:
    import resource

    limit, needed = resource.getrlimit(resource.RLIMIT_NOFILE)[0], 48 + 8 * workers
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise StorageError(
            f"{limit} open files are too few for {workers} workers, who take {needed}: raise the limit (ulimit -n 1024), or take "
            "fewer `workers`, then run the same command again"
        )

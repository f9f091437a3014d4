"""Let only one run at a time write a directory on a disk. In a store, `fence.py` lets only the newest run write.

A job on an engine continues after its command has ended and released the lock. A record next to the lock reserves the directory
for the job.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import OutputLockedError, StorageError
from .files import PRIVATE_MODE, read_json, write_text
from .moves import remove
from .storage import storage_errors

__all__ = ["Job", "holder", "lock", "locked_by", "refuse_reserved", "release", "reserve"]

_JOB_FILE = "job.json"  # the record, until the job commits or its command sees that it has ended
_held: set[int] = set()  # descriptors of the file locks that this process holds
_forking = threading.Lock()  # prevents a fork between opening a descriptor and adding it to _held


class Job(NamedTuple):
    """A job on an engine: its id, the runner, and where to look at it."""

    id: str
    runner: str
    where: str

    def __str__(self) -> str:
        return f"job {self.id} of {self.runner} ({self.where})" if self.id else f"a job of {self.runner} ({self.where})"


def reserve(state: Path, job: Job) -> None:
    """Reserve the directory of this state for a job, until `release`."""
    write_text(state / _JOB_FILE, json.dumps(job._asdict()) + "\n", PRIVATE_MODE)


def release(state: Path) -> None:
    """End the reservation of the directory of this state."""
    remove(state / _JOB_FILE)


def holder(state: Path) -> Job | None:
    """Return the job that a directory is reserved for."""
    record = read_json(state / _JOB_FILE)
    return Job(*(str(record.get(name, "")) for name in Job._fields)) if isinstance(record, dict) else None


def refuse_reserved(state: Path) -> None:
    """Raise OutputLockedError if a directory is reserved for a job."""
    if job := holder(state):
        raise OutputLockedError(
            f"{state.parent} is being written by {job}: wait for it; if it has ended and left no dataset, remove "
            f"{state / _JOB_FILE} and run the same command again"
        )


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a lock until the block or the process ends. Raise OutputLockedError if another process holds it.

    The system releases the lock when the process ends.
    """
    import fcntl

    _close_in_children()
    with storage_errors(f"cannot lock {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        # A forked child inherits open descriptors, and with them the lock. If this thread opened
        # the lock file while another thread forks, the child would hold a lock that `_held` does
        # not list, and keep it after this process ends. `_forking` excludes that.
        with _forking:
            _held.add(descriptor := os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, PRIVATE_MODE))
    try:
        # Writing the process number below would overwrite a file of the user's, if someone had
        # linked it here.
        if not stat.S_ISREG((status := os.fstat(descriptor)).st_mode) or status.st_nlink > 1:
            raise StorageError(f"{path} is not a bertdata lock file. Find out what created it, then remove it")
        try:
            # flock and not a file that says "locked": the system releases it also after SIGKILL.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 100).decode("utf-8", "replace").strip() or "another process"
            raise OutputLockedError(
                f"{path.parent.parent} is being written by {owner}: wait for it, or choose another `output`"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)
        yield
    finally:
        if descriptor in _held:  # not in a child, which has closed it
            _held.remove(descriptor)
            os.close(descriptor)


def locked_by(path: Path) -> str:
    """Return who holds a lock, such as ``process 71 on node-3``, or an empty string if nobody does."""
    import fcntl

    try:
        with open(path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read(100).decode("utf-8", "replace").strip() or "another process"
    except FileNotFoundError:
        pass
    return ""


def _close_in_child() -> None:
    """Close the parent's locks in a forked child. It shares them, and would keep them locked after the parent ends."""
    while _held:
        os.close(_held.pop())
    _forking.release()


@functools.cache
def _close_in_children() -> None:
    """Register a fork hook that closes locks in children."""
    os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_close_in_child)

"""Let only one process at a time write a directory on a disk."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ..errors import OutputLockedError, StorageError
from .files import PRIVATE_MODE
from .problems import storage_errors

# The locks of this process, by its number and their path. The system does not exclude a process from its own locks, and it
# releases a lock when the process closes any descriptor of the file. So a lock that is held here is never opened again.
_held: set[tuple[int, str]] = set()
_changing = threading.Lock()
_WAIT_S = 0.1


@contextlib.contextmanager
def lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock until the block or the process ends. Raise OutputLockedError if it is held already, or `wait` for it.

    The system releases the lock when the process ends, also after SIGKILL. A forked child does not inherit it.
    """
    while True:
        try:
            descriptor = _acquire(path)
            break
        except OutputLockedError:
            if not wait:
                raise
            time.sleep(_WAIT_S)
    held = os.getpid(), os.path.realpath(path)
    try:
        yield
    finally:
        if held[0] == os.getpid():  # a forked child has neither the lock nor the right to end it
            os.close(descriptor)
            _held.discard(held)


def _acquire(path: Path) -> int:
    """Return the descriptor of a locked file, which has the number of this process."""
    this = f"process {os.getpid()} on {os.uname().nodename}"
    with storage_errors(f"cannot lock {path}"), _changing:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = os.getpid(), os.path.realpath(path)
        if held in _held:
            raise _locked(path, this)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, PRIVATE_MODE)
        try:
            # Writing the process number below would overwrite a file of the user's, if someone had linked it here.
            if not stat.S_ISREG((status := os.fstat(descriptor)).st_mode) or status.st_nlink > 1:
                raise StorageError(f"{path} is not a bertdata lock file. Find out what created it, then remove it")
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                raise _locked(path, _owner(descriptor)) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{this}\n".encode(), 0)
        except BaseException:
            os.close(descriptor)
            raise
        _held.add(held)
    return descriptor


def _owner(descriptor: int) -> str:
    return os.pread(descriptor, 100, 0).decode("utf-8", "replace").strip() or "another process"


def _locked(path: Path, owner: str) -> OutputLockedError:
    return OutputLockedError(f"{path.parent.parent} is being written by {owner}: wait for it, or choose another `output`")


def locked_by(path: Path) -> str:
    """Return who holds a lock, such as ``process 71 on node-3``, or an empty string if nobody does."""
    if (os.getpid(), os.path.realpath(path)) in _held:
        return f"process {os.getpid()} on {os.uname().nodename}"
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return _owner(file.fileno())
    return ""

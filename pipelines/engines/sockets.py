"""Make the directory of a local run's Unix socket: no other user can enter it, and it is removed when the run is over.

The driver believes whoever connects to its socket, and a worker obeys whoever answers there, so the directory has mode 0700
and lies where nobody else can move it away and put another in its place.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import tempfile
from collections.abc import Iterator

from bertdata.errors import StorageError

__all__ = ["private_socket"]

_PREFIX = "bertdata-socket-"
_NAME = "beam"
_RANDOM = 8  # letters that mkdtemp adds to the prefix
_LONGEST = 103  # bytes of a socket's path: the system holds 104 on macOS, 108 on Linux, with a zero at the end


@contextlib.contextmanager
def private_socket() -> Iterator[str]:
    """Yield the path for a socket, in a new directory of mode 0700; remove the directory at the end.

    The directory for temporary files is used if it serves, and otherwise another of the system.  Directories that killed runs
    have left there are removed as well.  Raise StorageError where none serves.
    """
    for parent in _parents():
        with contextlib.ExitStack() as stack:
            try:
                _remove_left(parent)
                path = os.path.join(stack.enter_context(_directory(parent)), _NAME)
                _try_bind(path)
            except OSError:  # not writable, or a file system without sockets: the next may serve
                continue
            yield path
            return
    raise StorageError(
        "no directory for a Unix socket: set TMPDIR to a directory on a local disk that other users cannot write to, with a "
        f"path of at most {_LONGEST - len(_PREFIX) - _RANDOM - len(_NAME) - 2} bytes"
    )


def _parents() -> Iterator[str]:
    """List directories where a socket can lie safely, the user's choice first."""
    for name in (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", "/dev/shm"):
        if name:
            path = os.path.realpath(name)
            longest = len(os.fsencode(path)) + 1 + len(_PREFIX) + _RANDOM + 1 + len(_NAME)
            if longest <= _LONGEST and _is_safe(path):
                yield path


def _is_safe(path: str) -> bool:
    """Tell whether nobody but this user and root can rename what lies in a directory, or the directory itself."""
    while True:
        try:
            status = os.stat(path)
        except OSError:
            return False
        open_to_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
        if open_to_others or status.st_uid not in (0, os.geteuid()):
            return False
        if path == os.path.dirname(path):
            return True
        path = os.path.dirname(path)


@contextlib.contextmanager
def _directory(parent: str) -> Iterator[str]:
    """Make a directory and hold a lock on it, which tells other runs that it is in use; remove it at the end."""
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(path):  # removed by another run that began before we held the lock
                continue
            yield path
            return
        finally:
            _remove(path, lock)
            os.close(lock)


def _remove_left(parent: str) -> None:
    """Remove directories of this user whose run has been killed: nobody holds the lock on them."""
    for entry in os.scandir(parent):
        if not entry.name.startswith(_PREFIX):
            continue
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            lock = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            stack.callback(os.close, lock)
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(entry.path, lock)


def _remove(path: str, directory: int) -> None:
    """Remove a directory and the socket in it, and nothing else."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_NAME, dir_fd=directory)
    with contextlib.suppress(OSError):
        os.rmdir(path)


def _try_bind(path: str) -> None:
    """Raise OSError where the file system has no sockets."""
    with socket.socket(socket.AF_UNIX) as tried:
        tried.bind(path)
    os.unlink(path)

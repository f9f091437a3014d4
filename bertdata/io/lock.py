"""Let one run at a time write a directory: by a lock of the system on a disk, by a key that is renewed in a store.

A job that an engine runs elsewhere continues when its command ends and frees the lock: a record beside the lock reserves the
directory for the job.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import OutputLockedError, StorageError
from .files import OBJECT_STORES, PRIVATE, is_local, read_json, write_text
from .moves import remove
from .storage import storage_errors

__all__ = ["Job", "holder", "lock", "refuse_reserved", "release", "reserve"]

_JOB = "job.json"  # the record, until the job commits or its command sees that it has ended
_held: set[int] = set()  # descriptors of the locks on a disk that this process holds
_forking = threading.Lock()  # no fork comes between a descriptor's opening and its entry in _held
_RENEWED, _PATIENCE = 5, 20  # seconds: how often a key is renewed, and for how long unchanged its holder counts as dead
_WAITING = (
    f"bertdata: {{directory}} is locked by {{holder}}: waiting {_PATIENCE} seconds to see whether that run is alive; if it was "
    "killed, this one continues then"
)


class Job(NamedTuple):
    """A job that an engine was given: its name there, the engine, and where one looks at it."""

    id: str
    runner: str
    where: str

    def __str__(self) -> str:
        return f"job {self.id} of {self.runner} ({self.where})" if self.id else f"a job of {self.runner} ({self.where})"


def reserve(state: Path, job: Job) -> None:
    """Reserve the directory of this state for a job, until `release`."""
    write_text(state / _JOB, json.dumps(job._asdict()) + "\n", PRIVATE)


def release(state: Path) -> None:
    """End the reservation of the directory of this state."""
    remove(state / _JOB)


def holder(state: Path) -> Job | None:
    """Return the job that a directory is reserved for."""
    record = read_json(state / _JOB)
    return Job(*(str(record.get(name, "")) for name in Job._fields)) if isinstance(record, dict) else None


def refuse_reserved(state: Path) -> None:
    """Raise OutputLockedError where a directory is reserved for a job."""
    if job := holder(state):
        raise OutputLockedError(
            f"{state.parent} is being written by {job}: wait for it; if it has ended and left no data set, remove {state / _JOB} "
            "and run the same command again"
        )


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a lock file for this process alone, until it ends, however it ends; raise OutputLockedError where another holds it.

    The system frees a lock on a disk.  One in a store is a key that is renewed all the time: where it stays as it is for
    twenty seconds, its holder is dead.
    """
    holder = f"process {os.getpid()} on {os.uname().nodename}"
    with (_flocked if is_local(path) else _leased)(path, holder):
        yield


def _locked(path: Path, said: bytes) -> OutputLockedError:
    return OutputLockedError(f"{path.parent.parent} is being written by {_name(said)}: wait for it, or choose another `output`")


def _name(said: bytes) -> str:
    """Name the holder by what its lock says."""
    return said.partition(b",")[0].decode("utf-8", "replace").strip() or "another process"


@contextlib.contextmanager
def _flocked(path: Path, holder: str) -> Iterator[None]:
    import fcntl

    with storage_errors(f"cannot lock {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _forking:
            _held.add(descriptor := os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, PRIVATE))
    try:
        if not stat.S_ISREG((status := os.fstat(descriptor)).st_mode) or status.st_nlink > 1:
            raise StorageError(f"{path} is no lock that bertdata has made: look who has put it there, and remove it")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _locked(path, os.read(descriptor, 100)) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{holder}\n".encode(), 0)
        yield
    finally:
        if descriptor in _held:  # not in a child, which has closed it
            _held.remove(descriptor)
            os.close(descriptor)


def _close_in_child() -> None:
    """Close the parent's locks in a forked child: it shares them, and would hold them on after the parent has ended."""
    while _held:
        os.close(_held.pop())
    _forking.release()


os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_close_in_child)


@contextlib.contextmanager
def _leased(path: Any, holder: str) -> Iterator[None]:
    """Hold a key that only one can create; it says who holds it and, so that it changes, how often it was renewed."""
    content, done = f"{holder}, {uuid.uuid4().hex[:8]}".encode(), threading.Event()

    def take() -> None:
        try:
            if path.exists():  # for stores that can't tell while they write
                raise FileExistsError
            path.fs.pipe_file(path.path, content, mode="create" if path.protocol in OBJECT_STORES else "overwrite")
        except FileExistsError:
            raise _locked(path, path.read_bytes()) from None

    def renew() -> None:
        renewed = 0
        while not done.wait(_RENEWED):
            with contextlib.suppress(Exception):  # a store that fails now may answer the next time
                if not path.read_bytes().startswith(content):
                    return  # this process slept so long that another took it for dead
                renewed += 1
                path.fs.pipe_file(path.path, content + b" %d" % renewed)

    with storage_errors(f"cannot lock {path}"):
        if path.exists():
            _await_death(path)
        take()
    renewer = threading.Thread(target=renew, daemon=True)
    renewer.start()
    try:
        yield
    finally:
        done.set()
        renewer.join()
        with contextlib.suppress(Exception):
            if path.read_bytes().startswith(content):
                remove(path)


def _await_death(path: Path) -> None:
    """Remove a lock that nobody renews; raise OutputLockedError for one that is renewed."""
    with contextlib.suppress(FileNotFoundError):  # set free while we look
        seen = path.read_bytes()
        with contextlib.suppress(OSError):  # nobody reads it any more
            print(_WAITING.format(directory=path.parent.parent, holder=_name(seen)), file=sys.stderr or io.StringIO(), flush=True)
        for _ in range(_PATIENCE):
            time.sleep(1)
            if path.read_bytes() != seen:
                raise _locked(path, seen)
        remove(path)

"""Let only one run at a time write a directory, with a file lock on a disk or a renewed key in a store.

A job on an engine continues after its command has ended and released the lock. A record next to the lock reserves the directory
for the job.
"""

from __future__ import annotations

import contextlib
import functools
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
from .files import OBJECT_STORES, PRIVATE, is_local, is_private, read_json, write_text
from .moves import remove
from .readers import read_whole
from .storage import storage_errors

__all__ = ["Job", "holder", "lock", "refuse_reserved", "release", "reserve"]

_JOB = "job.json"  # the record, until the job commits or its command sees that it has ended
_held: set[int] = set()  # descriptors of the file locks that this process holds
_forking = threading.Lock()  # prevents a fork between opening a descriptor and adding it to _held
_SETTLING = 1  # seconds in which another run may take over the same lock, in a store without conditional writes
_RENEWED, _PATIENCE = 5, 20  # seconds: how often a key is renewed, and for how long unchanged its holder counts as dead
_WAITING = (
    f"bertdata: {{directory}} is locked by {{holder}}: waiting {_PATIENCE} seconds to see whether that run is alive; if it was "
    "killed, this one continues then"
)

_NOT_ATOMIC = (
    "bertdata: {directory}: this store has no conditional writes, so two runs that write it at once are not excluded. Start only "
    "one run at a time"
)


class Job(NamedTuple):
    """A job on an engine: its id, the runner, and where to look at it."""

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
    """Raise OutputLockedError if a directory is reserved for a job."""
    if job := holder(state):
        raise OutputLockedError(
            f"{state.parent} is being written by {job}: wait for it; if it has ended and left no dataset, remove {state / _JOB} "
            "and run the same command again"
        )


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a lock until the block or the process ends. Raise OutputLockedError if another process holds it.

    On a disk, the system releases the lock when the process ends. In a store, the lock is a key that its holder renews. If the
    key does not change for 20 seconds, its holder is dead.
    """
    holder = f"process {os.getpid()} on {os.uname().nodename}"
    with (_flocked if is_local(path) else _leased)(path, holder):
        yield


def _locked(path: Path, said: bytes) -> OutputLockedError:
    return OutputLockedError(f"{path.parent.parent} is being written by {_name(said)}: wait for it, or choose another `output`")


def _name(said: bytes) -> str:
    """Return the holder's name from the contents of its lock."""
    return said.partition(b",")[0].decode("utf-8", "replace").strip() or "another process"


@contextlib.contextmanager
def _flocked(path: Path, holder: str) -> Iterator[None]:
    import fcntl

    _close_in_children()
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
    """Close the parent's locks in a forked child. It shares them, and would keep them locked after the parent ends."""
    while _held:
        os.close(_held.pop())
    _forking.release()


@functools.cache
def _close_in_children() -> None:
    """Register a fork hook that closes locks in children."""
    os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_close_in_child)


@contextlib.contextmanager
def _leased(path: Any, holder: str) -> Iterator[None]:
    """Hold a key that only one process can create. It contains its holder and, so that it changes, the number of renewals."""
    key, done = _Key(path, f"{holder}, {uuid.uuid4().hex[:8]}".encode()), threading.Event()

    def renew() -> None:
        renewed = 0
        while not done.wait(_RENEWED):
            renewed += 1
            with contextlib.suppress(Exception):  # a store that fails now may answer the next time
                if not key.write(b" %d" % renewed):
                    return  # this process slept so long that another took it for dead

    with storage_errors(f"cannot lock {path}"):
        if (seen := key.look()) is not None:
            seen = _await_death(key, seen)
        is_ours = key.write()
        if is_ours and seen is not None and not key.has_conditions:
            time.sleep(_SETTLING)  # another run that takes it over at the same moment removes our key, and writes its own
            is_ours = key.look() == key.content
        if not is_ours:
            raise _locked(path, key.look() or b"")
        if not key.is_atomic():
            _print(_NOT_ATOMIC, path, seen or b"")
    renewer = threading.Thread(target=renew, daemon=True)
    with storage_errors("cannot renew a lock"):
        renewer.start()
    try:
        yield
    finally:
        done.set()
        renewer.join()
        with contextlib.suppress(Exception):
            if (key.look() or b"").startswith(key.content):
                remove(path)


class _Key:
    """The key of a lock in a store: a write replaces only what the last `look` or `write` left there.

    S3 checks that itself, by the conditions If-None-Match and If-Match of a PUT: of several runs that take over the lock of a
    dead one, one succeeds.  Other stores check it only of a new key, if at all.
    """

    def __init__(self, path: Any, content: bytes) -> None:
        self.path, self.content = path, content
        self.has_conditions = path.protocol in ("s3", "s3a")
        self._version: Any = None  # the key's ETag, or in other stores its contents; None for a missing key

    def look(self) -> bytes | None:
        """Return the contents of the key, or None if it does not exist."""
        try:
            etag = self.path.fs.info(self.path.path)["ETag"] if self.has_conditions else None
            held = read_whole(self.path)
        except FileNotFoundError:
            self._version = None
            return None
        self._version = etag if self.has_conditions else held
        return held

    def write(self, more: bytes = b"") -> bool:
        """Write our content, and `more`; return False if another run has written the key since the last look."""
        content, before = self.content + more, self._version
        if not self.has_conditions:
            return self._put(content, before)
        condition = {"IfNoneMatch": "*"} if before is None else {"IfMatch": before}
        try:
            self._version = self.path.fs.pipe_file(self.path.path, content, **condition)["ETag"]
        except OSError:  # 412, for which s3fs has several errors; or a PUT that was done although its answer was lost
            held = self.look()
            if self._version == before:
                raise
            return held == content
        return True

    def _put(self, content: bytes, before: bytes | None) -> bool:
        """Do the same in a store without conditions: the moments between the look and the write are not protected."""
        if self.look() != before:
            return False
        if before is not None and not before.startswith(self.content):
            remove(self.path)
            before = None
        is_new = before is None and self.path.protocol in OBJECT_STORES
        try:
            self.path.fs.pipe_file(self.path.path, content, mode="create" if is_new else "overwrite")
        except FileExistsError:
            return False
        self._version = content
        return True

    def is_atomic(self) -> bool:
        """Return True if the store reliably excludes a second run. S3-compatible stores may ignore conditions, so try one."""
        if not self.has_conditions:
            return self.path.protocol in OBJECT_STORES
        try:
            self._version = self.path.fs.pipe_file(self.path.path, self.content, IfMatch='"0"')["ETag"]
        except OSError:
            return True
        return False


def _await_death(key: _Key, seen: bytes) -> bytes | None:
    """Return the contents of a dead lock, or None if it is gone. Raise OutputLockedError if its holder renews it."""
    _print(_WAITING, key.path, seen)
    for _ in range(_PATIENCE):
        time.sleep(1)
        if (now := key.look()) != seen:
            if now is None:
                return None  # released while we wait
            raise _locked(key.path, seen)
    if not key.has_conditions and not is_private(key.path):
        _print(_NOT_ATOMIC, key.path, seen)
    return seen


def _print(message: str, path: Any, seen: bytes) -> None:
    with contextlib.suppress(OSError):  # stderr may be closed
        print(message.format(directory=path.parent.parent, holder=_name(seen)), file=sys.stderr or io.StringIO(), flush=True)

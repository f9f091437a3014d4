"""Cache shards of a store, or of Parquet, as files of this machine that can be mapped: fetched ahead, each once, and removed.

A cache is a directory of its own, which this user alone can read.  Processes that share one fetch each shard once between them:
who holds a shard's lock fetches it, and the others wait.  A file appears under its name when it is whole and its digest is right.
The directory goes with the process that made it; what a killed one has left goes when the next cache is made there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ...errors import StorageError, VerificationError
from ...io.files import PRIVATE, TEMPORARY, digest, is_local
from ...io.storage import storage_errors
from .views import CHANGED, REMAKE
from .write import read_batches

__all__ = ["Cache", "RemoteShard"]

_PREFIX, _LOCK = "bertdata-cache-", "lock"
_AT_ONCE, _AHEAD = 4, 2  # shards that are fetched at a time: while rows wait for them, and ahead
_RANGE = 8 << 20  # bytes that a request asks for
_TRIES = 5  # in a row, of one request, before a store is given up
_PAUSE = 0.5  # seconds before the second try, doubled for each further one


class RemoteShard(NamedTuple):
    """A shard to fetch: its path, bytes, digest and format."""

    path: Path
    bytes: int
    sha256: str
    format: str


class Cache:
    """A directory of fetched shards, by number; made for this process unless it is another's, which is given."""

    def __init__(self, remotes: dict[int, RemoteShard], limit: int, directory: str = "") -> None:
        self.remotes, self.directory = remotes, Path(directory)
        if not directory or not self.directory.is_dir():
            with storage_errors("cannot make a cache"):
                self.directory, descriptor = _make()
            weakref.finalize(self, _remove, self.directory, descriptor, os.getpid())
            if (free := shutil.disk_usage(self.directory).free) < limit:
                raise StorageError(
                    f"{self.directory} has room for {free:,} bytes, and {limit:,} are to be kept there: give less as "
                    "`cache_bytes`, or set TMPDIR to a directory of a larger disk"
                )

    def path(self, number: int) -> Path:
        """Return where a shard lies when it has been fetched, as an Arrow file of its own format or, of Parquet, as a stream."""
        return self.directory / f"{number}.arrow"

    def fetch(self, numbers: Iterable[int]) -> None:
        """Fetch shards; when this returns all are there, whoever has fetched them.

        Raise VerificationError for one that is not what its manifest says, StorageError for a store or a disk that fails.
        """
        wanted = list(numbers)
        for wait in (False, True):  # first those that nobody else fetches
            missing = [number for number in wanted if not self.path(number).exists()]
            _each(lambda number, wait=wait: self._fetch(number, wait), missing, _AT_ONCE)  # type: ignore[misc]

    def fetch_ahead(self, numbers: Iterable[int]) -> None:
        """Begin to fetch shards, and return; what fails is tried again, and raised, when the shard is needed."""
        wanted = [number for number in numbers if not self.path(number).exists()]

        def work() -> None:
            with contextlib.suppress(Exception):
                _each(lambda number: self._fetch(number, wait=False), wanted, _AHEAD)

        if wanted:
            with contextlib.suppress(RuntimeError):  # no thread can be started: each shard is fetched when it is needed
                threading.Thread(target=work, daemon=True).start()

    def retain(self, numbers: Iterable[int]) -> None:
        """Remove all shards but these; what is mapped stays readable."""
        wanted = {self.path(number).name for number in numbers}
        for path in self.directory.glob("*.arrow"):
            if path.name not in wanted:
                path.unlink(missing_ok=True)

    def _fetch(self, number: int, wait: bool) -> None:
        """Fetch a shard unless it is there; where another does, wait for it or leave it."""
        with storage_errors(f"cannot write {self.directory}"):
            descriptor = os.open(self.directory / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
            try:
                if _locked(descriptor, wait) and not self.path(number).exists():
                    self._get(self.remotes[number], self.path(number))
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing does not, where a process was forked meanwhile
                os.close(descriptor)

    def _get(self, remote: RemoteShard, target: Path) -> None:
        fetched = target.with_name(f"{TEMPORARY}{uuid.uuid4().hex}")
        stream = fetched.with_name(f"{fetched.name}.arrow-stream")
        try:
            source = remote.path
            if not is_local(source):
                _download(remote, fetched)
                source = fetched
            if remote.format == "parquet":
                _write_stream(remote, source, stream)
            else:
                os.replace(source, stream)
            os.replace(stream, target)
        finally:
            for path in (fetched, stream):
                path.unlink(missing_ok=True)


def _locked(descriptor: int, wait: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _download(remote: RemoteShard, target: Path) -> None:
    """Copy a shard of a store; raise VerificationError unless it is what the manifest says."""
    hashed, size = hashlib.sha256(usedforsecurity=False), 0
    with open(target, "xb") as file:
        for block in _blocks(remote):
            hashed.update(block)
            size += file.write(block)
    if size != remote.bytes or hashed.hexdigest() != remote.sha256:
        raise VerificationError(f"{remote.path} {CHANGED}")


def _blocks(remote: RemoteShard) -> Iterator[bytes]:
    """Yield a file of a store, range by range; a range that does not come is asked for again: connections are dropped."""
    path: Any = remote.path
    path = type(path)(str(path), **path.storage_options)  # of this process: what reaches a store does not survive a fork
    at = failures = 0
    while at < remote.bytes:
        end = min(remote.bytes, at + _RANGE)
        with storage_errors(f"cannot read {remote.path}"):
            try:
                block = path.fs.cat_file(path.path, start=at, end=end)
                if len(block) > end - at:
                    raise OSError(f"{len(block)} bytes came of {end - at}")
            except (FileNotFoundError, PermissionError):
                raise
            except Exception:
                if (failures := failures + 1) == _TRIES:
                    raise
                time.sleep(_PAUSE * 2 ** (failures - 1))
                continue
        if not block:
            return
        failures = 0
        at += len(block)
        yield block


def _write_stream(remote: RemoteShard, source: Path, target: Path) -> None:
    """Write a shard of Parquet as an Arrow stream, a row group at a time; raise VerificationError for a damaged one."""
    import pyarrow.parquet as pq

    if is_local(remote.path) and digest(source) != remote.sha256:
        raise VerificationError(f"{remote.path} {CHANGED}")
    try:
        schema = pq.read_schema(source)
    except pa.ArrowException as error:
        raise VerificationError(f"{remote.path} is damaged ({error}): {REMAKE}") from error
    with open(target, "xb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in read_batches(source, "parquet"):
            writer.write_batch(batch)


def _each(do: Callable[[int], None], numbers: Iterable[int], at_once: int) -> None:
    """Do something for each number, some at a time, in threads that end with the process; raise the first error."""
    waiting, mutex = iter(list(numbers)), threading.Lock()
    errors: list[BaseException] = []

    def work() -> None:
        while not errors:
            with mutex:
                number = next(waiting, None)
            if number is None:
                return
            try:
                do(number)
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(at_once)]
    with storage_errors("cannot fetch shards"):
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _make() -> tuple[Path, int]:
    """Make a directory of this user alone, and hold its lock; remove those whose processes are gone."""
    root = Path(tempfile.gettempdir())
    for path in root.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            _sweep(path)
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return directory, descriptor


def _sweep(path: Path) -> None:
    """Remove a cache of this user that no process holds; one that is being made has no lock yet, and stays."""
    about = path.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        return
    descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if _locked(descriptor, wait=False):
            shutil.rmtree(path)
    finally:
        os.close(descriptor)


def _remove(directory: Path, descriptor: int, process: int) -> None:
    """Remove a cache when the process that made it has no more use for it; a forked child's copy removes nothing."""
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(descriptor)

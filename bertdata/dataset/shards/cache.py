"""Cache shards of a store, or Parquet shards, as local Arrow files that can be mapped.

A cache is a directory that only this user can read.  Processes that share it fetch each shard once: the process that holds a
shard's lock fetches it, and the others wait.  A file gets its final name after its digest was compared with the manifest's.  The
process that made the directory removes it at its end; the next cache removes the directories of killed processes.

fsspec's `filecache` cannot replace this: it has no limit on its size, compares no digests, and a second process reads a file that
the first one is still writing. Each file is fetched by the store's own `get_file`, which repeats failed requests.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ...errors import StorageError, VerificationError
from ...storage.files import PRIVATE_MODE, TEMPORARY_PREFIX, digest, is_local
from ...storage.lock import locked_by
from ...storage.storage import storage_errors
from .views import CHANGED, REMAKE
from .write import read_batches

__all__ = ["Cache", "RemoteShard"]

_PREFIX, _LOCK = "bertdata-cache-", "lock"
_AT_ONCE = 4  # shards fetched at the same time, while rows wait for them
_MAX_TRIES = 5  # for a file of a store
_FIRST_PAUSE_S = 0.5  # seconds before the second try; each later pause is twice as long


class RemoteShard(NamedTuple):
    """A shard to fetch: its path, bytes, digest and format."""

    path: Path
    bytes: int
    sha256: str
    format: str


class Cache:
    """A directory of fetched shards by number. `directory` is the cache of another process, if it made one."""

    def __init__(self, remotes: dict[int, RemoteShard], limit: int, directory: str = "") -> None:
        self.remotes, self.directory = remotes, Path(directory)
        if not directory or not self.directory.is_dir():
            with storage_errors("cannot make a cache"):
                self.directory, descriptor = _make()
            weakref.finalize(self, _remove, self.directory, descriptor, os.getpid())
            if (free := shutil.disk_usage(self.directory).free) < limit:
                raise StorageError(
                    f"{self.directory} has room for {free:,} bytes, but {limit:,} are needed: use a smaller "
                    "`cache_bytes`, or set TMPDIR to a directory of a larger disk"
                )

    def path(self, number: int) -> Path:
        """Return the path of a fetched shard: an Arrow file in its own format, or an Arrow stream made from Parquet."""
        return self.directory / f"{number}.arrow"

    def fetch(self, numbers: Iterable[int]) -> None:
        """Fetch shards, and wait for those that other processes fetch.

        Raises:
            VerificationError: A shard differs from its digest in the manifest.
            StorageError: The store or the disk fails.
        """
        wanted = list(numbers)
        # Eight processes start with the same shards. If each waited for the first shard, one would
        # download and seven would wait. Instead each takes a shard that nobody is fetching, and
        # waits only at the end.
        for wait in (False, True):  # first the shards that no other process is fetching
            missing = [number for number in wanted if not self.path(number).exists()]
            with storage_errors("cannot fetch shards"), ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(partial(self._fetch, wait=wait), missing))

    def fetch_ahead(self, numbers: Iterable[int]) -> None:
        """Start to fetch shards in the background; `fetch` tries failed ones again and raises their errors."""
        wanted = [number for number in numbers if not self.path(number).exists()]

        def work() -> None:
            with contextlib.suppress(Exception):
                for number in wanted:
                    self._fetch(number, wait=False)

        if wanted:
            with contextlib.suppress(RuntimeError):  # no thread can start; `fetch` will fetch them
                threading.Thread(target=work, name="fetch-ahead", daemon=True).start()

    def retain(self, numbers: Iterable[int]) -> None:
        """Remove all shards except these; a removed file that is mapped stays readable."""
        wanted = {self.path(number).name for number in numbers}
        for path in self.directory.glob("*.arrow"):
            if path.name not in wanted:
                path.unlink(missing_ok=True)

    def _fetch(self, number: int, wait: bool) -> None:
        """Fetch a shard unless it is cached; if another process is fetching it, wait for it or skip it."""
        with storage_errors(f"cannot write {self.directory}"):
            descriptor = os.open(self.directory / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_MODE)
            try:
                # Look again after locking: the process that held the lock has probably fetched the
                # shard.
                if _locked(descriptor, wait) and not self.path(number).exists():
                    self._get(self.remotes[number], self.path(number))
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing does not unlock it if a process was forked meanwhile
                os.close(descriptor)

    def _get(self, remote: RemoteShard, target: Path) -> None:
        # The file gets its final name only if its digest is right, so a reader never maps a damaged
        # shard.
        fetched = target.with_name(f"{TEMPORARY_PREFIX}{uuid.uuid4().hex}")
        stream = fetched.with_name(f"{fetched.name}.arrow-stream")
        try:
            source = remote.path
            if not is_local(source):
                _download(source, fetched)
                source = fetched
            if source.stat().st_size != remote.bytes or digest(source) != remote.sha256:
                raise VerificationError(f"{remote.path} {CHANGED}")
            if remote.format == "parquet":
                _write_stream(remote, source, stream)
            os.replace(stream if remote.format == "parquet" else source, target)
        finally:
            for path in (fetched, stream):
                path.unlink(missing_ok=True)


def _locked(descriptor: int, wait: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _download(path: Any, target: Path) -> None:
    """Copy a file of a store, with growing pauses after failures."""
    path = type(path)(str(path), **path.storage_options)  # opened in this process: a connection does not survive a fork
    for failures in range(_MAX_TRIES):
        try:
            with storage_errors(f"cannot read {path}"):
                path.fs.get_file(path.path, str(target))
            return
        except StorageError as error:
            if failures == _MAX_TRIES - 1 or isinstance(error.__cause__, FileNotFoundError | PermissionError):
                raise
            time.sleep(_FIRST_PAUSE_S * 2**failures)


def _write_stream(remote: RemoteShard, source: Path, target: Path) -> None:
    """Convert a Parquet shard to an Arrow stream, one row group at a time; raise VerificationError if it is damaged."""
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(source)
    except pa.ArrowException as error:
        raise VerificationError(f"{remote.path} is damaged ({error}): {REMAKE}") from error
    with open(target, "xb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in read_batches(source, "parquet"):
            writer.write_batch(batch)


def _make() -> tuple[Path, int]:
    """Make a private directory and lock it; remove the directories whose processes have ended."""
    root = Path(tempfile.gettempdir())
    # A killed process cannot remove its cache. Its lock is released by the system, so any later
    # process sees that nobody owns the directory.
    for path in root.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = path.lstat()
            is_own = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
            if is_own and (path / _LOCK).exists() and not locked_by(path / _LOCK):  # one without a lock file is new
                shutil.rmtree(path)
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_MODE)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return directory, descriptor


def _remove(directory: Path, descriptor: int, process: int) -> None:
    """Remove the cache of this process; in a forked child, do nothing."""
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(descriptor)

"""Detect changes of a file during a read by its metadata in the file system or the store, without reading it twice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from ..errors import VerificationError
from .files import is_local, to_path
from .problems import storage_errors

T = TypeVar("T")
_CLOCK_TICK_S = 0.05  # seconds: two changes of a file that are nearer may have one time (a tick of the kernel takes up to 10 ms)
_MAX_TRIES = 3  # a new link to a file, or other permissions, change its stamp as well
_VERSION_KEYS = ("size", "ETag", "etag", "generation", "blob_id", "mtime", "LastModified", "last_modified", "updated", "created")


def stamp(path: str | Path) -> tuple[Any, ...]:
    """Return a value that changes whenever a file changes. For local files, it starts with the ctime in nanoseconds.

    Unlike the modification time, programs cannot set the ctime back. If the file changed within the last clock tick, wait for
    the next one. Changes through a memory map are detected only after the system writes them to the disk.
    """
    path = to_path(path)
    with storage_errors(f"cannot read {path}"):
        if not is_local(path):
            info = path.fs.info(path.path)  # type: ignore[attr-defined]
            return tuple(str(info[key]) for key in _VERSION_KEYS if key in info)
        while True:
            with open(path, "rb", buffering=0) as file:  # as it is opened, a network's file system asks its server
                info = os.fstat(file.fileno())
            if not 0 <= time.time() - info.st_ctime < _CLOCK_TICK_S:
                return info.st_ctime_ns, info.st_mtime_ns, info.st_size, info.st_ino, info.st_dev
            time.sleep(_CLOCK_TICK_S)


def read_unchanged(paths: Iterable[str | Path], work: Callable[[], T]) -> T:
    """Return what `work` makes of files that were not changed meanwhile: it is done again where one was.

    Raise VerificationError for a file that is changed each time.
    """
    paths = sorted(set(map(str, paths)))
    before = list(map(stamp, paths))
    for _ in range(_MAX_TRIES):
        result = work()
        after = list(map(stamp, paths))
        if after == before:
            return result
        changed = next(path for path, one, other in zip(paths, before, after, strict=True) if one != other)
        before = after
    raise VerificationError(
        f"{changed} is changed while it is read: wait until nothing writes there, then start again with `overwrite`"
    )

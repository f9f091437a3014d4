"""Copy a dataset from a store to the local disk, where its shards can be mapped.

    ~/.cache/bertdata/3f6c…/    the copy of a dataset, named after the digest of its manifest: manifest.json, data/…, vocab.txt

Processes that need one copy share it: one process fetches the missing files under a lock, and the others wait. A file gets its
name after its digest was compared with the manifest's, so a killed process leaves no damaged file, and the next one continues.
Nothing removes a copy: remove its directory when you no longer need it. XDG_CACHE_HOME replaces ``~/.cache``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StorageError, VerificationError
from ..storage.files import digest, is_local, replacing
from ..storage.lock import lock
from ..storage.moves import remove_temporary
from ..storage.problems import storage_errors
from .manifest import NAME, read, read_bytes
from .manifest_records import File
from .manifest_types import Manifest

if TYPE_CHECKING:
    from rich.progress import Progress

_AT_ONCE = 4  # files fetched at the same time
_MAX_TRIES = 5  # for a file of a store
_FIRST_PAUSE_S = 0.5  # seconds before the second try; each later pause is twice as long


def local_copy(source: Path, manifest: Manifest, files: Iterable[File]) -> Path:
    """Return a local directory with these files of a dataset and its manifest: the dataset's own, or a copy.

    Raise VerificationError if a file differs from its digest in the manifest, and StorageError if the store or the disk fails.
    """
    if is_local(source):
        return source
    contents = read_bytes(source)
    sha256 = hashlib.sha256(contents).hexdigest()
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "bertdata", sha256[:16])
    with lock(root / "lock", wait=True):
        remove_temporary(root)  # of killed processes
        # A file under its final name has the right digest: only its size is compared again.
        missing = [file for file in files if not (path := root / file.name).is_file() or path.stat().st_size != file.bytes]
        needed, free = sum(file.bytes for file in missing), shutil.disk_usage(root).free
        if free < needed:
            advice = "set XDG_CACHE_HOME to a larger disk"
            raise StorageError(f"{root} has room for {free:,} bytes, but the copy needs {needed:,}: {advice}")
        with storage_errors(f"cannot write {root}"), ThreadPoolExecutor(_AT_ONCE) as pool, _progress() as progress:
            bar = progress.add_task(f"copy {source}", total=needed, visible=bool(missing))
            for size in pool.map(partial(_fetch, source, root), missing):
                progress.advance(bar, size)
        with replacing(root / NAME) as file:
            file.write(contents)
    read(root, type(manifest), sha256=sha256)
    return root


def _progress() -> Progress:
    """Return a bar of bytes on the terminal, or one that is not drawn elsewhere."""
    from rich import progress
    from rich.console import Console

    text = progress.TextColumn("{task.description}", markup=False)
    columns = text, progress.BarColumn(), progress.DownloadColumn(), progress.TransferSpeedColumn()
    return progress.Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())


def _fetch(source: Path, root: Path, file: File) -> int:
    """Copy a file, and return its size."""
    with replacing(root / file.name) as target:
        _download(source / file.name, target.name)
        if digest(target.name) != file.sha256:
            raise VerificationError(f"{source / file.name} differs from its manifest (SHA-256): build it again with `overwrite`")
    return file.bytes


def _download(path: Any, target: str) -> None:
    """Copy a file of a store, with growing pauses after failures."""
    path = type(path)(str(path), **path.storage_options)  # opened in this process: a connection does not survive a fork
    for failures in range(_MAX_TRIES):
        try:
            with storage_errors(f"cannot read {path}"):
                path.fs.get_file(path.path, target)
            return
        except StorageError as error:
            if failures == _MAX_TRIES - 1 or isinstance(error.__cause__, FileNotFoundError | PermissionError):
                raise
            time.sleep(_FIRST_PAUSE_S * 2**failures)

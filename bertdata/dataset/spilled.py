"""Keep work files on a local disk, where small reads are cheap, for a local run whose output is in a store.

They are in a directory below the one for temporary files (TMPDIR), named after the output and the run's identity. A stopped run
leaves them, and the same command reuses them. Another machine repeats their tasks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..storage.fence import token
from ..storage.files import PRIVATE_MODE, is_local, write_json
from ..storage.storage import storage_errors
from .staging import STATE, check_own, discard

__all__ = ["spilling", "work_root"]


def work_root(root: Path) -> Path:
    """Return the directory of a local run's work files: in its output, or on a local disk if the output is in a store."""
    if is_local(root):
        return root
    run = token(root).partition(" ")[0]  # the same for each command that continues the run
    digest = hashlib.sha256(f"{root} {run}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"bertdata-{os.geteuid()}-{digest}")


@contextlib.contextmanager
def spilling(root: Path) -> Iterator[Path]:
    """Yield `work_root`. A local directory is created or reused, and removed when the block succeeds.

    Raise OutputExistsError if another user has created it or may write to it.
    """
    path = work_root(root)
    if path == root:
        yield path
        return
    with storage_errors(f"cannot use {path}"):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        check_own(path)
        write_json(path / STATE / "run.json", {}, PRIVATE_MODE)
    yield path
    discard(path)

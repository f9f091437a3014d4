"""Keep work files of a run on this machine whose output is in a store on a local disk, where small reads cost little.

They lie in a directory below that for temporary files (TMPDIR), which is named after the output and what it is to be.  A run
that was stopped leaves them, and the same command uses them again; on another machine their tasks are done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..io.fence import token
from ..io.files import PRIVATE, is_local, write_json
from ..io.storage import storage_errors
from .staging import STATE, check_own, discard

__all__ = ["spilling", "work_root"]


def work_root(root: Path) -> Path:
    """Return where work files of a run on this machine lie: in its output, or, if that is in a store, on a local disk."""
    if is_local(root):
        return root
    digest = hashlib.sha256(f"{root} {token(root)}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"bertdata-{os.geteuid()}-{digest}")


@contextlib.contextmanager
def spilling(root: Path) -> Iterator[Path]:
    """Yield `work_root`; one on a local disk is made, or used again, and removed when the block ends well.

    Raise OutputExistsError if another user has made it, or may write there.
    """
    path = work_root(root)
    if path == root:
        yield path
        return
    with storage_errors(f"cannot use {path}"):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        check_own(path)
        write_json(path / STATE / "run.json", {}, PRIVATE)
    yield path
    discard(path)

"""Keep spill files of a run on this machine whose output is in a store on a local disk, where reads cost little.

They lie in a directory of the run's own below that for temporary files (TMPDIR), which is named after the output and what it is
to be.  A run that was stopped leaves them, and the same command uses them again; on another machine their tasks are done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..io.files import PRIVATE, write_json
from ..io.storage import storage_errors
from .staging import STATE, check_own, discard

__all__ = ["spill_path", "spilling"]


def spill_path(directory: Path, identity: dict[str, Any]) -> Path:
    """Return the directory on a local disk for a run that builds this in a store."""
    named = json.dumps([str(directory), {**identity, "given": "", "shuffle": ""}], sort_keys=True)
    return Path(tempfile.gettempdir(), f"bertdata-{os.geteuid()}-{hashlib.sha256(named.encode()).hexdigest()[:16]}")


@contextlib.contextmanager
def spilling(path: Path | None) -> Iterator[None]:
    """Make a directory for a run, or go on in it, and remove it when the block ends well; nothing happens without one.

    Raise OutputExistsError where another user has made it, or may write there.
    """
    if path is None:
        yield
        return
    with storage_errors(f"cannot use {path}"):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        check_own(path)
        write_json(path / STATE / "run.json", {}, PRIVATE)
    yield
    discard(path)

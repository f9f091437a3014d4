"""Move and remove files and directories, on disks and in stores."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any, cast

from .files import OBJECT_STORES, TEMPORARY_PREFIX, is_local
from .problems import storage_errors


def remove(path: Path) -> None:
    """Remove a file, or a directory with its contents. Do nothing if it does not exist."""
    if not is_local(path):
        with contextlib.suppress(FileNotFoundError):
            path.fs.rm(path.path, recursive=True)  # type: ignore[attr-defined]
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def move(path: Path, target: Path) -> None:
    """Rename a file. Object stores copy it, then remove the original, so one of them is always complete."""
    with storage_errors(f"cannot move {path}"):
        if is_local(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
        elif (here := cast("Any", path)).protocol in OBJECT_STORES:
            here.fs.cp_file(here.path, cast("Any", target).path)  # `mv` looks for directories of these names first
            here.fs.rm_file(here.path)
        else:
            here.fs.mv(here.path, cast("Any", target).path)


def remove_temporary(directory: Path) -> None:
    """Remove temporary files of killed attempts. Call this only while holding the lock."""
    for path in directory.rglob(f"{TEMPORARY_PREFIX}*"):
        with contextlib.suppress(OSError):
            remove(path)

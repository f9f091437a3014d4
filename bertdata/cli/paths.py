"""Parse an argument that names a local or remote file or directory."""

from __future__ import annotations

from pathlib import Path

from ..errors import UsageError
from ..storage import files

__all__ = ["to_path"]


def to_path(name: str | Path) -> Path:
    """Return the path for an argument. Raise UsageError for an empty one, which would mean the working directory."""
    if name == "":
        raise UsageError("a path is empty, perhaps from an unset variable: pass a path, or . for the current directory")
    return files.to_path(name)

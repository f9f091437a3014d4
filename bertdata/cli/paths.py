"""Parse an argument that names a file or directory, on this machine or in a store."""

from __future__ import annotations

from pathlib import Path

from ..errors import UsageError
from ..io import files

__all__ = ["to_path"]


def to_path(name: str | Path) -> Path:
    """Return the path that an argument stands for; raise UsageError for an empty one, which would be the working directory."""
    if name == "":
        raise UsageError("a path is empty, as that of a variable that is not set: give one, or . for this directory")
    return files.to_path(name)

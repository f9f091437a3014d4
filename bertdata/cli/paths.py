"""Parse arguments that name files and directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import UsageError
from ..storage import files
from ..storage.stores import check_url

__all__ = ["LocalPath", "to_path"]


class LocalPath(click.Path):
    """The type of a local file or directory."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        check_url(str(value))  # before it becomes a path, whose single slash no longer shows that it was a URL
        return super().convert(value, param, ctx)


def to_path(name: str | Path) -> Path:
    """Return a local or remote path. Raise UsageError for an empty name, which would mean the working directory."""
    if name == "":
        raise UsageError("a path is empty, perhaps from an unset variable: pass a path, or . for the current directory")
    return files.to_path(name)

"""Read TOML files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = ["parse_toml", "read_toml"]


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; raise UsageError for one that cannot be read."""
    try:
        return parse_toml(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def parse_toml(name: str, text: str) -> dict[str, Any]:
    """Parse the text of a TOML file; raise UsageError, with the file's name, for what is none."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"{name} is no TOML: {error}") from error
    return table

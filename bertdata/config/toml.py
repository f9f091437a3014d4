"""Read TOML files, and other small files that a user names: never more of one than it can have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = ["parse_toml", "read_small", "read_toml"]

_MOST = 1 << 20  # bytes of a TOML file: a configuration has a few hundred, a table of templates a few thousand


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; raise UsageError for one that is missing or cannot be parsed, OSError if the system does not give it."""
    try:
        return parse_toml(str(path), read_small(path, _MOST).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"cannot read {path} ({error.strerror}): check the path, and give a TOML file") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path} ({error}): save it as UTF-8") from error


def parse_toml(name: str, text: str) -> dict[str, Any]:
    """Parse the text of a TOML file; raise UsageError, with the file's name, for what is none."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no TOML: {error}") from error
    return table


def read_small(path: Path, most: int = _MOST) -> bytes:
    """Read a file of at most `most` bytes; raise UsageError for a larger one, and for a pipe or a device, which may not end.

    OSError: there is none, or it can't be read.
    """
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "no regular file"
        raise UsageError(f"{path} is {kind}: give a file")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UsageError(f"{path} has more than {most:,} bytes, which no such file has: check the name")
    return data

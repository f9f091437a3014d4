"""Read TOML files and other small user files, with a limit on their size."""

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

_MAX_TOML_BYTES = 1 << 20  # a configuration has a few hundred bytes, a template table a few thousand


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raise UsageError if it is missing or invalid, and OSError if it cannot be read."""
    try:
        return parse_toml(str(path), read_small(path, _MAX_TOML_BYTES).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"cannot read {path} ({error.strerror}): check the path of the TOML file") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path} ({error}): save it as UTF-8") from error


def parse_toml(name: str, text: str) -> dict[str, Any]:
    """Parse the text of a TOML file. Raise UsageError, with the file's name, if it is invalid."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not valid TOML: {error}") from error
    return table


def read_small(path: Path, most: int = _MAX_TOML_BYTES) -> bytes:
    """Read a file of at most `most` bytes.

    Raises:
        UsageError: The file is larger, or it is a directory, a pipe or a device.
        OSError: The file is missing or cannot be read.
    """
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a regular file"
        raise UsageError(f"{path} is {kind}: pass a file")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UsageError(f"{path} is larger than the limit of {most:,} bytes: check the name")
    return data

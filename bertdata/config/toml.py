"""Read TOML files, convert their tables to configurations, and read other small user files, with a limit on their size."""

from __future__ import annotations

import dataclasses
import sys
import typing
from pathlib import Path
from typing import Any

from ..errors import UsageError, did_you_mean
from .base import Config, hints_of

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

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


def from_table(hint: Any, value: Any, where: str) -> Any:
    """Convert a table to a configuration, or a list of them. Dashes in keys count as underscores.

    Raise UsageError, with the place, if a key is unknown or missing, or a value is invalid.
    """
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    types = (hint, *typing.get_args(hint))
    kind = next((each for each in types if isinstance(each, type) and issubclass(each, Config)), None)
    if kind and isinstance(value, list):
        return [from_table(kind, each, f"{where}[{number}]") for number, each in enumerate(value)]
    if kind is None or not isinstance(value, dict):
        return [value] if str in types and type(value) is str and typing.get_origin(hint) is tuple else value
    hints, table = hints_of(kind), {key.replace("-", "_"): each for key, each in value.items()}
    if unknown := sorted(table.keys() - hints.keys()):
        more = did_you_mean(unknown[0], hints) or f". Valid keys: {', '.join(hints)}"
        raise UsageError(f"{where}: unknown key {unknown[0]}{more}")
    for field in dataclasses.fields(kind):
        if field.name not in table and field.default is field.default_factory is dataclasses.MISSING:
            raise UsageError(f"{where}: {field.name} is missing. Set it, because it has no default")
    values = {name: from_table(hints[name], each, f"{where}: {name}") for name, each in table.items()}
    try:
        return kind(**values)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def read_small(path: Path, most: int = _MAX_TOML_BYTES) -> bytes:
    """Read a file of at most `most` bytes.

    Raises:
        UsageError: The file is larger, or it is a directory, a pipe or a device.
        OSError: The file is missing or cannot be read.
    """
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a regular file"
        raise UsageError(f"{path} is {kind}: pass a file, such as a TOML file")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UsageError(f"{path} is larger than the limit of {most:,} bytes: check the name")
    return data

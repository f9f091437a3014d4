"""Read tables of TOML as frozen values: every key is known, every value of its type, or the key is named in the error."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

from ..errors import UsageError, did_you_mean
from .base import TYPE_NAMES

__all__ = ["TOML_NAMES", "from_table"]

TOML_NAMES = {**TYPE_NAMES, str: "a string"}  # of the types that a value may have


def from_table(kind: type[Any], table: Any, path: str, inside: str = "") -> Any:
    """Make a value of a frozen dataclass, which may have others within, of a table of the file `path`.

    Raise UsageError, with the key's name, for a key that is unknown or missing, and for a value of another type.
    """
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {inside} must be a table, with a line for each of its keys")
    hints, dot = typing.get_type_hints(kind), f"{inside}." if inside else ""
    if unknown := sorted(table.keys() - hints.keys()):
        more = did_you_mean(unknown[0], hints) or f": use some of {', '.join(hints)}"
        raise UsageError(f"{path}: there is no key {dot}{unknown[0]}{more}")
    for each in dataclasses.fields(kind):
        if each.name not in table and each.default is each.default_factory is dataclasses.MISSING:
            raise UsageError(f"{path}: {dot}{each.name} is missing: it has no default")
    values = {name: _value(hints[name], value, path, dot + name) for name, value in table.items()}
    try:
        return kind(**values)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _value(kind: Any, value: Any, path: str, name: str) -> Any:
    """Check a value's type; a whole number will do for any number, and one string for a list of them."""
    if typing.get_origin(kind) is tuple:
        (inner, _) = typing.get_args(kind)
        values = [value] if inner is str and isinstance(value, str) else value
        if not isinstance(values, list):
            raise UsageError(f"{path}: {name} is {value!r}: give a list")
        return tuple(_value(inner, each, path, name) for each in values)
    if dataclasses.is_dataclass(kind):
        return from_table(typing.cast("type[Any]", kind), value, path, name)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise UsageError(f"{path}: {name} is {value!r}: give {TOML_NAMES[kind]}")
    return value

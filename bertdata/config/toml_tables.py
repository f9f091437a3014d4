"""Convert TOML tables to frozen dataclasses. Errors name the unknown or invalid key."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from ..errors import UsageError, did_you_mean
from .base import TYPE_NAMES

__all__ = ["TOML_NAMES", "from_table"]

TOML_NAMES = {**TYPE_NAMES, str: "a string"}  # names of value types in error messages


def from_table(kind: type[Any], table: Any, path: str, inside: str = "") -> Any:
    """Convert a table of the file `path` to a frozen dataclass, which may contain other dataclasses.

    Raise UsageError, with the key's name, if a key is unknown or missing or a value has the wrong type.
    """
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {inside} must be a table, with one line per key")
    hints, dot = typing.get_type_hints(kind), f"{inside}." if inside else ""
    if unknown := sorted(table.keys() - hints.keys()):
        more = did_you_mean(unknown[0], hints) or f". Valid keys: {', '.join(hints)}"
        raise UsageError(f"{path}: unknown key {dot}{unknown[0]}{more}")
    for each in dataclasses.fields(kind):
        if each.name not in table and each.default is each.default_factory is dataclasses.MISSING:
            raise UsageError(f"{path}: {dot}{each.name} is missing. Set it: it has no default")
    values = {name: _value(hints[name], value, path, dot + name) for name, value in table.items()}
    try:
        return kind(**values)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _value(kind: Any, value: Any, path: str, name: str) -> Any:
    """Check and convert a value. An integer is valid for a float, and a single string for a list of strings."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):  # of a table and a string
        kind = str if isinstance(value, str) and str in typing.get_args(kind) else typing.get_args(kind)[0]
    if typing.get_origin(kind) is tuple:
        (inner, _) = typing.get_args(kind)
        values = [value] if inner is str and isinstance(value, str) else value
        if not isinstance(values, list):
            raise UsageError(f"{path}: {name} is {value!r}: expected a list")
        return tuple(_value(inner, each, path, name) for each in values)
    if typing.get_origin(kind) is dict:
        if not isinstance(value, dict):
            raise UsageError(f"{path}: {name} is {value!r}: expected a table")
        return {key: _value(typing.get_args(kind)[1], each, path, f"{name}.{key}") for key, each in value.items()}
    if dataclasses.is_dataclass(kind):
        return from_table(typing.cast("type[Any]", kind), value, path, name)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise UsageError(f"{path}: {name} is {value!r}: expected {TOML_NAMES[kind]}")
    return value

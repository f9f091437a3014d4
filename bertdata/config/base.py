"""Define options as fields of frozen dataclasses, with name, default, bounds and help. Values are checked on construction.

Each field is a command line option, a TOML key and an argument of the Python function. All three read its definition from here.

>>> @dataclass(frozen=True, kw_only=True)
... class Bread(Config):
...     slices: int = option(2, "Number of slices.", least=1, most=20)
>>> Bread(slices=0)
Traceback (most recent call last):
bertdata.errors.UsageError: `slices`: use 1 to 20
>>> Bread(slices="two")
Traceback (most recent call last):
bertdata.errors.UsageError: `slices` is 'two': expected an integer
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from ..errors import UsageError, did_you_mean

__all__ = [
    "FILES",
    "FREE",
    "TYPE_NAMES",
    "Config",
    "Option",
    "option",
    "options_of",
    "type_problem",
]

C = TypeVar("C", bound="Config")
TYPE_NAMES = {str: "text", int: "an integer", float: "a number", bool: "true or false"}

FREE: dict[str, Any] = {"identity": False}  # marks a field that does not affect the output's bytes
FILES: dict[str, Any] = {"files": True}  # marks a field of user files: the identity stores their names and digests


class Option(NamedTuple):
    """The help, bounds and command line form of a field.

    Attributes:
        help: One or two sentences.
        section: Title under which `--help` lists the option.
        choices: Allowed values. By default, those of the field's `Literal` type.
        least: Smallest allowed value.
        most: Largest allowed value.
        unset: Meaning of 0 or None, in words. If it is set, 0 and None are allowed too.
        flags: Command line flags, if they differ from the field's name, such as ``--lowercase/--cased``.
        metavar: Placeholder for the value in `--help`.
    """

    help: str
    section: str = ""
    choices: Collection[str] = ()
    least: float | None = None
    most: float | None = None
    unset: str = ""
    flags: str = ""
    metavar: str = ""

    def problem(self, value: Any) -> str:
        """Describe how to correct a value. Return an empty string if the value is allowed."""
        if self.choices and value not in self.choices:
            return f"use one of {', '.join(self.choices)}{did_you_mean(str(value), self.choices)}"
        if value is None or (self.unset and not value) or (self.least is self.most is None):
            return ""
        low, high = self.least, self.most
        if (low is None or value >= low) and (high is None or value <= high):
            return ""
        allowed = f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
        if high is not None and isinstance(value, float):
            allowed = f"a share between {low:,} and {high:,}"
        return f"use {allowed}" + (f", or omit it for {self.unset}" if self.unset else "")


def option(default: Any, help: str, *, identity: bool = True, **more: Any) -> Any:
    """Define a configuration field that is also an option.

    Args:
        default: Default value.
        help: One or two sentences for `--help`.
        identity: Whether the field affects the output's bytes.
        more: Other fields of `Option`.
    """
    return dataclasses.field(default=default, metadata={"option": Option(help, **more), "identity": identity})


def options_of(kind: type[Config]) -> dict[str, Option]:
    """Return the options of a configuration by name, in field order, with the choices of `Literal` types."""
    options: dict[str, Option] = {f.name: f.metadata["option"] for f in dataclasses.fields(kind) if "option" in f.metadata}
    return {name: each._replace(choices=each.choices or _choices(_hints(kind)[name])) for name, each in options.items()}


def _choices(hint: Any) -> tuple[str, ...]:
    """Return the values of a `Literal` type, or () for another type."""
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else ()


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base class of configurations. Its constructor checks types and bounds, and converts lists to tuples."""

    def __init_subclass__(cls) -> None:
        """Append the help of the options to the docstring, for `help()` and editors."""
        fields = {name: value for name, value in vars(cls).items() if isinstance(value, dataclasses.Field)}
        for name, field in fields.items():
            if "option" in field.metadata:
                cls.__doc__ = f"{(cls.__doc__ or '').rstrip()}\n\n    {name}: {field.metadata['option'].help}\n"

    def __post_init__(self) -> None:
        for name, hint in _hints(type(self)).items():
            value = getattr(self, name)
            if not _fits(value, hint, bounded=False):
                raise UsageError(f"`{name}` is {_short(value)}: expected {_name(hint, none='None')}", field=name, value=value)
            if type(value) is list:
                object.__setattr__(self, name, tuple(value))
        for name, option in options_of(type(self)).items():
            value = getattr(self, name)
            if problem := option.problem(value):
                shown = f" {value}" if option.choices else ""
                raise UsageError(f"`{name}`{shown}: {problem}", field=name, value=value)

    def identity(self) -> dict[str, object]:
        """Return the fields that affect the output's bytes."""
        fields = dataclasses.fields(self)
        values = {f.name: getattr(self, f.name) for f in fields if f.metadata.get("identity", True)}
        return {name: _plain(value) for name, value in values.items()}

    @classmethod
    def or_default(cls: type[C], config: C | None) -> C:
        """Return `config`, or the default for None. Raise UsageError if it has another type."""
        if config is not None and not isinstance(config, cls):
            raise UsageError(f"the configuration is {_short(config)}: expected {cls.__name__} or None")
        return config or cls()

    @classmethod
    def with_options(cls: type[C], config: C | None, options: Mapping[str, Any]) -> C:
        """Return `config`, or a configuration of keyword options. Options may be fields of nested configurations.

        Raises:
            UsageError: Both are given, or `config` has another type.
            TypeError: An option does not exist.
        """
        if not options:
            return cls.or_default(config)
        if config is not None:
            name = next(iter(options))
            raise UsageError(f"`{name}`: pass `config` or keyword options, not both", field=name, value=options[name])
        nested = {name: hint for name, hint in _hints(cls).items() if isinstance(hint, type) and issubclass(hint, Config)}
        values, rest = {}, dict(options)
        for name, kind in nested.items():
            values[name] = kind(**{each: rest.pop(each) for each in _hints(kind).keys() & rest.keys()})
        if unknown := sorted(rest.keys() - _hints(cls).keys()):
            known = [*_hints(cls), *(each for kind in nested.values() for each in _hints(kind))]
            raise TypeError(f"unexpected keyword argument {unknown[0]!r}{did_you_mean(unknown[0], known)}")
        return cls(**values, **rest)

    @classmethod
    def of(cls: type[C], identity: dict[str, object]) -> C:
        """Build a configuration from an identity that has passed `type_problem`.

        Options that this version does not have are skipped. So are user files, because an identity has only their names and
        digests. Raise UsageError if the values are invalid.
        """
        hints, files = _hints(cls), [f.name for f in dataclasses.fields(cls) if f.metadata.get("files")]
        known = {name: value for name, value in identity.items() if name in hints and name not in files}
        return cls(**{name: _typed(value, hints[name]) for name, value in known.items()})

    def sha256(self) -> str:
        """Hash the identity."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()

    def _require(self, condition: bool, problem: str, *, field: str = "") -> None:
        if not condition:
            raise UsageError(problem, field=field, value=getattr(self, field, None))


def _plain(value: Any) -> Any:
    """Convert a field's value to JSON types."""
    if isinstance(value, Config):
        return value.identity()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def type_problem(kind: type[Config], identity: dict[str, object]) -> str:
    """Return which field of an identity has the wrong type, or an empty string. Unknown fields are ignored."""
    hints = _hints(kind)
    for field in dataclasses.fields(kind):
        if field.name not in identity:
            continue
        value, hint = identity[field.name], hints[field.name]
        if field.metadata.get("files"):
            if not _are_files(value):
                return f"{field.name} is not a list of names and digests"
        elif isinstance(hint, type) and issubclass(hint, Config):
            if type(value) is not dict:
                return f"{field.name} is not an object"
            if problem := type_problem(hint, value):
                return f"{field.name}.{problem}"
        elif not _fits(value, hint):
            return f"{field.name} is not {_name(hint)}"
    return ""


def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of the fields by name, with string annotations resolved."""
    return _looked_up(kind)  # not cached here: mypy rejects a Config class as a cache key


@functools.cache
def _looked_up(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)  # takes 0.5 ms
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _are_files(value: Any) -> bool:
    keys = ("name", "sha256")
    return type(value) is list and all(type(file) is dict and all(_fits(file.get(key), str) for key in keys) for file in value)


def _fits(value: Any, hint: Any, bounded: bool = True) -> bool:
    """Return True if a Python or JSON value has a field's type. If `bounded`, numbers must be finite and fit in 64 bits."""
    if isinstance(hint, types.UnionType):
        return any(_fits(value, each, bounded) for each in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        inner = typing.get_args(hint)
        if type(value) not in (list, tuple) or (inner[-1] is not ... and len(value) != len(inner)):
            return False
        return all(_fits(each, inner[0], bounded) for each in value)
    if typing.get_origin(hint) is Literal:
        hint = str
    if typing.get_origin(hint) is dict:
        key, inner = typing.get_args(hint)
        return type(value) is dict and all(_fits(k, key, bounded) and _fits(v, inner, bounded) for k, v in value.items())
    if hint in (int, float):
        is_number = type(value) is int or type(value) is hint
        return is_number and (not bounded or (abs(value) < 1 << 63 and math.isfinite(value)))
    return type(value) is hint


def _typed(value: Any, hint: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, Config):
        return hint.of(value)
    return tuple(value) if typing.get_origin(hint) is tuple else value


def _name(hint: Any, none: str = "null") -> str:
    """Return the name of a field's type for messages; `none` is the spelling of None.

    >>> _name(float | None), _name(tuple[str, ...]), _name(tuple[tuple[str, str], ...])
    ('a number or null', 'a list of text', 'a list of (text, text)')
    """
    if hint is type(None):
        return none
    if isinstance(hint, types.UnionType):
        return " or ".join(_name(each, none) for each in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        inner = [_name(each) for each in typing.get_args(hint) if each is not ...]
        return f"a list of {inner[0]}" if typing.get_args(hint)[-1] is ... else f"({', '.join(inner)})"
    return TYPE_NAMES.get(str if _choices(hint) else hint) or str(hint.__name__)


def _short(value: Any) -> str:
    """Return the repr of a value, shortened to 61 characters if it is longer than 80.

    >>> _short("tea"), _short(list(range(100)))
    ("'tea'", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1…')
    """
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}…"

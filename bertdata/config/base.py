"""Define options as fields of frozen dataclasses: a type with bounds, a default and help. msgspec checks values on construction.

Each field is a command line option, a TOML key and an argument of the Python function. All three read its definition from here.

>>> @dataclass(frozen=True, kw_only=True)
... class Bread(Config):
...     slices: Annotated[int, Meta(ge=1, le=20)] = option(2, "Number of slices.")
...     crust: Literal["dark", "light"] = option("dark", "Color of the crust.")
>>> Bread(slices=0)
Traceback (most recent call last):
bertdata.errors.UsageError: `slices` is 0: expected an integer >= 1
>>> Bread(crust="drak")
Traceback (most recent call last):
bertdata.errors.UsageError: `crust` is 'drak': use one of dark, light: did you mean 'dark'?
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar

from msgspec import Meta

from ..codec import WrongValue, decode
from ..errors import UsageError, did_you_mean

C = TypeVar("C", bound="Config")

FREE: dict[str, Any] = {"identity": False}  # marks a field that does not affect the output's bytes
FILES: dict[str, Any] = {"files": True}  # marks a field of user files: the identity stores their names and digests

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Positive = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
Seed = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]  # bounds exclude NaN and infinities
Number = Annotated[float, Meta(ge=0, le=1e300)]
PositiveNumber = Annotated[float, Meta(gt=0, le=1e300)]

_TYPE_NAMES = {"int": "an integer", "float": "a number", "str": "text", "bool": "true or false", "array": "a list"}
_TYPE_NAMES |= {"object": "a table", "null": "None", " | ": " or "}


class Option(NamedTuple):
    """The help and command line form of a field.

    Attributes:
        help: One or two sentences.
        section: Title under which `--help` lists the option.
        unset: What an unset option means, in words, if its default value does not show it.
        flags: Command line flags, if they differ from the field's name, such as ``--lowercase/--cased``.
        metavar: Placeholder for the value in `--help`.
        first: Whether `--help` explains the option, not only `--help-all`.
    """

    help: str
    section: str = ""
    unset: str = ""
    flags: str = ""
    metavar: str = ""
    first: bool = False


class _FileDigest(TypedDict):
    name: str
    sha256: str


def option(default: Any, help: str, *, identity: bool = True, files: bool = False, **more: Any) -> Any:
    """Define a configuration field that is also an option. `more` are the other fields of `Option`.

    `identity` says whether the field affects the output's bytes, and `files` that it is one of user files, which are paths on the
    command line and in Python.
    """
    return dataclasses.field(default=default, metadata={"option": Option(help, **more), "identity": identity, "files": files})


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
        for name, hint in hints_of(type(self)).items():
            object.__setattr__(self, name, _convert(name, getattr(self, name), hint))

    def identity(self) -> dict[str, object]:
        """Return the fields that affect the output's bytes, as JSON values."""
        fields = (field.name for field in dataclasses.fields(self) if field.metadata.get("identity", True))
        return {name: _plain(getattr(self, name)) for name in fields}

    @classmethod
    def with_options(cls: type[C], config: C | None, options: Mapping[str, Any] = MappingProxyType({})) -> C:
        """Return `config`, or the default, with other values for some options, which may be fields of nested configurations.

        Raises:
            UsageError: `config` has another type, or a value is invalid.
            TypeError: An option does not exist.
        """
        if config is not None and not isinstance(config, cls):
            raise UsageError(f"the configuration is {_short(config)}: expected {cls.__name__} or None")
        default, hints, values = cls(), hints_of(cls), dict(options)
        for name, kind in hints.items():
            if isinstance(kind, type) and issubclass(kind, Config):
                nested = {each: values.pop(each) for each in hints_of(kind).keys() & values.keys()}
                values[name] = kind.with_options(values.get(name, getattr(config or default, name)), nested)
        if unknown := sorted(values.keys() - hints.keys()):
            raise TypeError(f"unexpected keyword argument {unknown[0]!r}{did_you_mean(unknown[0], options_of(cls))}")
        # Values that a constructor derives from others, such as a default that depends on the objective, are derived again.
        changed = {name for name in hints if config and getattr(config, name) != getattr(default, name)}
        return cls(**{name: getattr(config, name) for name in changed} | values)

    @classmethod
    def of(cls: type[C], identity: Mapping[str, object]) -> C:
        """Build a configuration from an identity.

        Options that this version does not have are skipped. So are user files, because an identity has only their names and
        digests. Raise UsageError if a value is invalid.
        """
        files = [field.name for field in dataclasses.fields(cls) if field.metadata.get("files")]
        for name in files:
            _convert(name, identity.get(name, []), list[_FileDigest])
        return cls(**{name: identity[name] for name in hints_of(cls) if name in identity and name not in files})

    def _require(self, condition: bool, problem: str, *, field: str = "") -> None:
        if not condition:
            raise UsageError(problem, field=field, value=getattr(self, field, None))


def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)  # takes 0.5 ms
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


hints_of: Callable[[Any], dict[str, Any]] = functools.cache(_hints)  # types of a configuration's fields by name, with bounds


def options_of(kind: type[Config]) -> dict[str, Option]:
    """Return the options of a configuration and of those nested in it, by name."""
    options = {}
    for field in dataclasses.fields(kind):
        nested = hints_of(kind)[field.name]
        if "option" in field.metadata:
            options[field.name] = field.metadata["option"]
        elif isinstance(nested, type) and issubclass(nested, Config):
            options |= options_of(nested)
    return options


def _convert(name: str, value: Any, hint: Any) -> Any:
    """Return a value as the type of a field. Raise UsageError if it has another type or is out of bounds."""
    try:
        return decode(value, hint)
    except WrongValue as error:
        problem = re.sub(r"[a-z]+| \| ", lambda match: _TYPE_NAMES.get(match[0], match[0]), error.problem)
        if typing.get_origin(hint) is Literal and isinstance(value, str):
            choices = typing.get_args(hint)
            problem = f"use one of {', '.join(choices)}{did_you_mean(value, choices)}"
        where = f"`{name}` at {error.field}" if error.field else f"`{name}`"
        raise UsageError(f"{where} is {_short(value)}: {problem}", field=name, value=value) from None


def _plain(value: Any) -> Any:
    """Convert a field's value to JSON types."""
    if isinstance(value, Config):
        return value.identity()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _short(value: Any) -> str:
    """Return the repr of a value, shortened to 61 characters if it is longer than 80."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}…"

"""Options of `build-corpus` that leave documents out by what they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..config import FilterConfig
from ..errors import StorageError, UsageError
from ..files import digest, place

__all__ = ["filter_options", "take_filters"]

_DEFAULTS = FilterConfig()

F = TypeVar("F", bound=Callable[..., Any])


def _codes(value: Any) -> tuple[str, ...]:
    """Read codes with commas between them, or a list of them from a TOML file."""
    return tuple(str(code).strip() for code in (value.split(",") if isinstance(value, str) else value))


_BOUNDS = {
    "min_characters": "Drop shorter documents.",
    "max_characters": "Drop longer documents; 0 is no bound.",
    "min_letters": "Share of letters, of any script, that a document needs.",
    "max_digits": "Share of digits that it may have.",
    "max_repeated": "Share of its sentences, by characters, that may have come before in it.",
    "max_boilerplate": "Share of cookie notices, rights, menus, filler and the like that it may have.",
}


def filter_options(command: F) -> F:
    """Add the options."""
    bounds = [
        click.option(
            f"--{name.replace('_', '-')}",
            type=type(getattr(_DEFAULTS, name)),
            default=getattr(_DEFAULTS, name),
            show_default=True,
            help=text,
        )
        for name, text in _BOUNDS.items()
    ]
    languages = click.option(
        "--languages",
        type=_codes,
        default=(),
        metavar="CODES",
        help="Keep documents in these languages only, such as en,zh.  Without it, in any language.",
    )
    exclude = click.option(
        "--exclude",
        multiple=True,
        type=place,
        metavar="FILE",
        help="Drop documents that share 13 words in a row with this evaluation set: .txt, an example a line, or .jsonl.",
    )
    for decorate in reversed([languages, *bounds, exclude]):
        command = decorate(command)
    return command


def take_filters(values: dict[str, Any]) -> dict[str, Any]:
    """Take these options out of a command's parameters: the bounds, and the evaluation files by name, path and SHA-256."""
    bounds = FilterConfig(**{field.name: values.pop(field.name) for field in dataclasses.fields(FilterConfig)})
    return {"filters": bounds, "exclude": _digests(values.pop("exclude"))}


def _digests(paths: tuple[Path, ...]) -> tuple[tuple[str, str, str], ...]:
    found = []
    for path in paths:
        try:
            found.append((path.name, str(path.resolve()), digest(path)))  # a worker may be in another directory
        except StorageError as error:
            raise UsageError(f"--exclude: {error}") from error
    return tuple(sorted(found))

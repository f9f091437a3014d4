"""Generate the reference of commands and of configurations from the code."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any

import click
import msgspec

import bertdata
from bertdata.cli import cli, options
from bertdata.config import ExportConfig
from bertdata.config.base import options_of


def walk() -> Iterator[tuple[str, click.Command]]:
    """Yield each command that does something, with its name: ``build-corpus``, ``download wikipedia``."""
    context = click.Context(cli, info_name="bertdata")
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {part}", inner) for part, inner in command.commands.items())
        else:
            yield name, command


def commands() -> str:
    """Return the help of every command, as the command prints it."""
    pages = []
    for name, command in walk():
        context = click.Context(command, info_name=f"bertdata {name}", terminal_width=100, max_content_width=100)
        context.meta[options._HELP_ALL] = True
        pages.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(pages)


def configurations() -> str:
    """Return a table of each configuration whose fields are options: field, type, default and description."""
    kinds = [*(getattr(bertdata, name) for name in bertdata.__all__ if name.endswith("Config")), ExportConfig]
    return "\n".join(_configuration(kind) for kind in kinds if options_of(kind))


def _configuration(kind: type[Any]) -> str:
    hints = typing.get_type_hints(kind, include_extras=True)
    lines = [f"### {kind.__name__}", "", " ".join((kind.__doc__ or "").split("\n\n")[0].split()), ""]
    lines += ["| field | type | default | description |", "|---|---|---|---|"]
    for field in dataclasses.fields(kind):
        if entry := field.metadata.get("option"):
            cells = (f"`{field.name}`", f"`{_type(hints[field.name])}`", f"`{field.default!r}`", entry.help)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|').replace('<', '&lt;') for cell in cells)} |")
    return "\n".join([*lines, ""])


def _type(hint: Any) -> str:
    """Write a type with its bounds.

    >>> _type(typing.Annotated[int, msgspec.Meta(ge=1, le=20)]), _type(typing.Literal["a", "b"])
    ('int, 1 to 20', "Literal['a', 'b']")
    """
    if typing.get_origin(hint) is not typing.Annotated:
        return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")
    kind, *metas = typing.get_args(hint)
    (meta,) = metas or [msgspec.Meta()]
    least, most = meta.ge, None if meta.le is None or meta.le > 1e15 else meta.le
    bounds = "" if least is None or least < -1e15 else f", from {least}" if most is None else f", {least} to {most}"
    return _type(kind) + bounds


PARTS = {"commands": commands, "configurations": configurations}  # marker in a page -> text

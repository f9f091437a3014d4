"""Generate reference pages from the code: options, configurations and exit codes."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from typing import Any

import click

import bertdata
from bertdata import errors
from bertdata.cli import cli
from bertdata.config import ExportConfig
from bertdata.config.base import Config, options_of

__all__ = ["PARTS", "WRITTEN", "commands", "configurations", "exit_codes", "tables", "walk"]

_SIGNALS = (("129", "SIGHUP"), ("130", "Ctrl-C (SIGINT)"), ("143", "SIGTERM"))
_MEANINGS = {  # meaning of each exit code
    0: "Success. This includes a run with nothing to do.",
    1: "Internal error. Please report it.",
    2: "Invalid option, file name or configuration, or missing input.",
    3: "The result is empty, or more records were rejected than `--max-rejects` allows.",
    4: "Error of the disk, an object store or a server, or missing permissions.",
    5: "The output already exists, is locked by another run, or belongs to an unfinished run with other settings or inputs.",
    6: "Files differ from their manifest.",
}


def walk() -> Iterator[tuple[str, click.Command]]:
    """Yield each command that does something, with its name: ``build-corpus``, ``download wikipedia``."""
    context = click.Context(cli, info_name="bertdata")
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {part}", command.commands[part]) for part in command.list_commands(context))
        else:
            yield name, command


def commands() -> str:
    """List every command: usage, description, and options in the sections of its help."""
    return "\n".join(_command(name, command) for name, command in walk())


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"bertdata {name}")
    usage = " ".join(["bertdata", name, *command.collect_usage_pieces(context)])
    lines = [f"## {name}", "", "```text", usage, "```", "", _prose(command.help or ""), ""]
    options = {param.name: param for param in command.params if isinstance(param, click.Option) and not param.hidden}
    sections: dict[str, Any] = dict(getattr(command, "_sections", {}))
    listed = {name for names in sections.values() for name in names}
    sections["Options"] = [name for name in options if name not in listed]
    for title, names in sections.items():
        rows = [_row(options[name], context) for name in options if name in names]
        if rows:
            lines += [f"**{title}**", "", "| option | description |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(option: click.Option, context: click.Context) -> str:
    """Write an option as a row of a table: names, value, help, default."""
    names, description = option.get_help_record(context) or ("", "")
    assert description, f"{option.name} has no help"
    return f"| `{_cell(names)}` | {_cell(_text(description))} |"


def _prose(help: str) -> str:
    """Write the help of a command as Markdown: paragraphs, and text after a \\b unchanged."""
    blocks = []
    for block in re.split(r"\n\n+", inspect.cleandoc(help)):
        if block.startswith("\b"):
            lines = block.split("\n")[1:]
            margin = min(len(line) - len(line.lstrip()) for line in lines)
            blocks.append("\n".join(["```text", *(line[margin:] for line in lines), "```"]))
        else:
            blocks.append(_text(" ".join(block.split())))
    return "\n\n".join(blocks)


def _text(description: str) -> str:
    """Escape characters that are not meant as Markdown: tags, brackets, stars."""
    parts = re.split(r"(`[^`]*`)", description)
    plain = (re.sub(r"([\[\]*_|])", r"\\\1", part).replace("<", "&lt;") for part in parts)
    return "".join(part if part.startswith("`") else description for part, description in zip(parts, plain, strict=True))


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def configurations() -> str:
    """List every configuration whose fields are options: field, type, default, bounds and description."""
    kinds = [getattr(bertdata, name) for name in bertdata.__all__ if name.endswith("Config")]
    kinds = [kind for kind in [*kinds, ExportConfig] if options_of(kind)]
    return "\n".join(_configuration(kind) for kind in kinds)


def _configuration(kind: type[Config]) -> str:
    hints = typing.get_type_hints(kind)
    lines = [f"### {kind.__name__}", "", _text(" ".join((kind.__doc__ or "").split("\n\n")[0].split())), ""]
    lines += ["| field | type | default | description |", "|---|---|---|---|"]
    for field in dataclasses.fields(kind):
        if entry := field.metadata.get("option"):
            what = " ".join(filter(None, [f"{entry.help.rstrip('.')}.", _bounds(entry)]))
            default = f"`{field.default!r}`" + (f": {entry.unset}" if entry.unset else "")
            lines.append(
                f"| `{field.name}` | `{_cell(_type(hints[field.name]))}` | {_cell(_text(default))} | {_cell(_text(what))} |"
            )
    return "\n".join([*lines, ""])


def _bounds(entry: Any) -> str:
    if entry.choices:
        return f"One of {', '.join(entry.choices)}."
    if entry.least is entry.most is None:
        return ""
    if entry.most is None:
        return f"At least {entry.least:,}."
    return f"From {entry.least or 0:,} to {entry.most:,}."


def _type(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")


def exit_codes() -> str:
    """Each exit code of the command line, with the errors of Python that have it."""
    kinds: dict[int, list[type[errors.BertDataError]]] = {}
    for name in errors.__all__:
        kind = getattr(errors, name)
        if isinstance(kind, type) and issubclass(kind, errors.BertDataError):
            kinds.setdefault(kind.exit_code, []).append(kind)
    lines = ["| code | meaning | errors from Python |", "|---|---|---|"]
    for code in sorted({0, *kinds}):
        raised = "; ".join(
            f"`{kind.__name__}`: {_first(kind)}" for kind in kinds.get(code, []) if kind is not errors.BertDataError
        )
        lines.append(f"| {code} | {_MEANINGS[code]} | {raised or ('`BertDataError`' if code == 1 else '')} |")
    lines += [f"| {code} | The command was stopped by {name}. | `KeyboardInterrupt` |" for code, name in _SIGNALS]
    return "\n".join([*lines, ""])


def _first(kind: type) -> str:
    description = (kind.__doc__ or "").split("\n")[0].rstrip(".")
    return description[0].lower() + description[1:]


def tables() -> str:
    """The commands that a configuration file may have a table for."""
    names = importlib.import_module("bertdata.cli.config_file").COMMANDS
    return "Tables: " + ", ".join(f"`[{name}]`" for name in names) + ".\n"


PARTS = {"commands": commands, "configurations": configurations}  # marker -> text
WRITTEN = {
    "exit-codes.md": exit_codes,
    "configuration.md": tables,
}  # reference page -> a short text that it contains

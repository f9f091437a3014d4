"""Read options from the TOML file of `--config`, with one table per command. Errors name the file, the table and the key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..config import read_toml
from ..config.toml_tables import TOML_NAMES
from ..errors import UsageError, did_you_mean
from .paths import LocalPath

__all__ = ["COMMANDS", "config_option", "from_file"]

COMMANDS = ("build-corpus", "train-vocab", "make-pairs", "export", "verify", "train")  # tables of a file, in order of `run`

F = TypeVar("F", bound=Callable[..., Any])


def config_option() -> Callable[[F], F]:
    """Add `--config`."""
    return click.option(
        "--config",
        type=LocalPath(),
        is_eager=True,
        expose_value=False,
        callback=_read,
        help="TOML file with defaults for the options, in a table named after the command.",
    )


def _read(ctx: click.Context, _param: click.Parameter, path: Path | None) -> None:
    """Use the values of this command's table as defaults of its options. Raise UsageError for an invalid file."""
    if path is None:
        return
    tables, command = read_toml(path), ctx.info_name or ""
    for name, table in tables.items():
        if name not in COMMANDS:
            problem = "is not a command" if isinstance(table, dict) else "must be inside a [command] table"
            more = did_you_mean(name, COMMANDS) or f": use {', '.join(f'[{each}]' for each in COMMANDS)}"
            raise UsageError(f"{path}: {name!r} {problem}{more}")
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {name} is {table!r}: write [{name}], then one line per option below it")
    params = {opt.lstrip("-"): param for param in ctx.command.params for opt in param.opts if param.name != "beam_args"}
    values = {}
    for key, value in tables.get(command, {}).items():
        where = f"{path}: [{command}] {key}"
        if key not in params:
            raise UsageError(f"{path}: [{command}] has no option {key!r}{_nearest(key, ctx.command)}")
        values[params[key].name or ""] = _value(ctx, params[key], value, where)
    ctx.default_map = {**(ctx.default_map or {}), **values}
    ctx.meta[__name__] = path


def _nearest(key: str, command: click.Command) -> str:
    """Suggest an option for an unknown key: a similar name, the option that it negates, or the help page."""
    for param in command.params:
        if key in [opt.lstrip("-") for opt in param.secondary_opts]:
            return f": write {param.opts[0].lstrip('-')} = false"
    known = [opt.lstrip("-") for param in command.params for opt in param.opts if param.name != "beam_args"]
    return did_you_mean(key.replace("_", "-"), known) or f": see bertdata {command.name} --help"


def _value(ctx: click.Context, param: click.Parameter, value: Any, where: str) -> Any:
    """Check a value's type and whether its option accepts it. A single value is valid for a list."""
    several = bool(getattr(param, "multiple", False)) or param.nargs == -1
    listed = several or isinstance(param.type, click.types.FuncParamType)
    values = value if listed and isinstance(value, list) else [value]
    kind = _kind(param)
    for each in values:
        if type(each) is not kind and not (kind is float and type(each) is int):
            wanted = f"{TOML_NAMES[kind]}{', or a list of them' if listed else ''}"
            raise UsageError(f"{where} is {each!r}: expected {wanted}")
    try:
        param.type_cast_value(ctx, values if several else value)
    except click.UsageError as error:
        raise UsageError(f"{where}: {error.message.rstrip('.')}") from error
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    return values if several else value


def _kind(param: click.Parameter) -> type[Any]:
    """Return the TOML type of an option's values."""
    if isinstance(param, click.Option) and param.is_flag:
        return bool
    if isinstance(param.type, click.types.FloatParamType):
        return float
    return int if isinstance(param.type, click.types.IntParamType) else str


def from_file(ctx: click.Context, field: str, problem: str) -> str:
    """Prefix a problem with the file, table and key if the option's value came from a configuration file."""
    for param in ctx.command.params if field and __name__ in ctx.meta else ():
        if param.name == field and ctx.get_parameter_source(field) is click.core.ParameterSource.DEFAULT_MAP:
            return f"{ctx.meta[__name__]}: [{ctx.info_name}] {param.opts[0].lstrip('-')}: {problem}"
    return problem

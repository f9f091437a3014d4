"""Create command line options from configuration fields, which define name, default, bounds and help."""

from __future__ import annotations

import dataclasses
import re
import textwrap
import typing
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from ..config.base import Config, hints_of
from ..errors import BertDataError, UsageError
from ..storage import files
from ..storage.files import check_url
from ..storage.process import import_arrow_without_pandas
from . import console

Function = TypeVar("Function", bound=Callable[..., Any])
_HELP_ALL = f"{__name__}.all"  # key in a context: show the help of all options


class Option(click.Option):
    """An option in a section of ``--help``, which lists `folded` options by name only."""

    def __init__(self, *args: Any, section: str = "Options", folded: bool = False, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section, self.folded = section, folded


option = partial(click.option, cls=Option)


class Command(click.Command):
    """A command whose help has sections, and whose errors name options instead of configuration fields.

    Args:
        writes: Whether the same command continues a stopped one. This selects the message after Ctrl-C.
        arrow: Whether the command reads or writes datasets. If so, pyarrow is imported first, without pandas.
    """

    def __init__(self, *args: Any, writes: bool = True, arrow: bool = False, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._writes, self._arrow = writes, arrow
        for param in self.params:
            if isinstance(param, click.Option):
                param.help = self.with_option_names(param.help or "")
        if any(getattr(param, "folded", False) for param in self.params):
            help_text = "Show the help of all options and exit."
            self.params.append(
                Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all, help=help_text)
            )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Errors that name a field such as `max_seq_length` are changed to name ``--max-seq-length``."""
        if (ctx.obj or {}).get("own_process") and self._arrow:
            import_arrow_without_pandas()
        quiet, verbose = ctx.params.pop("quiet", False), ctx.params.pop("verbose", False)
        with console.running(quiet=quiet, verbose=verbose, writes=self._writes):
            try:
                return super().invoke(ctx)
            except BertDataError as error:
                error.args = (self.with_option_names(str(error)),)
                raise

    def with_option_names(self, message: str) -> str:
        """Replace names of fields and arguments in backticks by options, of this command or of another one."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        fields = (field for kind in Config.__subclasses__() for field in dataclasses.fields(kind) if "option" in field.metadata)
        names = {field.name: f"--{field.name.replace('_', '-')}" for field in fields}
        names |= {f"{param.name}=False": param.secondary_opts[0] for param in options if param.secondary_opts}
        names |= {param.name or "": param.opts[0] for param in options}
        return re.sub("`([a-z_]+(=False)?)`", lambda match: names.get(match[1], match[0]), message)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, with options in order of declaration."""
        sections: dict[str, list[click.Option]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and not param.hidden:
                sections.setdefault(getattr(param, "section", "Options"), []).append(param)
        sections["Options"] = sections.pop("Options")  # last
        for title, options in sections.items():
            folded = [] if ctx.meta.get(_HELP_ALL) else [option for option in options if getattr(option, "folded", False)]
            with formatter.section(title):
                rows = [row for option in options if option not in folded and (row := option.get_help_record(ctx))]
                if rows:
                    formatter.write_dl(rows if ctx.meta.get(_HELP_ALL) else [(name, _brief(help)) for name, help in rows])
                names, indent = ", ".join(option.opts[0] for option in folded), " " * formatter.current_indent
                for line in textwrap.wrap(names and f"{'also ' * bool(rows)}{names}", formatter.width, break_on_hyphens=False):
                    formatter.write(f"{indent}{line}\n")


def _brief(help: str) -> str:
    """Return the first sentence of an option's help, and the default."""
    default = re.search(r"(  \[[^\]]+\])+$", help)
    return help.partition(". ")[0].removesuffix(".") + "." + (default[0] if default else "")


def _help_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_HELP_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def with_option_names(message: str) -> str:
    """Replace names of fields in a note or warning by options of the running command."""
    context = click.get_current_context(silent=True)
    return context.command.with_option_names(message) if context and isinstance(context.command, Command) else message


def config_options(kind: type[Config], multiple: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Add an option for each field of a configuration and of those nested in it. Options in `multiple` can be repeated."""

    def decorate(command: Function) -> Function:
        for field in reversed(dataclasses.fields(kind)):
            hint = hints_of(kind)[field.name]
            if isinstance(hint, type) and issubclass(hint, Config):
                command = config_options(hint, multiple)(command)
            elif "option" in field.metadata:
                command = _click_option(field, hint, field.name in multiple)(command)
        return command

    return decorate


def _click_option(field: dataclasses.Field[Any], hint: Any, multiple: bool) -> Callable[[Function], Function]:
    option, default, flag = field.metadata["option"], field.default, f"--{field.name.replace('_', '-')}"
    kind, bounds = hint, list[Any]()
    while typing.get_origin(kind) not in (None, tuple, typing.Literal):  # int in Annotated[int, Meta(…)] | None
        bounds += getattr(kind, "__metadata__", ())
        kind = typing.get_args(kind)[0]
    shown = not option.unset and default not in ("", None, ())
    settings: dict[str, Any] = {"cls": Option, "section": option.section or "Options", "folded": not option.first}
    settings |= {"help": f"{option.help}  [default: {option.unset}]" if option.unset else option.help, "show_default": shown}
    if kind is bool:
        flag = option.flags or (f"{flag}/--no-{flag[2:]}" if default else flag)
        return click.option(flag, field.name, **settings | {"default": default, "is_flag": True, "show_default": default})
    metavar = option.metavar or None
    if field.metadata["files"]:
        kind, default, multiple = str, None, True
    elif typing.get_origin(kind) is typing.Literal:
        kind = click.Choice(typing.get_args(kind))
    elif typing.get_origin(kind) is tuple:
        kind = _split
    elif kind in (int, float):
        metavar, most = "N" if kind is int else "X", bounds[0].le if bounds else None
        if most is not None and most < 1 << 60:  # a larger one only keeps the number in 64 bits
            kind = (click.IntRange if kind is int else click.FloatRange)(bounds[0].ge, most)
    default = (default,) if multiple and default else default
    return click.option(flag, field.name, type=kind, default=default, multiple=multiple, metavar=metavar, **settings)


def _split(value: Any) -> tuple[str, ...]:
    """Split comma-separated values."""
    return tuple(each.strip() for each in value.split(",")) if isinstance(value, str) else tuple(value)


def local_path(value: str) -> Path:
    """Parse the name of a local file or directory."""
    check_url(value)  # before it becomes a path, whose single slash no longer shows that it was a URL
    return Path(value)


def to_path(name: str | Path) -> Path:
    """Parse the name of a file or directory, local or in a store. An empty name would mean the working directory."""
    if name == "":
        raise UsageError("a path is empty, perhaps from an unset variable: pass a path, or . for the current directory")
    return files.to_path(name)

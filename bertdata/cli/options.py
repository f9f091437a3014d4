"""Create command line options from configuration fields, which define name, default, bounds and help."""

from __future__ import annotations

import dataclasses
import re
import textwrap
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import click

from ..config.base import Config, Option, options_of
from ..errors import BertDataError, UsageError, did_you_mean, nearest
from ..storage.process import import_arrow_without_pandas
from . import bars
from .config_file import from_file
from .output import echo

__all__ = ["Command", "config_options", "with_option_names", "sections_of", "take"]

F = TypeVar("F", bound=Callable[..., Any])
_MADE_BY = {  # parameter name: the command that creates its value
    "vocab": "made by bertdata train-vocab corpus --output vocab",
    "corpus": "made by bertdata build-corpus --wikipedia DUMP --output corpus",
}
_PARAMETERS = {"wait": "no_wait"}  # argument of a Python function: the parameter, where the names differ
_MAX_BRIEF_CHARACTERS = 48  # width next to an option in 80 columns
_SHOW_ALL_KEY = f"{__name__}.all"  # key in a context: show the help of all options


class Command(click.Command):
    """A command with grouped options in its help, and errors that name options instead of configuration fields.

    Args:
        sections: Title -> parameter names. Parameters in no section follow as "Options".
        first: Parameters that ``--help`` explains. It lists the others by name, and ``--help-all`` explains all. None if
            ``--help`` explains all.
        writes: Whether a stopped command can resume. This selects the message after Ctrl-C.
        arrow: Whether the command reads or writes datasets. If so, pyarrow is imported first, without pandas.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Sequence[str]] | None = None,
        first: Collection[str] | None = None,
        writes: bool = True,
        arrow: bool = False,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self._sections, self._first, self._writes, self._arrow = sections or {}, first, writes, arrow
        for param in (param for param in self.params if isinstance(param, click.Option)):
            param.help = self.with_option_names(param.help or "")
        if first is not None:
            help_text = "Show the help of all options and exit."
            self.params.append(
                click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all, help=help_text)
            )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Errors that name a field such as `max_seq_length` are changed to name ``--max-seq-length``."""
        bars.begin(writes=self._writes)
        if (ctx.obj or {}).get("own_process") and self._arrow:
            import_arrow_without_pandas()
        try:
            return super().invoke(ctx)
        except BertDataError as error:
            parameter = _PARAMETERS.get(error.field, error.field)
            error.args = (from_file(ctx, parameter, self.with_option_names(str(error))),)
            raise

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        The error for an unknown option suggests a similar option, or explains where to pass Beam's options. The error for a
        missing option shows its help and the command's first example.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [opt for param in self.params if not getattr(param, "hidden", False) for opt in param.opts if opt[:2] == "--"]
            near, message = nearest(error.option_name, known), error.message
            if not near and any(param.name == "beam_args" for param in self.params):
                message = f"{message} Pass Beam's options at the end, after two dashes: -- {error.option_name}"
            raise click.NoSuchOption(error.option_name, message, near, ctx=error.ctx) from None
        except click.MissingParameter as error:
            raise click.MissingParameter(self._usage_of(error.param), error.ctx, error.param) from None

    def _usage_of(self, param: click.Parameter | None) -> str:
        """Describe a missing parameter: its help, the command that creates its value, and an example."""
        help = (getattr(param, "help", None) or "").rstrip(".")
        example = next((line.strip() for line in (self.help or "").splitlines() if line.strip().startswith("bertdata ")), "")
        parts = [help, _MADE_BY.get(param.name or "", "") if param else "", f"for example: {example}" if example else ""]
        message = "; ".join(part for part in parts if part)
        return message[:1].upper() + message[1:]

    def with_option_names(self, message: str) -> str:
        """Replace names of fields and arguments in a library message by this command's options."""
        for argument, parameter in _PARAMETERS.items():
            message = message.replace(f"`{argument}`", f"`{parameter}`")
        for param in (param for param in self.params if isinstance(param, click.Option)):
            message = message.replace(f"`{param.name}`", param.opts[0])
            if param.secondary_opts:
                message = message.replace(f"`{param.name}=False`", param.secondary_opts[0])
        # `verify` has no --overwrite: its messages mean the command that builds the dataset again.
        return message.replace("`overwrite`", "--overwrite")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, with options in order of declaration. Options without an explanation are listed by name."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rows = {option.name: row for option in options if (row := option.get_help_record(ctx))}
        listed = {name for names in self._sections.values() for name in names}
        first = rows.keys() if self._first is None or ctx.meta.get(_SHOW_ALL_KEY) else {*self._first, "help", "help_all"}
        for title, names in [*self._sections.items(), ("Options", [name for name in rows if name not in listed])]:
            shown = [row for name, row in rows.items() if name in names and name in first]
            more = [
                option.opts[-1] for option in options if option.name in rows and option.name in names and option.name not in first
            ]
            if shown or more:
                with formatter.section(title):
                    if shown:
                        formatter.write_dl(shown if first == rows.keys() else [(name, _brief(text)) for name, text in shown])
                    if more:
                        text, margin = f"{'also ' if shown else ''}{', '.join(more)}", " " * formatter.current_indent
                        width = formatter.width - len(margin)
                        lines = textwrap.wrap(text, width, break_on_hyphens=False)
                        formatter.write("".join(f"{margin}{line}\n" for line in lines))


def with_option_names(message: str) -> str:
    """Replace names of fields and arguments in a note or warning by options of the running command."""
    command = click.get_current_context().command
    return command.with_option_names(message) if isinstance(command, Command) else message


def _help_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_SHOW_ALL_KEY] = True
        echo(ctx.get_help())
        ctx.exit()


def _brief(help: str) -> str:
    """Return the first clause of an option's help, shortened if it is long, and the default.

    >>> _brief("Books: .txt or .epub; file or glob."), _brief("Seed of a sample, of a copy.  [default: 3]")
    ('Books: .txt or .epub', 'Seed of a sample, of a copy  [default: 3]')
    >>> _brief("Maximum number of documents to read, for a quick trial.")
    'Maximum number of documents to read'
    """
    clause = re.split(r"; |\.(?= |$)|  \[", help, maxsplit=1)[0]
    cut = re.split(r", |: | \(", clause, maxsplit=1)[0]
    default = re.search(r"  \[default: [^\]]{1,99}\]", help)
    return (cut if len(clause) > _MAX_BRIEF_CHARACTERS and " " in cut else clause) + (default[0] if default else "")


def config_options(*kinds: type[Config], multiple: Sequence[str] = ()) -> Callable[[F], F]:
    """Add an option for each field of these configurations. Options in `multiple` can be repeated."""

    def decorate(command: F) -> F:
        for kind in reversed(kinds):
            types = typing.get_type_hints(kind)
            defaults = {field.name: field.default for field in dataclasses.fields(kind)}
            for name, option in reversed(options_of(kind).items()):
                command = _click_option(name, types[name], defaults[name], option, name in multiple)(command)
        return command

    return decorate


def sections_of(*kinds: type[Config], **leading: Sequence[str]) -> dict[str, list[str]]:
    """Return option names by section title. `leading` adds names at the beginning of a section."""
    sections: dict[str, list[str]] = {}
    for kind in kinds:
        for name, option in options_of(kind).items():
            if option.section:
                sections.setdefault(option.section, []).append(name)
    return {title: [*leading.get(title, ()), *sections.get(title, [])] for title in [*leading, *sections]}


def take(kind: type[Config], values: dict[str, Any], **more: Any) -> Any:
    """Create a configuration from a command's parameters, which are removed from `values`, and from `more` fields."""
    return kind(**{name: values.pop(name) for name in options_of(kind) if name in values}, **more)


class _Choice(click.Choice):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.2
    """A choice that suggests the nearest value in its errors."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            message = f"{error.message.rstrip('.')}{did_you_mean(str(value), map(str, self.choices))}"
            raise click.BadParameter(message, ctx, param) from None


def _click_option(name: str, kind: Any, default: Any, option: Option, multiple: bool) -> Callable[[F], F]:
    flags, help = option.flags or f"--{name.replace('_', '-')}", option.help
    if option.unset:
        help = f"{help}  [default: {option.unset}]"
    if kind is bool or bool in typing.get_args(kind):
        if default and not option.flags:
            flags = f"{flags}/--no-{name.replace('_', '-')}"
        shown = "/" in flags and default is not None
        return click.option(flags, name, default=default, is_flag=True, show_default=shown, help=help)
    value_type: Any = next((each for each in (str, int, float) if each is kind or each in typing.get_args(kind)), str)
    if option.choices:
        value_type = _Choice(list(option.choices))
    elif typing.get_origin(kind) is tuple:
        value_type = _parse_codes
    shown = not option.unset and default not in ("", None, ())
    metavar = option.metavar or None
    default = (default,) if multiple else default
    return click.option(
        flags, name, type=value_type, default=default, multiple=multiple, show_default=shown, metavar=metavar, help=help
    )


def _parse_codes(value: Any) -> tuple[str, ...]:
    """Parse comma-separated codes, or a list of codes from a TOML file."""
    if not isinstance(value, str | list | tuple):
        raise UsageError(f"{value!r} is not text: use comma-separated codes")
    return tuple(str(code).strip() for code in (value.split(",") if isinstance(value, str) else value))

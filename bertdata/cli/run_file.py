"""`bertdata run`: run the commands of one TOML file, from the input to a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import read_toml
from ..errors import NoInputError, UsageError, did_you_mean
from .console import echo
from .options import Command, local_path

_COMMANDS = ("build-corpus", "train-vocab", "make-pairs", "export", "verify", "train")  # in this order


@click.command("run", cls=Command, writes=False)
@click.argument("file", required=False, type=local_path, metavar="PIPELINE.TOML")
@click.option("--dry-run", is_flag=True, help="Print the plan of each command without writing anything.")
@click.option("--example", is_flag=True, help="Print an example file.")
@click.pass_context
def command(ctx: click.Context, file: Path | None, dry_run: bool, example: bool) -> None:
    """Run the commands in PIPELINE.TOML in order: build-corpus, train-vocab, make-pairs, export, verify and train.

    Each command has a table with its options, so the file documents how a dataset was made. Run the same command again to resume:
    completed commands are skipped.

    \b
        bertdata run --example > pipeline.toml
        bertdata run pipeline.toml
    """
    if example:
        echo(Path(__file__).with_name("example.toml").read_text(encoding="utf-8").rstrip())
        return
    if file is None:
        raise UsageError("pass a TOML file with a table per command: bertdata run --example prints one")
    tables = read_toml(file)
    for name, table in tables.items():
        if name not in _COMMANDS or not isinstance(table, dict):
            raise UsageError(f"{file}: {name!r} is not the table of a command{did_you_mean(name, _COMMANDS)}")
    if not tables:
        raise UsageError(f"{file}: there is no table. Write one per command: bertdata run --example prints a file")
    assert ctx.parent is not None and isinstance(ctx.parent.command, click.Group)
    for name in (name for name in _COMMANDS if name in tables):
        if dry_run and name == "verify":
            continue
        echo(f"[{name}]", err=True)
        step = ctx.parent.command.get_command(ctx, name)
        assert step is not None
        words = [str(file)] if name == "train" else _words(step, tables[name], f"{file}: [{name}]")
        try:
            with step.make_context(name, ["--dry-run"] * dry_run + words, parent=ctx.parent) as inner:
                step.invoke(inner)
        except click.exceptions.Exit as end:
            if end.exit_code:
                raise
        except click.UsageError as error:
            raise click.UsageError(f"{file}: [{name}] {error.format_message()}", error.ctx) from error
        except NoInputError as error:
            if not dry_run:
                raise
            echo(f"  planned when the commands before it have run ({error})", err=True)


def _words(command: click.Command, table: dict[str, Any], where: str) -> list[str]:
    """Return the command line of a table: ``seed = 7`` as ``--seed=7``, arguments at the end."""
    params = {param.opts[0].lstrip("-").replace("-", "_"): param for param in command.params if param.name != "beam_args"}
    options, arguments = [], ["--"]
    for key, value in table.items():
        if (name := key.replace("-", "_")) not in params:
            raise UsageError(f"{where} has no option {key!r}{did_you_mean(name, params)}")
        param, values = params[name], [str(each) for each in (value if isinstance(value, list) else [value])]
        if isinstance(param, click.Argument):
            arguments += values
        elif isinstance(param, click.Option) and param.is_flag and isinstance(value, bool):
            options += param.opts[:1] if value else param.secondary_opts[:1]
        else:
            options += [f"{param.opts[0]}={each}" for each in (values if param.multiple else [",".join(values)])]
    return [*options, *arguments]

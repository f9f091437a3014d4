"""`bertdata run`: run the commands of one TOML file, from the input to a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import read_toml
from ..config.train import read_training
from ..errors import NoInputError, UsageError, did_you_mean
from . import load
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
        raise UsageError("pass a TOML file with a table per command. `bertdata run --example` prints one")
    tables = read_toml(file)
    for name, table in tables.items():
        if name not in _COMMANDS or not isinstance(table, dict):
            raise UsageError(f"{file}: {name!r} is not the table of a command{did_you_mean(name, _COMMANDS)}")
    if not tables:
        raise UsageError(f"{file}: no table found. Write one per command, as `bertdata run --example` shows")
    commands = []  # all are parsed before the first one runs for hours
    for name in (name for name in _COMMANDS if name in tables):
        try:
            command = load(name)
            words = [str(file)] if name == "train" and read_training(file) else _words(command, tables[name])
            if not (dry_run and name == "verify"):
                commands.append((name, command.make_context(name, ["--dry-run"] * dry_run + words, parent=ctx.parent)))
        except (click.UsageError, UsageError) as error:
            problem = error.format_message() if isinstance(error, click.UsageError) else str(error)
            raise UsageError(f"{file}: [{name}] {problem.removeprefix(f'{file}: ')}") from error
    for name, inner in commands:
        echo(f"[{name}]", err=True)
        try:
            with inner:
                inner.command.invoke(inner)
        except click.exceptions.Exit as end:
            if end.exit_code:
                raise
        except NoInputError as error:
            if not dry_run:
                raise
            echo(f"  planned when the commands before it have run ({error})", err=True)


def _words(command: click.Command, table: dict[str, Any]) -> list[str]:
    """Return the command line of a table: ``seed = 7`` as ``--seed=7``, arguments at the end."""
    params = {param.opts[0].lstrip("-").replace("-", "_"): param for param in command.params if param.name != "beam_args"}
    options, arguments = [], ["--"]
    for key, value in table.items():
        if (field := key.replace("-", "_")) not in params:
            raise UsageError(f"unknown option {key!r}{did_you_mean(field, params)}")
        param, values = params[field], [str(each) for each in (value if isinstance(value, list) else [value])]
        if isinstance(param, click.Argument):
            arguments += values
        elif isinstance(param, click.Option) and param.is_flag and isinstance(value, bool):
            options += param.opts[:1] if value else param.secondary_opts[:1]
        else:
            options += [f"{param.opts[0]}={each}" for each in (values if param.multiple else [",".join(values)])]
    return [*options, *arguments]

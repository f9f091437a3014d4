"""`bertdata run`: run the commands of one TOML file, from the input to a trained model."""

from __future__ import annotations

from pathlib import Path

import click

from ..config import read_toml
from ..errors import NoInputError, UsageError, did_you_mean
from .config_file import COMMANDS
from .options import Command
from .output import echo
from .paths import LocalPath

__all__ = ["EXAMPLE", "command"]

EXAMPLE = """\
# Each table is a command, with its options. The commands run in this order, and completed ones are skipped.
# bertdata run pipeline.toml

[build-corpus]
wikipedia = "dumps"          # a directory, files or globs
books = "books"
output = "corpus"

[train-vocab]
corpus = "corpus"
size = 30000
output = "vocab"

[make-pairs]
corpus = "corpus"
vocab = "vocab"
max-seq-length = 128
validation-fraction = 0.01
output = "pairs"

[verify]
directories = ["corpus", "vocab", "pairs"]

[train]                      # the keys of RUN.TOML
output = "run"
batch_size = 32
model = { hidden_size = 128, num_hidden_layers = 2, num_attention_heads = 2, intermediate_size = 512 }
optimizer = { learning_rate = 1e-3, warmup_steps = 10 }
phases = [{ shards = "pairs", steps = 100 }]
"""


@click.command("run", cls=Command, writes=False)
@click.argument("file", required=False, type=LocalPath(), metavar="PIPELINE.TOML")
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
        echo(EXAMPLE.rstrip())
        return
    if file is None:
        raise UsageError("pass a TOML file with a table per command: bertdata run --example prints one")
    tables = read_toml(file)
    if unknown := [name for name in tables if name not in COMMANDS]:
        raise UsageError(f"{file}: {unknown[0]!r} is not a command that can be run{did_you_mean(unknown[0], COMMANDS)}")
    if not tables:
        raise UsageError(f"{file}: there is no table. Write one per command: bertdata run --example prints a file")
    assert ctx.parent is not None and isinstance(ctx.parent.command, click.Group)
    for name in (name for name in COMMANDS if name in tables):
        if dry_run and name == "verify":
            continue
        echo(f"[{name}]", err=True)
        step = ctx.parent.command.get_command(ctx, name)
        assert step is not None
        arguments = [str(file)] if name == "train" else ["--config", str(file)]
        try:
            with step.make_context(name, arguments + ["--dry-run"] * dry_run, parent=ctx.parent) as inner:
                step.invoke(inner)
        except NoInputError as error:
            if not dry_run:
                raise
            echo(f"  planned when the commands before it have run ({error})", err=True)

"""Run commands in this process, as quick tests do."""

from __future__ import annotations

from typing import NamedTuple

from click.testing import CliRunner

from bertdata.cli import cli
from bertdata.errors import BertDataError


class Outcome(NamedTuple):
    """The end of a command: its exit code, its results, and its messages with the error."""

    code: int
    out: str
    err: str


def call(*arguments: object, width: int = 80) -> Outcome:
    """Run `bertdata ARGUMENTS` in this process. Raise an exception that is no error of bertdata."""
    done = CliRunner().invoke(cli, [*map(str, arguments)], prog_name="bertdata", terminal_width=width)
    if isinstance(done.exception, BertDataError):
        return Outcome(done.exception.exit_code, done.stdout, f"{done.stderr}{done.exception}")
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Outcome(done.exit_code, done.stdout, done.stderr)

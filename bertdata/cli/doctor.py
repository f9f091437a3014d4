"""`bertdata doctor`: check this machine's setup before a run."""

from __future__ import annotations

import click

from ..reports.summary import count
from .console import echo
from .options import Command


@click.command("doctor", cls=Command, writes=False)
def command() -> None:
    """Check this machine's setup: versions, optional packages, CPUs, memory and disk.

    Lines that begin with ! suggest a change. The command itself changes nothing and always exits with code 0.
    """
    from ..commands.doctor import doctor

    checks = doctor()
    for name, value, advice in checks:
        echo(f"{'!' if advice else ' '} {name:22} {value}{': ' if advice else ''}{advice}")
    changes = sum(bool(check.advice) for check in checks)
    echo(f"{count(changes, 'line')} marked ! to check" if changes else "everything that a local run needs is installed")

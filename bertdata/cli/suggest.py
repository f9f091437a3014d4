"""A command group that suggests the nearest command for an unknown one."""

from __future__ import annotations

import click

from ..errors import did_you_mean

__all__ = ["Suggesting"]


class Suggesting(click.Group):
    """Suggest the nearest command for an unknown one."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command's name, the command, and the arguments that follow it."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = self.list_commands(ctx)
            more = did_you_mean(name, known) or f". Use one of {', '.join(known)}"
            raise click.UsageError(f"No such command {name!r}{more}", ctx)
        return super().resolve_command(ctx, args)

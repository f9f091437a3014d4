"""Options in groups, so that a long `--help` reads as a few short lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

__all__ = ["Sectioned"]


class Sectioned(click.Command):
    """A command whose help lists its options under titles: `sections` is title -> names; the others follow as "Options"."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section with its options in order of declaration."""
        rows = {param.name: row for param in self.get_params(ctx) if (row := param.get_help_record(ctx))}
        listed = {name for names in self._sections.values() for name in names}
        for title, names in [*self._sections.items(), ("Options", [name for name in rows if name not in listed])]:
            if found := [row for name, row in rows.items() if name in names]:
                with formatter.section(title):
                    formatter.write_dl(found)

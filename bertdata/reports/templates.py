"""Fill in the templates of the data card and of report.html."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from ..storage.terminal import clean
from .summary import cell, number, percent


def render(name: str, **contents: Any) -> str:
    """Return a filled-in template. All values in HTML are escaped; in Markdown, the filter `cell` escapes a name."""
    return _environment().get_template(name).render(**contents)


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=lambda name: name is not None and name.endswith(".html"),
        # Replaces characters that steer a terminal or turn text
        finalize=lambda value: value if isinstance(value, Markup) else clean(str(value)),
        keep_trailing_newline=True,
        loader=PackageLoader(__package__, "."),
        lstrip_blocks=True,
        trim_blocks=True,
    )
    environment.filters.update(cell=cell, clean=clean, number=number, percent=percent)
    environment.filters["losses"] = lambda lost: "; ".join(f"{cell(reason)} {n:,}" for reason, n in lost.items()) or "–"
    return environment

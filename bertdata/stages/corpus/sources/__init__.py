"""The kinds of input, one module each, imported on demand. To add a kind, add a module and an entry in `INPUTS`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import replace

from ....config.input_kinds import INPUTS, PROJECTS
from .base import Source


def source(name: str) -> Source:
    """Return a kind of input by name. Rendered pages are read with the dumps of their project."""
    if name == "wikipedia_html":
        name = PROJECTS[0]
    if name in PROJECTS[1:]:
        return replace(source(PROJECTS[0]), name=name, stage=f"{name} pages")
    kind: Source = importlib.import_module(f".{name}", __name__).SOURCE
    return kind


def in_order(kinds: Iterable[str]) -> list[str]:
    """Sort kinds of input in corpus order.

    >>> in_order(["text", "wikipedia"])
    ['wikipedia', 'text']
    """
    return sorted(kinds, key=[*dict.fromkeys((*PROJECTS, *INPUTS))].index)

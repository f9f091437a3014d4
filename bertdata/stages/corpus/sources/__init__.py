"""The kinds of input, one module each, imported on demand. To add a kind, add a module and an entry in `INPUTS`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import replace

from ....config.input_kinds import INPUTS, PROJECTS
from .base import CHECKSUM, Counts, Record, Source
from .user_source import reader

__all__ = ["CHECKSUM", "Counts", "Record", "Source", "in_order", "is_check", "source"]


def source(name: str) -> Source:
    """Return a kind of input by name: one from the table, or a user-defined reader, ``module:function``."""
    if name in PROJECTS[1:]:
        return replace(source(PROJECTS[0]), name=name, stage=f"{name} pages")
    if name not in INPUTS:
        return reader(name)
    kind: Source = importlib.import_module(f".{name}", __name__).SOURCE
    return kind


def is_check(kind: str) -> bool:
    """Return True if a task of this kind only checks a file and writes no shard."""
    return kind == CHECKSUM


def in_order(kinds: Iterable[str]) -> list[str]:
    """Sort kinds of input in corpus order: first the built-in kinds, then user-defined kinds by name.

    >>> in_order(["text", "mine:read", "wikipedia"])
    ['wikipedia', 'text', 'mine:read']
    """
    known = list(dict.fromkeys((*PROJECTS, *INPUTS)))
    return sorted(kinds, key=lambda kind: (known.index(kind) if kind in known else len(known), kind))

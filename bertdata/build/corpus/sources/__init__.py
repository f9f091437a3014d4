"""The kinds of input, one file each: a new kind is a new file and a line in this table."""

from __future__ import annotations

from collections.abc import Iterable

from .base import CHECKSUM, INDEX, Check, Counts, Record, Source
from .books import BOOKS
from .functions import reader
from .text import TEXT
from .wikipedia import WIKIPEDIA

__all__ = ["CHECKSUM", "INDEX", "SOURCES", "Check", "Counts", "Record", "Source", "in_order", "is_check", "source"]

SOURCES = {each.name: each for each in (WIKIPEDIA, BOOKS, TEXT)}  # in the order in which a corpus has them


def source(name: str) -> Source:
    """Return a kind of input by its name: one of the table, or a reader of the user's, ``module:function``."""
    return SOURCES[name] if name in SOURCES else reader(name)


def is_check(kind: str) -> bool:
    """Tell whether a task of this kind checks a file, and writes no shard."""
    return kind.partition(" ")[0] in (CHECKSUM, INDEX)


def in_order(kinds: Iterable[str]) -> list[str]:
    """Sort kinds of input as a corpus has them: those of the table first, then the user's by name.

    >>> in_order(["text", "mine:read", "wikipedia"])
    ['wikipedia', 'text', 'mine:read']
    """
    known = list(SOURCES)
    return sorted(kinds, key=lambda kind: (known.index(kind) if kind in known else len(known), kind))

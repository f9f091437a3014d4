"""The sample input that comes with bertdata: two small dumps and three short books, all our own writing."""

from __future__ import annotations

from pathlib import Path

__all__ = ["sample"]


def sample() -> Path:
    """Return the directory of the sample: two dumps, ``*.xml.bz2`` with their indexes, and ``books/*.txt``."""
    return Path(__file__).parent

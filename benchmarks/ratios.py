"""Report ratios of two figures of one run to benchmarks/all.py.

A benchmark in the table of all.py has, in addition to its output:

* ``SIZES``, a literal: size -> command lines, each a run. ``{corpus}`` and similar names are inputs that benchmarks/inputs.py
  makes. Sizes without an entry are not measured.
* a call of `ratio` for each row of the table.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

__all__ = ["FILE", "Ratio", "ratio"]

FILE = "BERTDATA_RATIOS"  # names the file that all.py reads; without it, `ratio` does nothing


class Ratio(NamedTuple):
    """A row of one run: the measured quantity, our figure, its unit, the peer's name, and its figure.

    `less` is True if a smaller figure is better, as for seconds.
    """

    what: str
    ours: float
    unit: str
    peer: str
    theirs: float
    less: bool = False

    @property
    def times(self) -> float:
        """Our figure divided by theirs."""
        return self.ours / self.theirs


def ratio(what: str, ours: float, unit: str, peer: str, theirs: float, *, less: bool = False) -> None:
    """Record a row if all.py requests it. A figure of 0 has no ratio and is skipped."""
    path = os.environ.get(FILE)
    if path and ours and theirs:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(Ratio(what, ours, unit, peer, theirs, less)._asdict()) + "\n")

"""What a benchmark tells benchmarks/all.py: the command lines it is run with, and ratios of two figures of one run.

A benchmark that is to stand in the table has two things more than what it prints:

* ``SIZES``, a literal: size -> command lines, each a run.  ``{corpus}`` and the like stand for the inputs that
  benchmarks/inputs.py makes.  A size that is not there is not measured.
* a call of `ratio` for each row of the table.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

__all__ = ["FILE", "Ratio", "ratio"]

FILE = "BERTDATA_RATIOS"  # names the file that all.py reads; without it `ratio` does nothing


class Ratio(NamedTuple):
    """A row of one run: what was measured, our figure, its unit, who else was measured, and their figure.

    `less` says that a smaller figure is the better one, as of seconds.
    """

    what: str
    ours: float
    unit: str
    peer: str
    theirs: float
    less: bool = False

    @property
    def times(self) -> float:
        """How many times our figure is theirs."""
        return self.ours / self.theirs


def ratio(what: str, ours: float, unit: str, peer: str, theirs: float, *, less: bool = False) -> None:
    """Tell a row, if all.py asks for it; a figure of 0 has no ratio, and is left out."""
    path = os.environ.get(FILE)
    if path and ours and theirs:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(Ratio(what, ours, unit, peer, theirs, less)._asdict()) + "\n")

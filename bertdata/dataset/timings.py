"""Keep what a run took, stage by stage, in ``.bertdata/timings.json`` of a dataset on this machine.

    {"started": "2026-11-23T02:40:11Z", "workers": 2, "peak_memory_bytes": 290131968,
     "stages": [{"name": "extract", "wall_s": 61.2, "cpu_s": 118.9}, …]}

wall_s: seconds in which at least one task of the stage was at work.  cpu_s: of the processes that did its tasks.
peak_memory_bytes: of the largest process.  workers: the most processes at work at a time.  The file differs from run to run, so
it is in no manifest, card or digest.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from ..errors import StorageError
from ..io.files import is_local, read_json, write_json
from .staging import STATE, TIMINGS

__all__ = ["read", "write"]


def write(directory: Path, timings: dict[str, Any]) -> None:
    """Write what a run took. A disk that does not take it is no error of the run."""
    if timings and is_local(directory):
        with contextlib.suppress(StorageError, OSError):
            write_json(directory / STATE / TIMINGS, timings)


def read(directory: Path) -> dict[str, Any]:
    """Return what the run that made a dataset took; an empty dict if that is not known."""
    timings = read_json(directory / STATE / TIMINGS)
    return timings if isinstance(timings, dict) else {}

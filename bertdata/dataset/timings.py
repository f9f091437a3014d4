"""Store a run's time and memory by stage, in ``.bertdata/timings.json`` of a local dataset.

    {"started": "2026-11-23T02:40:11Z", "workers": 2, "peak_memory_bytes": 290131968,
     "stages": [{"name": "extract", "wall_s": 61.2, "cpu_s": 118.9}, …]}

wall_s: seconds in which at least one task of the stage was running.  cpu_s: CPU seconds of the processes that ran its tasks.
peak_memory_bytes: of the largest process.  workers: maximum number of parallel processes.  The file differs from run to run, so
it is in no manifest, card or digest.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from ..errors import StorageError
from ..storage.files import is_local, read_json, write_json
from .staging import STATE, TIMINGS

__all__ = ["read", "write"]


def write(directory: Path, timings: dict[str, Any]) -> None:
    """Write a run's timings. A disk error does not fail the run."""
    if timings and is_local(directory):
        with contextlib.suppress(StorageError, OSError):
            write_json(directory / STATE / TIMINGS, timings)


def read(directory: Path) -> dict[str, Any]:
    """Return the timings of the run that made a dataset, or an empty dict if unknown."""
    timings = read_json(directory / STATE / TIMINGS)
    return timings if isinstance(timings, dict) else {}

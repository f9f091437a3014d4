"""Write what a run took, stage by stage: ``.bertdata/timings.json``, made at the commit from what its workers have reported.

    {"started": "2026-11-23T02:40:11Z", "workers": 2, "peak_memory_bytes": 290131968,
     "stages": [{"name": "extract", "wall_s": 61.2, "cpu_s": 118.9}, …]}

wall_s: seconds in which at least one task of the stage was at work, so the pause before a run is continued does not count.
cpu_s: of the processes that did its tasks, those that were done twice included.  peak_memory_bytes: of the largest process.
workers: the most processes at work at a time.  It differs from run to run, so it is in no manifest, card or digest; and it is not
written where workers report nothing, as in a store.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import StorageError
from ..io.files import read_json, write_json
from ..io.progress import TaskProgress, current, lines
from .staging import STATE, TIMINGS

_TICK = 0.01  # seconds

__all__ = ["read", "summary", "write"]


def write(root: Path) -> None:
    """Write what the run that builds here took so far; it is no error where that cannot be written."""
    current().tell()
    if found := lines(root / STATE):
        with contextlib.suppress(StorageError, OSError):
            write_json(root / STATE / TIMINGS, summary(found))


def read(directory: Path) -> dict[str, Any]:
    """Return what the run took that made a data set; nothing where that is not known."""
    timings = read_json(directory / STATE / TIMINGS)
    return timings if isinstance(timings, dict) else {}


def summary(found: Iterable[TaskProgress]) -> dict[str, Any]:
    """Add up what tasks took, stage by stage in order of their beginnings.

    >>> line = TaskProgress("read", 0, True, 1, 1, 0, began=0.0, wall=2.0, cpu=1.5, memory=10, worker="a")
    >>> timings = summary([line, line._replace(task=1, began=1.0, worker="b"), line._replace(step="commit", began=5.0)])
    >>> timings["stages"], timings["workers"], timings["started"]
    ([{'name': 'read', 'wall_s': 3.0, 'cpu_s': 3.0}, {'name': 'commit', 'wall_s': 2.0, 'cpu_s': 1.5}], 2, '1970-01-01T00:00:00Z')
    """
    ordered = sorted(found, key=lambda line: line.began)
    stages: dict[str, list[TaskProgress]] = {}
    for line in ordered:
        stages.setdefault(line.step, []).append(line)
    started = datetime.fromtimestamp(ordered[0].began, timezone.utc)
    return {
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "workers": _at_a_time(ordered),
        "peak_memory_bytes": max(line.memory for line in ordered),
        "stages": [
            {"name": name, "wall_s": round(_covered(of_stage), 3), "cpu_s": round(sum(line.cpu for line in of_stage), 3)}
            for name, of_stage in stages.items()
        ],
    }


def _covered(lines: list[TaskProgress]) -> float:
    """Return the seconds in which at least one of these tasks was at work; they are in order of their beginnings."""
    covered, end = 0.0, 0.0
    for line in lines:
        covered += max(0.0, line.began + line.wall - max(end, line.began))
        end = max(end, line.began + line.wall)
    return covered


def _at_a_time(lines: list[TaskProgress]) -> int:
    """Return the most processes at work at a time, but for what the clock's steps make of one after the other."""
    ends = [(line.began + line.wall - _TICK, -1, line.worker) for line in lines]
    at_work, most = Counter[str](), 1
    for _, change, worker in sorted(ends + [(line.began, 1, line.worker) for line in lines]):
        at_work[worker] += change
        most = max(most, sum(tasks > 0 for tasks in at_work.values()))
    return most

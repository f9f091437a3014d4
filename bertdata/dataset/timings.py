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
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import StorageError
from ..io.files import read_json, write_json
from ..io.progress import TaskProgress, current, lines
from .staging import STATE, TIMINGS

Told = npt.NDArray[Any]  # a line a task, in 50 bytes: there may be millions

_TICK = 0.01  # seconds
_COLUMNS = np.dtype("i4,i8,?,f8,f8,f8,i8,i4")
_COLUMNS.names = ("step", "task", "done", "began", "wall", "cpu", "memory", "worker")

__all__ = ["read", "summary", "write"]


def write(root: Path) -> None:
    """Write what the run that builds here took so far; it is no error where that cannot be written."""
    current().tell()
    if told := summary(lines(root / STATE)):
        with contextlib.suppress(StorageError, OSError):
            write_json(root / STATE / TIMINGS, told)


def read(directory: Path) -> dict[str, Any]:
    """Return what the run took that made a data set; nothing where that is not known."""
    timings = read_json(directory / STATE / TIMINGS)
    return timings if isinstance(timings, dict) else {}


def summary(found: Iterable[TaskProgress]) -> dict[str, Any]:
    """Add up what tasks took, stage by stage in order of their beginnings; nothing where there are none.

    Of a task that was begun more than once its end counts, or what was said last.

    >>> line = TaskProgress("read", 0, True, 1, 1, 0, began=0.0, wall=2.0, cpu=1.5, memory=10, worker="a")
    >>> timings = summary([line, line._replace(task=1, began=1.0, worker="b"), line._replace(step="commit", began=5.0)])
    >>> timings["stages"], timings["workers"], timings["started"]
    ([{'name': 'read', 'wall_s': 3.0, 'cpu_s': 3.0}, {'name': 'commit', 'wall_s': 2.0, 'cpu_s': 1.5}], 2, '1970-01-01T00:00:00Z')
    """
    steps: dict[str, int] = {}
    workers: dict[str, int] = {}
    told = np.fromiter(
        (
            (steps.setdefault(step, len(steps)), task, done, began, wall, cpu, memory, workers.setdefault(worker, len(workers)))
            for step, task, done, _, _, _, began, wall, cpu, memory, worker in found
        ),
        _COLUMNS,
    )
    if not len(told):
        return {}
    told = told[np.lexsort((told["done"], told["task"], told["step"]))]
    told = told[np.append((told["step"][1:] != told["step"][:-1]) | (told["task"][1:] != told["task"][:-1]), True)]
    told = told[np.argsort(told["began"], kind="stable")]
    numbers, names = dict.fromkeys(told["step"].tolist()), [*steps]
    return {
        "started": datetime.fromtimestamp(told["began"][0], timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "workers": _at_a_time(told, len(workers)),
        "peak_memory_bytes": int(told["memory"].max()),
        "stages": [_stage(names[number], told[told["step"] == number]) for number in numbers],
    }


def _stage(name: str, told: Told) -> dict[str, Any]:
    """Return what a stage took, of tasks in order of their beginnings: the seconds in which at least one was at work, and CPU."""
    ends = told["began"] + told["wall"]
    covered = np.append(0.0, np.maximum.accumulate(ends)[:-1])
    at_work = np.maximum(ends - np.maximum(covered, told["began"]), 0).sum()
    return {"name": name, "wall_s": round(float(at_work), 3), "cpu_s": round(float(told["cpu"].sum()), 3)}


def _at_a_time(told: Told, workers: int) -> int:
    """Return the most processes at work at a time, but for what the clock's steps make of one after the other."""
    times = np.concatenate((told["began"] + told["wall"] - _TICK, told["began"]))
    changes = np.repeat([-1, 1], len(told))
    order = np.lexsort((changes, times))
    tasks, at_work, most = [0] * workers, 0, 1
    for change, worker in zip(changes[order].tolist(), np.tile(told["worker"], 2)[order].tolist(), strict=True):
        before = tasks[worker] > 0
        tasks[worker] += change
        at_work += (tasks[worker] > 0) - before
        most = max(most, at_work)
    return most

"""Read task reports from record files. Only references to them pass between steps.

    .bertdata/tasks/extract/00012.json     {"task": …, "report": …}: task 12 and its report

A local run keeps all elements between two steps in memory. So a report, of about 1 kB, is read only when it
is added up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import VerificationError
from ..records import Report
from ..storage.files import is_local, read_json
from ..storage.ranges import range_digest
from ..storage.storage import storage_errors
from .staging import STATE

__all__ = ["read", "record_path", "reference"]

_THREADS, _AT_ONCE = 16, 128  # requests to a store at a time, and reports in memory


def record_path(root: Path, step: str, number: int) -> Path:
    """Return the path of a task's record."""
    return root / STATE / "tasks" / step / f"{number:05d}.json"


def reference(number: int, steps: tuple[str, ...], reports: list[dict[str, Any]]) -> Report:
    """Return a reference to a task's reports, one for each root of its run, in the records of `steps`."""
    return Report(number, steps, _digest(reports))


def read(roots: list[Path], references: Iterable[Report]) -> Iterator[list[dict[str, Any]]]:
    """Read reports, one per root, in order. In a store, several are read at the same time.

    Raise VerificationError if a record differs from the task's report.
    """
    if all(map(is_local, roots)):
        yield from (_read(roots, reference) for reference in references)
    else:
        left = iter(references)
        with ThreadPoolExecutor(_THREADS) as pool:
            while some := [*islice(left, _AT_ONCE)]:
                yield from pool.map(partial(_read, roots), some)


@storage_errors()
def _read(roots: list[Path], reference: Report) -> list[dict[str, Any]]:
    reports: list[dict[str, Any]] = []
    for root in roots:
        records = [read_json(record_path(root, step, reference.number)) for step in reference.steps]
        reports.append({key: value for record in records for key, value in (record or {}).get("report", {}).items()})
    if _digest(reports) != reference.digest:
        raise VerificationError(
            f"{record_path(roots[0], reference.steps[-1], reference.number)} is not what its task has written: run the "
            "same command again"
        )
    return reports


def _digest(reports: list[dict[str, Any]]) -> int:
    return range_digest(json.dumps(reports).encode())

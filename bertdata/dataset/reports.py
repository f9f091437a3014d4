"""Read what tasks have reported from their records, which are files: between steps only references to them cross.

    .bertdata/tasks/extract/00012.json     {"task": …, "report": …}: what task 12 did, and what came of it

A run here has in memory all that crosses between two steps, of all tasks at a time: so a report, of about a kB, is read where it
is added up and not before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import VerificationError
from ..io.ahead import ahead
from ..io.files import is_local, read_json
from ..io.ranges import range_digest
from ..io.storage import storage_errors
from ..records import Report
from .staging import STATE

__all__ = ["read", "record_path", "reference"]


def record_path(root: Path, step: str, number: int) -> Path:
    """Return where the record of a task lies."""
    return root / STATE / "tasks" / step / f"{number:05d}.json"


def reference(number: int, steps: tuple[str, ...], reports: list[dict[str, Any]]) -> Report:
    """Return a reference to what a task has reported, once for each root of its run, in the records of `steps`."""
    return Report(number, steps, _digest(reports))


def read(roots: list[Path], references: Iterable[Report]) -> Iterator[list[dict[str, Any]]]:
    """Read reports, one for each root, in the order given; of a store some are on their way at a time.

    Raise VerificationError where one is not what its task reported.
    """
    if all(map(is_local, roots)):
        yield from (_read(roots, reference) for reference in references)
    else:
        yield from (reports for _, reports in ahead(partial(_read, roots), references))


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

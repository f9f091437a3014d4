"""Read task reports from record files. Only references to them pass between steps.

    .bertdata/tasks/extract/00012.json     {"task": …, "report": …}: task 12 and its report

A local run keeps all elements between two steps in memory. So a report, of about 1 kB, is read only when it
is added up.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from ..codec import Count, Record, WrongValue, decode, encode
from ..errors import VerificationError
from ..records import ReportReference
from ..storage.files import is_local, read_json
from ..storage.ranges import range_digest
from ..storage.storage import storage_errors
from .manifest_records import File, FileEntry
from .staging import STATE

__all__ = ["FilesReport", "InputRange", "TaskReport", "read", "record_path", "reference", "stored"]

R = TypeVar("R")
_THREADS, _AT_ONCE = 16, 128  # requests to a store at a time, and reports in memory


class InputRange(Record, frozen=True, kw_only=True):
    """A file range that a task has read, and the digest of its bytes."""

    name: str
    path: str
    start: Count
    end: Count
    sha256: str


class TaskReport(Record, frozen=True, kw_only=True):
    """What a task reports. Each kind of task adds its files and counts."""

    @property
    def inputs(self) -> Sequence[InputRange]:
        """The file ranges that the task has read, which a resumed run checks."""
        return ()

    @property
    def files(self) -> Sequence[File]:
        """All files that the task has written, which a resumed run checks."""
        return ()


class FilesReport(TaskReport, frozen=True, kw_only=True):
    """The report of a task that only writes files."""

    files: Sequence[FileEntry]


def record_path(root: Path, step: str, number: int) -> Path:
    """Return the path of a task's record."""
    return root / STATE / "tasks" / step / f"{number:05d}.json"


def reference(number: int, step: str, reports: Sequence[object]) -> ReportReference:
    """Return a reference to a task's reports, one for each root of its run, in the records of a step."""
    return ReportReference(number, step, _digest(reports))


def stored(root: Path, step: str, number: int, kind: type[R]) -> R:
    """Return the report of a task in a root of its run."""
    return decode((read_json(record_path(root, step, number)) or {}).get("report"), kind)


def read(roots: list[Path], references: Iterable[ReportReference], kind: type[R]) -> Iterator[list[R]]:
    """Read reports of a kind, one per root, in order. In a store, several are read at the same time.

    Raise VerificationError if a record differs from the task's report.
    """
    if all(map(is_local, roots)):
        yield from (_read(roots, kind, reference) for reference in references)
    else:
        left = iter(references)
        with ThreadPoolExecutor(_THREADS) as pool:
            while some := [*islice(left, _AT_ONCE)]:
                yield from pool.map(partial(_read, roots, kind), some)


@storage_errors()
def _read(roots: list[Path], kind: type[R], reference: ReportReference) -> list[R]:
    with contextlib.suppress(WrongValue):
        found = [stored(root, reference.step, reference.number, kind) for root in roots]
        if _digest(found) == reference.digest:
            return found
    path = record_path(roots[0], reference.step, reference.number)
    raise VerificationError(f"{path} has changed since its task wrote it: run the same command again")


def _digest(reports: Sequence[object]) -> int:
    return range_digest(json.dumps(encode(reports)).encode())

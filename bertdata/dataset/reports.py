"""Read task reports from record files. Only numbers of tasks pass between stages.

    .bertdata/tasks/extract/00012.json     {"task": …, "report": …}: task 12 and its report
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from ..codec import Count, Record, WrongValue, decode
from ..errors import VerificationError
from ..storage.files import read_json
from ..storage.storage import storage_errors
from .manifest_records import File, FileEntry
from .staging import STATE

__all__ = ["FilesReport", "InputRange", "TaskReport", "record_path", "stored"]

R = TypeVar("R")


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


@storage_errors()
def stored(root: Path, step: str, number: int, kind: type[R]) -> R:
    """Read the report of a task in a root of its run. Raise VerificationError if it is missing or damaged."""
    path = record_path(root, step, number)
    try:
        return decode((read_json(path) or {}).get("report"), kind)
    except WrongValue:
        raise VerificationError(f"{path} is missing or damaged: run the same command again") from None

"""Record the tasks of a run, so that the same command continues it, and pass values to workers in files.

    .bertdata/tasks/extract/00012.json     {"task": …, "report": …}: task 12 of a stage, and its report
    .bertdata/work/plan-inputs.json        a value that all tasks read, so that a job stays small

Only numbers of tasks pass between stages.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..codec import Count, Record, WrongValue, decode, encode
from ..errors import ResumeError, StorageError, VerificationError
from ..storage.files import PRIVATE_MODE, digest, read_json, read_state, write_json, write_text
from ..storage.problems import storage_errors
from .build import REPLACING, RUN, STATE
from .manifest_records import File


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

    files: Sequence[File]


R = TypeVar("R", bound=TaskReport)


class StoredValue(NamedTuple):
    """A reference to a JSON value, or to records, in a file of the build directory `root`, with the digest of the file."""

    root: Path
    name: str
    sha256: str

    @classmethod
    def written(cls, root: Path, name: str, value: Any) -> StoredValue:
        """Write a value and return a reference to it."""
        text = f"{json.dumps(encode(value))}\n"
        write_text(_value_path(root, name), text, PRIVATE_MODE)
        return cls(root, name, hashlib.sha256(text.encode()).hexdigest())

    def read(self) -> Any:
        """Read the value. Raise VerificationError if it does not belong to this job."""
        path = _value_path(self.root, self.name)
        with storage_errors(f"cannot read {path}"):
            data = read_state(path)
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise VerificationError(f"{path} is damaged, or belongs to another run: run the same command again")
        return json.loads(data)


def _value_path(root: Path, name: str) -> Path:
    return root / STATE / "work" / f"plan-{name}.json"


def record_path(root: Path, stage: str, number: int) -> Path:
    """Return the path of a task's record."""
    return root / STATE / "tasks" / stage / f"{number:05d}.json"


@storage_errors()
def stored(root: Path, stage: str, number: int, kind: type[R]) -> R:
    """Read the report of a task in a root of its run. Raise VerificationError if it is missing or damaged."""
    path = record_path(root, stage, number)
    try:
        return decode((read_json(path) or {}).get("report"), kind)
    except WrongValue:
        raise VerificationError(f"{path} is missing or damaged: run the same command again") from None


@storage_errors()
def perform(
    root: Path,
    stage: str,
    number: int,
    task: Any,
    work: Callable[[], R],
    kind: type[R],
    paths: Mapping[str, str] | None = None,
) -> R:
    """Run a task, or return its report from an earlier run if its inputs and output files are unchanged.

    `task` describes the task in JSON types, and `work` returns its report, of the type `kind`. `paths` maps the names of the
    report's inputs to their current paths. None skips the check of inputs. Raise ResumeError if an input has changed since the
    run began, unless `overwrite` is set.
    """
    # A task's output depends only on its description and its inputs. If a record of the same task exists, and its output files
    # still have the recorded digests, its report is reused. The order of writing makes this safe: first the files, then the
    # record. A crash in between leaves files without a record, and the task runs again and writes the same bytes.
    path = record_path(root, stage, number)
    record = read_json(path)
    if record is not None and record["task"] == task:
        report = decode(record["report"], kind)
        if all((root / file.name).is_file() and digest(root / file.name) == file.sha256 for file in report.files):
            # The output is intact. Compare the bytes of its inputs, because a copied or downloaded file has a new time.
            changed = "" if paths is None else _changed(report.inputs, paths)
            if not changed:
                return report
            if not (root / REPLACING).exists():
                raise ResumeError(f"{changed} has changed since this run began: start again with `overwrite`")
    import pyarrow  # takes 0.3 s: commands that read only records need no Arrow

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # a task takes one core; its threads would fight for it
    report = work()  # when it returns, all files of the task are complete and flushed
    # In bertdata's own processes, this calls malloc_trim(3). Without it, memory of one large record adds to that of the next.
    pyarrow.default_memory_pool().release_unused()
    write_json(path, {"task": task, "report": encode(report)}, PRIVATE_MODE)
    return report


def _changed(inputs: Sequence[InputRange], paths: Mapping[str, str]) -> str:
    """Return the path of the first input that has changed since it was read, or an empty string."""
    for entry in inputs:
        path = paths.get(entry.name, entry.path)
        with storage_errors(f"cannot read {path} again"):
            if digest(path, entry.start, entry.end) != entry.sha256:
                return path
    return ""


def check_begun(root: Path) -> None:
    """Raise StorageError if no run has begun in `root`, for example because this host does not share the directory."""
    if not (root / STATE / RUN).exists():
        raise StorageError(f"{root}: not found. All workers must see the input and `output` under the same names")


def count_done(root: Path, stage: str) -> int:
    """Count the finished tasks of a stage."""
    return sum(1 for _ in (root / STATE / "tasks" / stage).glob("[0-9]*"))

"""Report whether the run of a directory is complete, running or unfinished."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from ..dataset import manifest
from ..dataset.build import STATE, builds, is_complete
from ..dataset.tasks import finished_tasks
from ..storage.files import is_local, read_json, to_path
from ..storage.lock import locked_by
from ..storage.storage import storage_errors

__all__ = ["RunStatus", "status"]


class RunStatus(NamedTuple):
    """The state of an output directory."""

    state: Literal["complete", "running", "unfinished", "missing"]
    contents: str = ""  # the command of a run, or the kind of a complete dataset; empty if a stopped run has kept nothing
    by: str = ""  # the process that is writing
    finished: dict[str, int] = {}  # finished tasks by step, of a run that is not complete; optimizer steps of `train`
    rows: int = 0  # of a complete dataset


@storage_errors()
def status(directory: str | Path) -> RunStatus:
    """Return whether the run of an output directory is complete, running or unfinished.

    A run that failed or was killed is unfinished: the same command resumes it. In a store, a running run looks like an
    unfinished one, because stores have no locks.

    Args:
        directory: Output of `build_corpus`, `train_vocab`, `make_pairs`, `export` or `train`.

    Returns:
        The state, and the finished tasks of each step of a run that is not complete.

    Raises:
        VerificationError: The manifest was modified.

    Examples:
        >>> status(here / "nothing").state
        'missing'
    """
    path = to_path(str(directory))
    training = _training_steps(path)
    command, finished = max(_runs(path), default=("", {}), key=lambda run: sum(run[1].values()))
    if training is not None:
        command, finished = "train", {"train": training[0]}
    lock = locked_by(path / STATE / "lock") if is_local(path) else ""  # stores have no locks
    if lock:
        return RunStatus("running", command, lock, finished)
    if (path / "manifest.json").exists():
        contents = manifest.read(path)
        return RunStatus("complete", contents.kind, rows=contents.rows)
    if training is not None and training[0] >= training[1]:
        return RunStatus("complete", command, finished=finished)
    # A run that was stopped before its first task leaves nothing but its state directory.
    return RunStatus("unfinished", command, finished=finished) if command or (path / STATE).is_dir() else RunStatus("missing")


def _training_steps(directory: Path) -> tuple[int, int] | None:
    """Return the saved and the planned optimizer steps of a training run, or None for another directory."""
    if not is_local(directory):
        return None
    saved = {int(path.name[11:]): path for path in directory.glob("checkpoint-*") if path.name[11:].isdigit()}
    # Like `resume.changes`: a checkpoint has the run's identity even if it was copied without the state directory.
    paths = [*(saved[step] / "state.json" for step in sorted(saved)[-1:]), directory / STATE / "run.json"]
    records = (record["identity"] for path in paths if isinstance(record := read_json(path), dict) and "identity" in record)
    identity = next(records, None)
    return (max(saved, default=0), sum(phase["steps"] for phase in identity["phases"].values())) if identity else None


def _runs(directory: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the command of each unfinished run, and its number of finished tasks per stage."""
    for root, identity in builds(directory).items():
        if isinstance(identity, dict) and not is_complete(root):
            yield str(identity.get("command", "")), finished_tasks(root)

"""Find whether the run that writes a directory is complete, running or unfinished."""

from __future__ import annotations

from pathlib import Path

from ..dataset.build import STATE, builds, is_complete
from ..dataset.tasks import count_done
from ..storage.files import PRIVATE_MODE, is_local, read_json, to_path, write_json
from ..storage.lock import locked_by
from ..storage.storage import storage_errors
from .job import Stage

_STAGES = f"{STATE}/work/stages.json"  # of a build: the number of tasks of each stage


def write_stages(root: Path, stages: list[Stage]) -> None:
    """Write the number of tasks of each stage of a build."""
    write_json(root / _STAGES, [[stage.name, len(stage.tasks)] for stage in stages], PRIVATE_MODE)


@storage_errors()
def run_state(directory: str | Path) -> str:
    """Return ``complete``, ``running …`` or ``unfinished …``, with the finished tasks, or an empty string without a run.

    A run that failed or was killed is unfinished: the same command resumes it. In a store, a running run looks like an
    unfinished one, because stores have no locks.
    """
    directory = to_path(str(directory))
    owner = locked_by(directory / STATE / "lock") if is_local(directory) else ""
    unfinished = next((_tasks(root) for root in builds(directory) if not is_complete(root)), "")
    if owner:
        return f"running{unfinished}, by {owner}"
    if is_complete(directory):
        return "complete"
    return f"unfinished{unfinished}" if unfinished or (directory / STATE).is_dir() else ""


def _tasks(root: Path) -> str:
    """Return the finished tasks of the stage that a build is in."""
    stages = [(count_done(root, name), total, name) for name, total in read_json(root / _STAGES) or ()]
    begun = [stage for stage in stages if stage[0]] or stages[:1]
    return " ({} of {} tasks of {})".format(*begun[-1]) if begun else " (0 tasks finished)"

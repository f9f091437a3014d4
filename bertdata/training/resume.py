"""Look at what an earlier call has left in the directory of a training run, and whether it was the same run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..dataset.differences import differences, first_few
from ..dataset.run import STATE
from ..errors import OutputExistsError, ResumeError
from ..io.files import PRIVATE, TEMPORARY, read_json, write_json
from ..io.lock import lock
from ..io.moves import remove, remove_temporary
from ..io.storage import storage_errors

__all__ = ["begin", "changes", "checkpoints", "claimed", "steps_of"]

_REPLACE = "replace it with `overwrite`, or choose another `output`"


def checkpoints(output: Path) -> list[Path]:
    """List the checkpoints of a run by step."""
    return sorted((path for path in output.glob("checkpoint-*") if path.name[11:].isdigit()), key=steps_of)


def steps_of(checkpoint: Path) -> int:
    """Return how many steps a checkpoint has."""
    return int(checkpoint.name.rpartition("-")[2])


def changes(output: Path, identity: dict[str, Any]) -> list[str] | None:
    """Name what differs between a run and the one whose files are there; None where nothing tells what that was.

    Its last checkpoint does, which may have come from another machine; before the first, what `begin` wrote.  More steps in the
    last phase of a finished run are no difference: the run continues with them.
    """
    last = checkpoints(output)[-1:]
    states = [*(path / "state.json" for path in last), output / STATE / "run.json"]
    known = next((state["identity"] for path in states if (state := read_json(path)) and "identity" in state), None)
    if known is None:
        return None
    return differences(_extended(known, identity) if last and steps_of(last[0]) == _steps(known) else known, identity)


def _steps(identity: dict[str, Any]) -> int:
    return sum(phase["steps"] for phase in identity["phases"].values())


def _extended(finished: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the identity of a finished run with the steps of its last phase raised to those asked for now."""
    last = max(finished["phases"], key=int)
    phase = finished["phases"][last]
    steps = max(phase["steps"], now["phases"].get(last, phase)["steps"])
    return {**finished, "phases": {**finished["phases"], last: {**phase, "steps": steps}}}


def begin(output: Path, identity: dict[str, Any], *, used: bool) -> None:
    """Write down what a run is; refuse a directory that another one has `used`.

    Raise ResumeError with what differs, OutputExistsError where nothing tells what was there.
    """
    changed = changes(output, identity) if used else []
    if changed is None:
        raise OutputExistsError(f"{output} holds files of a training run, and nothing that tells how it was made: {_REPLACE}")
    if changed:
        raise ResumeError(
            f"{output} holds a training run of other settings; what differs: {first_few(changed)}: give the old ones, {_REPLACE}"
        )
    write_json(output / STATE / "run.json", {"identity": identity}, PRIVATE)


@contextlib.contextmanager
def claimed(directory: Path, ours: Callable[[str], bool], *, overwrite: bool) -> Iterator[bool]:
    """Lock a directory to which a run adds files, as training does; `ours` tells whether a name may be in it.

    Yield whether an earlier run has left files there, which are removed with `overwrite`.  Raise OutputExistsError for others.
    """
    with storage_errors(f"cannot use {directory}"):
        names = sorted(path.name for path in directory.iterdir()) if directory.exists() else []
    our_names = [name for name in names if ours(name)]
    if strange := [name for name in names if not ours(name) and name != STATE and not name.startswith(TEMPORARY)]:
        raise OutputExistsError(f"{directory} holds files of something else ({strange[0]}, …): choose another `output`")
    with lock(directory / STATE / "lock"), storage_errors(f"cannot write {directory}"):
        remove_temporary(directory)
        for name in our_names if overwrite else ():
            remove(directory / name)
        yield bool(our_names) and not overwrite

"""Look at what an earlier call has left in the directory of a training run, and whether it was the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..dataset.differences import differences, first_few
from ..dataset.run import STATE
from ..errors import OutputExistsError, ResumeError
from ..io.files import PRIVATE, read_json, write_json

__all__ = ["begin", "changes", "checkpoints", "steps_of"]

_REPLACE = "replace it with `overwrite`, or choose another `output`"


def checkpoints(output: Path) -> list[Path]:
    """List the checkpoints of a run by step."""
    return sorted((path for path in output.glob("checkpoint-*") if path.name[11:].isdigit()), key=steps_of)


def steps_of(checkpoint: Path) -> int:
    """Return how many steps a checkpoint has."""
    return int(checkpoint.name.rpartition("-")[2])


def changes(output: Path, identity: dict[str, Any]) -> list[str] | None:
    """Name what differs between a run and the one whose files are there; None where nothing tells what that was.

    Its last checkpoint does, which may have come from another machine; before the first, what `begin` wrote.
    """
    states = [*(path / "state.json" for path in checkpoints(output)[-1:]), output / STATE / "run.json"]
    known = next((state["identity"] for path in states if (state := read_json(path)) and "identity" in state), None)
    return None if known is None else differences(known, identity)


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

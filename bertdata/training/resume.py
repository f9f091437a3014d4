"""Examine the files of an earlier call in the directory of a training run, and whether it was the same run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..codec import Count, Record
from ..dataset.build import STATE
from ..dataset.differences import differences
from ..errors import OutputExistsError, ResumeError, UsageError, few
from ..storage.files import PRIVATE_MODE, TEMPORARY_PREFIX, read_json, write_json
from ..storage.lock import lock
from ..storage.moves import remove, remove_temporary
from ..storage.problems import storage_errors

_REPLACE_ADVICE = "replace it with `overwrite`, or choose another `output`"


class State(Record, frozen=True, kw_only=True):
    """The state of a run in addition to the weights and the optimizer. `window` is the sums of the metrics not written yet."""

    identity: dict[str, object]
    step: Count
    window: Sequence[float] | None = None
    scaler: dict[str, Any] = {}


def local_output(output: str | Path) -> Path:
    """Return the directory of a run. Raise UsageError if it has none, or if it is in a store."""
    if not str(output):
        raise UsageError("`output` is missing. Pass a directory for checkpoints and metrics, such as `run`", field="output")
    if "://" in str(output):
        raise UsageError(f"`output` {output}: checkpoints need a local disk. Pass a local directory", field="output")
    return Path(output)


def checkpoints(output: Path) -> list[Path]:
    """List the checkpoints of a run by step."""
    return sorted((path for path in output.glob("checkpoint-*") if path.name[11:].isdigit()), key=steps_of)


def steps_of(checkpoint: Path) -> int:
    """Return the number of steps of a checkpoint."""
    return int(checkpoint.name.rpartition("-")[2])


def changes(output: Path, identity: dict[str, object]) -> list[str] | None:
    """List the differences to the run whose files are in `output`, or return None if no record of it exists.

    The last checkpoint has the record. Before the first one, it is in the file that `begin` wrote. A finished run with more
    phases, or more steps in its last one, counts as the same run and continues.
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
    """Return the identity of a finished run with the steps of its last phase, and the phases after it, as they are now."""
    last = max(finished["phases"], key=int)
    phase, more = finished["phases"][last], {name: each for name, each in now["phases"].items() if int(name) > int(last)}
    steps = phase["steps"] if more else max(phase["steps"], now["phases"].get(last, phase)["steps"])
    return {**finished, "phases": {**finished["phases"], last: {**phase, "steps": steps}, **more}}


def begin(output: Path, identity: dict[str, object], about: dict[str, object], *, used: bool) -> None:
    """Record the identity of a run, and facts for its report. Raise an error if another run has `used` the directory.

    Raise ResumeError with the differences, or OutputExistsError if no record of the earlier run exists.
    """
    changed = changes(output, identity) if used else []
    if changed is None:
        raise OutputExistsError(f"{output} contains files of a training run, but its run.json is missing: {_REPLACE_ADVICE}")
    if changed:
        raise ResumeError(
            f"{output} contains a training run with other settings ({few(changed, 5, '; ')}): use the old ones, {_REPLACE_ADVICE}"
        )
    write_json(output / STATE / "run.json", {"identity": identity, "about": about}, PRIVATE_MODE)


@contextlib.contextmanager
def claimed(directory: Path, ours: Callable[[str], bool], *, overwrite: bool) -> Iterator[bool]:
    """Lock a directory to which a run adds files, such as a training run. `ours` returns True for the names that may be in it.

    Yield True if an earlier run left files there. With `overwrite`, they are removed. Raise OutputExistsError for foreign files.
    """
    with storage_errors(f"cannot write to {directory}"):
        names = sorted(path.name for path in directory.iterdir()) if directory.exists() else []
    our_names = [name for name in names if ours(name)]
    if foreign := [name for name in names if not ours(name) and name != STATE and not name.startswith(TEMPORARY_PREFIX)]:
        raise OutputExistsError(
            f"{directory} contains files that bertdata did not write ({foreign[0]}, …): choose another `output`"
        )
    with lock(directory / STATE / "lock"), storage_errors(f"cannot write {directory}"):
        remove_temporary(directory)
        for name in our_names if overwrite else ():
            remove(directory / name)
        yield bool(our_names) and not overwrite

"""Let only the newest run write to an output in a store.

On a disk, a run holds a lock and builds in a separate directory. In a store, all runs write to the same final names. So each
command that starts or continues a run there writes a new fencing token. The run's paths contain the token, also in the workers,
and `files.replacing` checks it before a file appears. An older command that is still alive, and its workers on an engine, cannot
write any more. Only the microseconds between check and write are unprotected.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import OutputLockedError
from .readers import read_whole

__all__ = ["SEEN_S", "TOKEN_FILE", "RunPath", "admit", "token"]

TOKEN_FILE = ".bertdata/run.sha256"  # inside an output in a store: the digest of its run.json, and a number of the command

SEEN_S = 5.0  # seconds: a check stays valid this long for starting a step; writing a file always checks again

_seen: dict[tuple[Path, str], float] = {}  # output and token of a run -> time of this process's last successful check


@dataclass(frozen=True)
class RunPath:
    """A path in the `output` of a run in a store. It has the methods of the path.

    Only the run with this token writes to it. A pickled copy, and the paths that ``/`` and `with_name` return, keep the run.
    """

    _path: Path
    output: Path
    token: str

    def __truediv__(self, name: str) -> RunPath:
        return RunPath(self._path / name, self.output, self.token)

    def with_name(self, name: str) -> RunPath:
        """Return the path of a file in the same directory."""
        return RunPath(self._path.with_name(name), self.output, self.token)

    def __str__(self) -> str:
        return str(self._path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._path, name)

    def __reduce__(self) -> tuple[type[RunPath], tuple[Path, Path, str]]:
        return RunPath, (self._path, self.output, self.token)  # the default would look up attributes before there is a `_path`


def token(root: Path) -> str:
    """Return the token of the run in a store, or an empty string."""
    try:
        return read_whole(root / TOKEN_FILE).decode("ascii", "replace")
    except FileNotFoundError:
        return ""


def admit(path: Path | RunPath, *, seen_s: float = 0.0) -> None:
    """Raise OutputLockedError if the path is of a run that was replaced. Trust a check that is newer than `seen_s` seconds."""
    # A store has no locks that survive a lost connection, so a paused process may wake up and write
    # after another one has taken over. The check before each write refuses that:
    #
    #   command A writes token A, starts a task, and its machine is suspended
    #   command B writes token B, and finishes the dataset
    #   command A wakes up, reads the token before its next write, finds B, and stops
    if not isinstance(path, RunPath):
        return
    run = output, known = path.output, path.token
    if time.monotonic() - _seen.get(run, -SEEN_S) < seen_s:
        return
    if token(output) != known:
        _seen.pop(run, None)
        raise OutputLockedError(
            f"{output}: a newer run replaced this one, whose late writes are ignored. Run one command at a time"
        )
    _seen[run] = time.monotonic()

"""Let only the newest run write to an output in a store.

On a disk, a run holds a lock and builds in a separate directory. In a store, all runs write to the same final names. So each
command that starts or continues a run there writes a new fencing token, which its workers check before a file appears. An older
command that is still alive, and its workers on an engine, cannot write any more. Only the microseconds between check and write
are unprotected.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import OutputLockedError
from .readers import read_whole

__all__ = ["SEEN_S", "TOKEN_FILE", "admit", "fenced", "is_fenced", "token"]

TOKEN_FILE = ".bertdata/run.sha256"  # inside an output in a store: the digest of its run.json, and a number of the command

SEEN_S = 5.0  # seconds: a check stays valid this long for starting a step; writing a file always checks again
_seen: dict[tuple[str, str], float] = {}  # root and token of a run -> time of this process's last successful check

_runs: contextvars.ContextVar[Sequence[tuple[Path, str]]] = contextvars.ContextVar("_runs", default=())


def token(root: Path) -> str:
    """Return the token of the run in a store, or an empty string."""
    try:
        return read_whole(root / TOKEN_FILE).decode("ascii", "replace")
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def fenced(*runs: tuple[Path, str]) -> Iterator[None]:
    """Inside the block, also write files to stores only while these runs, given by root and token, are current."""
    reset = _runs.set((*(run for run in _runs.get() if run not in runs), *runs))
    try:
        yield
    finally:
        _runs.reset(reset)


def is_fenced(root: Path) -> bool:
    """Return True inside a `fenced` block for this root."""
    return any(str(each) == str(root) for each, _ in _runs.get())


def admit(*, seen_s: float = 0.0) -> None:
    """Raise OutputLockedError if a run was replaced. Trust a check of this process that is newer than `seen_s` seconds."""
    # A store has no locks that survive a lost connection, so a paused process may wake up and write
    # after another one has taken over. The check before each write refuses that:
    #
    #   command A writes token A, starts a task, and its machine is suspended
    #   command B writes token B, and finishes the dataset
    #   command A wakes up, reads the token before its next write, finds B, and stops
    for root, known in _runs.get():
        if seen_s and time.monotonic() - _seen.get((str(root), known), -SEEN_S) < seen_s:
            continue
        if token(root) != known:
            _seen.pop((str(root), known), None)
            raise OutputLockedError(
                f"{root}: a newer run replaced this one, whose late writes are ignored. Run one command at a time"
            )
        _seen[str(root), known] = time.monotonic()

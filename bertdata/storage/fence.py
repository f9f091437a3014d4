"""Stop late workers of a replaced run from writing into the newer run in a store.

On a disk, each run builds in a separate directory. In a store, all runs write to the same final names. So each run in a store
has a fencing token, which workers check before a file appears. Only the microseconds between check and write are unprotected.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import OutputLockedError
from .readers import read_whole

__all__ = ["TOKEN", "admit", "fenced", "is_fenced", "token"]

TOKEN = ".bertdata/run.sha256"  # inside an output in a store: the digest of its run.json

SEEN_S = 5.0  # seconds: a check stays valid this long for starting a step; writing a file always checks again
_seen: dict[tuple[str, str], float] = {}  # root and token of a run -> time of this process's last successful check

_runs: contextvars.ContextVar[Sequence[tuple[Path, str]]] = contextvars.ContextVar("_runs", default=())


def token(root: Path) -> str:
    """Return the token of the run in a store, or an empty string."""
    try:
        return read_whole(root / TOKEN).decode("ascii", "replace")
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def fenced(*runs: tuple[Path, str]) -> Iterator[None]:
    """Inside the block, write files to stores only while these runs, given by root and token, are current."""
    reset = _runs.set(runs)
    try:
        admit(seen_s=SEEN_S)
        yield
    finally:
        _runs.reset(reset)


def is_fenced(root: Path) -> bool:
    """Return True inside a `fenced` block for this root."""
    return any(str(each) == str(root) for each, _ in _runs.get())


def admit(*, seen_s: float = 0.0) -> None:
    """Raise OutputLockedError if a run was replaced. Trust a check of this process that is newer than `seen_s` seconds."""
    for root, known in _runs.get():
        if seen_s and time.monotonic() - _seen.get((str(root), known), -SEEN_S) < seen_s:
            continue
        if token(root) != known:
            _seen.pop((str(root), known), None)
            raise OutputLockedError(f"{root} is of a later run: what an engine still does for the one before is void")
        _seen[str(root), known] = time.monotonic()

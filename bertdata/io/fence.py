"""Keep late workers of a run that is over from writing into the run that has replaced it in a store.

In a store all runs write files of the same, final names; on a disk each builds in a directory of its own.  So a run in a store
has a token, which is looked at before each file appears: a fencing token, but for the microseconds between the look and the file.
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

TOKEN = ".bertdata/run.sha256"  # below an output in a store: the digest of its run.json

SEEN_S = 5.0  # seconds: a step begins without another look after one; before a file appears there is always a look
_seen: dict[tuple[str, str], float] = {}  # root and token of a run -> when this process saw that it continues

_runs: contextvars.ContextVar[Sequence[tuple[Path, str]]] = contextvars.ContextVar("_runs", default=())


def token(root: Path) -> str:
    """Return the token of the run in a store; nothing where there is none."""
    try:
        return read_whole(root / TOKEN).decode("ascii", "replace")
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def fenced(*runs: tuple[Path, str]) -> Iterator[None]:
    """Let files appear in stores only as long as these runs, each a root and its token, continue."""
    reset = _runs.set(runs)
    try:
        admit(seen_s=SEEN_S)
        yield
    finally:
        _runs.reset(reset)


def is_fenced(root: Path) -> bool:
    """Return whether the block at work is one of a run in this store."""
    return any(str(each) == str(root) for each, _ in _runs.get())


def admit(*, seen_s: float = 0.0) -> None:
    """Raise OutputLockedError where a run is over; a run that this process has looked at in the last `seen_s` seconds is not."""
    for root, known in _runs.get():
        if seen_s and time.monotonic() - _seen.get((str(root), known), -SEEN_S) < seen_s:
            continue
        if token(root) != known:
            _seen.pop((str(root), known), None)
            raise OutputLockedError(f"{root} is of a later run: what an engine still does for the one before is void")
        _seen[str(root), known] = time.monotonic()

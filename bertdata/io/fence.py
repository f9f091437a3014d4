"""Keep late workers of a run that is over from writing into the run that has replaced it in a store.

In a store all runs write files of the same, final names; on a disk each builds in a directory of its own.  So a run in a store
has a token, which is looked at before each file appears: a fencing token, but for the microseconds between the look and the file.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import OutputLockedError

__all__ = ["TOKEN", "admit", "fenced", "token"]

TOKEN = ".bertdata/run.sha256"  # below an output in a store: the digest of its run.json

_runs: contextvars.ContextVar[Sequence[tuple[Path, str]]] = contextvars.ContextVar("_runs", default=())


def token(root: Path) -> str:
    """Return the token of the run in a store; nothing where there is none."""
    try:
        return (root / TOKEN).read_text(encoding="ascii")
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def fenced(*runs: tuple[Path, str]) -> Iterator[None]:
    """Let files appear in stores only as long as these runs, each a root and its token, continue."""
    reset = _runs.set(runs)
    try:
        admit()
        yield
    finally:
        _runs.reset(reset)


def admit() -> None:
    """Raise OutputLockedError where a run is over."""
    for root, known in _runs.get():
        if token(root) != known:
            raise OutputLockedError(f"{root} is of a later run: what an engine still does for the one before is void")

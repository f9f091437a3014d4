"""Keep what an engine still does for a run that is over from writing into the run that has taken its place.

An engine elsewhere may work on at tasks of a command that was killed, when the next has begun in the same directory with other
options.  Tasks of both write files of the same names.  So a run has a token, which is looked at before each file appears: a
fencing token, but for the microseconds between the look and the rename.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .errors import OutputLockedError, StorageError
from .files import checked_first, place
from .storage import storage_errors

__all__ = ["TOKEN", "Fence", "fence", "not_there"]

TOKEN = "run.sha256"  # in the state of an output directory: the digest of its run.json


class Fence(NamedTuple):
    """Files of tokens, and what they hold as long as the runs go on that this is for."""

    tokens: tuple[tuple[str, str], ...]

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """Let files appear only as long as the runs go on; raise OutputLockedError for the first that comes too late.

        Raise StorageError where there is no run.
        """
        self._check()
        with checked_first(self._check):
            yield

    def _check(self) -> None:
        for path, token in self.tokens:
            found, root = _read(place(path)), place(path).parent.parent
            if not found:
                raise not_there(root)
            if found != token:
                raise OutputLockedError(f"{root} is of a later run: what an engine still does for the one before is void")


def not_there(root: Path) -> StorageError:
    """Return what is raised where `root` is not what the driver sees under this name."""
    return StorageError(
        f"{root} is not there for a worker on {os.uname().nodename}: all workers must see --output and the input under the same "
        "names: give a directory that they share, or the URL of a store"
    )


def fence(*states: Path) -> Fence:
    """Make the fence of the runs whose states these directories are; one that has none yet is not looked at."""
    found = ((str(state / TOKEN), _read(state / TOKEN)) for state in states)
    return Fence(tuple((path, token) for path, token in found if token))


def _read(path: Path) -> str:
    with storage_errors(f"cannot read {path}"):
        try:
            return path.read_text(encoding="ascii")
        except (FileNotFoundError, NotADirectoryError):
            return ""

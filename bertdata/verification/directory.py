"""Compare a dataset's directory with its manifest: missing and unknown files, links, sizes, digests."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dataset.build import REPORT, STATE
from ..dataset.manifest import NAME, check_inside
from ..dataset.manifest_records import File
from ..dataset.manifest_rules import CARD
from ..dataset.manifest_types import Manifest
from ..errors import VerificationError
from ..storage.files import TEMPORARY_PREFIX, is_local, open_file, to_path
from ..storage.storage import storage_errors

__all__ = ["CheckFailed", "compare", "fetched", "require"]

_BUFFER_BYTES = 1 << 20  # read buffer
# In the state directory: files that stay after a run, and folders removed then.
_STATE_FILES = frozenset(("run.json", "run.sha256", "lock", "commit", "job.json", "timings.json"))
_UNFINISHED = re.compile(r"tasks|work|progress|old|new|build-[0-9a-f]{16}")
_FOLDER, _OTHER = -1, -2  # in place of a size: not a regular file


class CheckFailed(Exception):
    """A problem with a file. The caller knows which file."""


def require(holds: npt.NDArray[Any], first: int, what: str) -> None:
    """Raise CheckFailed for the first row that breaks a rule. `first` is the number of the first row."""
    if not holds.all():
        raise CheckFailed(f"row {first + int(np.argmin(holds))} {what}")


def compare(directory: Path, manifest: Manifest) -> tuple[dict[str, str], list[str]]:
    """Compare names and sizes. Return problems by file, and notes on harmless files."""
    with storage_errors(f"cannot read {directory}"):
        sizes = dict(_walk(directory)) if is_local(directory) else _list(directory)
    entries = [*manifest.listed, *([manifest.card] if manifest.card else [])]
    problems = {}
    for entry in entries:
        if problem := _misplaced(directory, entry, sizes):
            problems[entry.name] = problem
    known = {entry.name for entry in entries} | {NAME, CARD, REPORT}
    notes: dict[str, None] = {}
    for name in sorted(sizes.keys() - known):
        if sizes[name] == _FOLDER:
            continue
        folder, *rest = name.split("/")
        left_over = any(part.startswith(TEMPORARY_PREFIX) for part in (folder, *rest))
        if folder != STATE:
            problems[name] = "is left over from a run that was killed" if left_over else "does not belong to this dataset"
        elif left_over or (len(rest) > 1 and _UNFINISHED.fullmatch(rest[0])):
            path = directory / (name if left_over else f"{STATE}/{rest[0]}")
            notes[f"{path} is left over from a run that was killed: it may be removed"] = None
        elif "/".join(rest) not in _STATE_FILES or sizes[name] < 0:
            problems[name] = "does not belong to this dataset"
    return problems, list(notes)


def _misplaced(directory: Path, entry: File, sizes: dict[str, int]) -> str:
    size = sizes.get(entry.name)
    try:
        check_inside(directory, entry.name)
    except VerificationError:
        return "is a link that leads out of the dataset"
    if size is None:
        return "is missing"
    if size < 0:
        return "is not a regular file"
    return "" if size == entry.bytes else f"has {size:,} bytes, but {entry.bytes:,} were written"


def _walk(directory: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and size of everything below a directory. A link has the size of its target and is not followed."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(directory / folder) as entries:
            for entry in entries:
                name = f"{folder}{entry.name}"
                try:
                    status = entry.stat()
                except FileNotFoundError:  # a broken link, or a file that is being removed
                    yield name, _OTHER
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{name}/")
                    yield name, _FOLDER
                else:
                    yield name, status.st_size if stat.S_ISREG(status.st_mode) else _OTHER


def _list(directory: Any) -> dict[str, int]:
    """List the files of a store below a name, in as few requests as possible."""
    root = directory.path.rstrip("/") + "/"
    listing = directory.fs.find(directory.path, detail=True)
    return {path.removeprefix(root): int(info["size"]) for path, info in listing.items() if not path.endswith("/")}


@contextlib.contextmanager
def fetched(directory: str, entry: File) -> Iterator[Path]:
    """Yield the path of a file with verified bytes. A file in a store is copied to this machine first.

    Raise CheckFailed if its bytes are wrong, and StorageError if the disk or the store fails.
    """
    path = to_path(directory) / entry.name
    with contextlib.ExitStack() as stack:
        hashed = hashlib.sha256(usedforsecurity=False)
        copy, here = None, path
        if not is_local(path):
            here = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bertdata-")), path.name)
            copy = stack.enter_context(open(here, "wb"))
        with open_file(path) as file:
            while block := file.read(_BUFFER_BYTES):
                hashed.update(block)
                if copy is not None:
                    copy.write(block)
        if copy is not None:
            copy.flush()
        if hashed.hexdigest() != entry.sha256:
            raise CheckFailed("has changed since it was written (its SHA-256 differs)")
        yield here

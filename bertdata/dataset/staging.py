"""Build a dataset inside its output directory, and move it into place when it is complete.

    corpus/.bertdata/build-1f0c…/    build directory, named after a digest of the run's settings, versions and inputs
    corpus/.bertdata/old/            during a commit: the replaced dataset
    corpus/.bertdata/new/            during a commit: the renamed build. Once it exists, all data in corpus/ comes from it
    corpus/.bertdata/commit          locked during a commit

A build is complete when it has a manifest.  The commit then moves away the old manifest and data, renames build-… to new,
moves out the new data and last the manifest, and removes the old dataset.  So a manifest is never next to data of another
dataset.  The next process that reads or writes the directory finishes an interrupted commit.

A build becomes a trusted dataset, so it is used only if no other user can have written to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BertDataError, OutputExistsError, OutputLockedError, VerificationError
from ..storage.files import PRIVATE_MODE, TEMPORARY_PREFIX, is_local, read_json, sync_directory, write_json
from ..storage.lock import lock, release
from ..storage.moves import remove, remove_temporary
from ..storage.storage import storage_errors
from .differences import FIELDS_WITHOUT_EFFECT

__all__ = [
    "DATA",
    "MANIFEST",
    "REPORT",
    "STATE",
    "begin",
    "build_path",
    "builds",
    "check_own",
    "commit",
    "discard",
    "is_begun",
    "is_complete",
    "own_state",
    "finish_commit",
    "size",
    "steady",
]

STATE, MANIFEST, REPORT = ".bertdata", "manifest.json", "report.html"
DATA = (  # besides the manifest
    *("README.md", "croissant.json", REPORT, "data", "rejects", "dropped"),
    *("vocab.txt", "tokenizer.json", "tokenizer_config.json"),
)
_BUILD, _OLD, _NEW, _RUN = "build-", "old", "new", "run.json"
_COMMIT_WAIT_TENTHS = 600  # in 0.1 s: how long a reader waits for a commit, which is a few renames


def is_complete(directory: Path) -> bool:
    """Return True if the directory has a manifest."""
    return isinstance(read_json(directory / MANIFEST), dict)


def is_begun(root: Path) -> bool:
    """Return True if this is a build directory. False also on a host that does not mount the driver's directory."""
    return not (is_local(root) and root.is_symlink()) and (root / STATE / _RUN).exists()


def begin(directory: Path, identity: dict[str, object]) -> Path:
    """Return the build directory of this identity, created if missing. The run continues with its contents."""
    # The name of a build is a digest of everything its bytes depend on. So the same command finds
    # its unfinished build again, another command gets another directory, and there is no file that
    # says which build is current and could be wrong after a crash.
    build = build_path(directory, identity)
    if not os.path.lexists(build):
        # Create the directory with its run.json under a temporary name, then rename it. A build
        # directory without a record of its run would be unusable.
        temporary = _temporary(build.parent)
        write_json(temporary / STATE / _RUN, identity, PRIVATE_MODE)
        os.rename(temporary, build)
        sync_directory(build.parent)
    check_own(build)
    if foreign := next(_strange(build), None):
        raise _distrusted(foreign, "is a link or special file")
    return build


def build_path(directory: Path, identity: dict[str, Any]) -> Path:
    """Return the path of a build directory on a disk."""
    # Leave out fields that do not change the output: the timestamps of inputs and the shuffle method.
    inputs = sorted(identity.get("inputs", []), key=json.dumps)  # the order of inputs does not matter
    named = {name: value for name, value in identity.items() if name not in FIELDS_WITHOUT_EFFECT}
    text = json.dumps({**named, "inputs": inputs}, sort_keys=True)
    return directory / STATE / f"{_BUILD}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def builds(directory: Path) -> dict[Path, Any]:
    """Return the builds of a directory, and the identity of each, or None if it has none."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        paths = sorted(path for path in (directory / STATE).iterdir() if path.name.startswith(_BUILD))
        return {path: read_json(path / STATE / _RUN) for path in paths}
    return {}


def size(directory: Path) -> int:
    """Return the total bytes below a directory. Links are not followed."""
    files = (os.path.join(parent, name) for parent, _, names in os.walk(directory) for name in names)
    return sum(os.lstat(path).st_size for path in files)


def own_state(directory: Path) -> Path:
    """Return a directory's state, created if missing. Raise OutputExistsError if another user may have created it."""
    state = directory / STATE
    if not os.path.lexists(state):
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            state.mkdir(mode=0o755)
    check_own(state)
    return state


def check_own(path: Path, *owners: int) -> None:
    """Raise OutputExistsError unless this is a directory of the user or of `owners`, in which nobody else may write.

    A new directory is created next to it for comparison, because a file server may choose the owner and mode of new directories.
    """
    # On a shared disk, another user could create corpus/.bertdata before the run, and
    # put files there that look like finished tasks. The run would take them as its own results.
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise _distrusted(path, "is a link or file, not a directory")
    reference = _temporary(path if path.name == STATE else path.parent)
    expected = os.lstat(reference)
    with contextlib.suppress(FileNotFoundError):  # another command, which has the lock, may have removed it
        reference.rmdir()
    if status.st_uid not in (expected.st_uid, *owners):
        raise _distrusted(path, "belongs to another user")
    # Group or world may write here, although new directories are not created like that.
    if status.st_mode & ~expected.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _distrusted(path, "may be written by other users")


def _temporary(state: Path) -> Path:
    """Create a directory that only the user can enter, so that nobody else can write below it."""
    path = state / f"{TEMPORARY_PREFIX}{uuid.uuid4().hex}"
    path.mkdir(mode=0o700)
    return path


def _distrusted(path: Path, why: str) -> OutputExistsError:
    fix = "Check who created it, then remove it, or choose another `output`"
    return OutputExistsError(f"{path} {why}. It was not changed. {fix}")


def _strange(directory: Path) -> Iterator[Path]:
    """Yield entries that bertdata never writes to a build: links and special files."""
    for parent, folders, names in os.walk(directory):
        for name in (*folders, *names):
            mode = os.lstat(path := Path(parent, name)).st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                yield path


def discard(path: Path, *owners: int) -> None:
    """Remove a directory of the state. Rename it first, so that a killed removal leaves no incomplete build."""
    if os.path.lexists(path):
        check_own(path, *owners)
        gone = _temporary(path.parent)
        os.rename(path, gone / path.name)
        remove(gone)


@contextlib.contextmanager
def commit(root: Path) -> Iterator[bool]:
    """Lock the output. Yield True if the manifest must still be written (the block does that), then move the build into place.

    An engine may commit twice, even at the same time: the second commit waits for the first. A build under final names, as in a
    store, needs none of this.
    """
    directory = root.parent.parent
    if not is_local(root) or root.parent.name != STATE:
        yield not is_complete(root)
        return
    with storage_errors(f"cannot put {directory} in place"), _committing(directory):
        # From here on only one process works on the commit. Another engine worker may have finished
        # it while this one waited: then the build is gone, and the dataset in place is this
        # build's.
        # In containers, workers may be root: also accept the owner of the output.
        owners = [] if os.geteuid() else [os.lstat(directory).st_uid]
        if not root.exists() and is_complete(directory):
            identity = read_json(directory / STATE / _RUN)
            if isinstance(identity, dict) and build_path(directory, identity).name == root.name:
                yield False
                return
        yield not is_complete(root)
        _put_in_place(directory, root, *owners)


def finish_commit(directory: Path, *, reading: bool = False) -> None:
    """Finish an interrupted commit, or undo one whose new dataset is lost. Wait for a commit in progress.

    With `reading`, errors are ignored, and the directory is read as it is.
    """
    if not is_local(directory) or not _is_pending(directory):
        return
    with contextlib.suppress(*(BertDataError,) if reading else ()), storage_errors(f"cannot put {directory} in place"):
        check_own(directory / STATE)
        patience = 0 if reading and is_complete(directory) else _COMMIT_WAIT_TENTHS
        with _committing(directory, patience):
            _put_in_place(directory)


def _is_pending(directory: Path) -> bool:
    state = directory / STATE
    return any(map(os.path.lexists, (state / _OLD, state / _NEW))) or _whole_build(directory) is not None


def _whole_build(directory: Path) -> Path | None:
    """Return a complete build whose name matches its contents."""
    for path, identity in builds(directory).items():
        if isinstance(identity, dict) and build_path(directory, identity) == path and is_complete(path):
            return path
    return None


@contextlib.contextmanager
def _committing(directory: Path, patience: float = float("inf")) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lock(directory / STATE / "commit"))
                break
            except OutputLockedError:
                patience -= 1
                if patience < 0:
                    raise
                time.sleep(0.1)
        yield


def _put_in_place(directory: Path, build: Path | None = None, *owners: int) -> None:
    """Finish a commit from any point, with this build or a complete one."""
    state = directory / STATE
    old, new = state / _OLD, state / _NEW
    # A commit can be interrupted between any two renames. What exists shows how far it came:
    #
    #   new/ exists                     the old dataset is in old/; some new files may be in place already
    #   build-… complete, no new/       nothing has been replaced, or some of the old files are in old/
    #   old/ exists, no manifest,       the new dataset is lost, for example on a damaged disk:
    #   no new/, no complete build      put the old one back
    #
    # Each step is a rename, and repeating a finished one has no effect, so recovery runs the same
    # code again from the start.
    for path in (state, old, new, build := build or _whole_build(directory)):
        if path is not None and os.path.lexists(path):
            check_own(path, *owners)
    if os.path.lexists(new):
        _finish(directory, *owners)
    if build is not None:
        with contextlib.suppress(FileExistsError):
            old.mkdir(mode=0o700)
        # The manifest leaves first and arrives last. In between, the directory has no manifest, so
        # no reader takes the mixture of files for a dataset.
        _move(directory, old, (MANIFEST, *DATA))
        os.rename(build, new)
        _finish(directory, *owners)
    elif not os.path.lexists(directory / MANIFEST) and os.path.lexists(old):
        _move(old, directory, (*DATA, MANIFEST))  # the new dataset is lost
    discard(old, *owners)


def _finish(directory: Path, *owners: int) -> None:
    """Move the new data to its final path, where an interrupted commit may have moved some of it already."""
    state = directory / STATE
    new = state / _NEW
    remove_temporary(new)  # left by killed workers, on an engine that continues without them
    _move(new, directory, DATA)
    _move(new / STATE, state, (_RUN,))
    _move(new, directory, (MANIFEST,))
    release(state)
    # The new manifest is in place: the old dataset is not needed any more.
    discard(state / _OLD, *owners)
    discard(new, *owners)


def _move(source: Path, target: Path, names: tuple[str, ...]) -> None:
    """Move those of `names` that exist, and sync them to disk."""
    for name in names:
        if os.path.lexists(source / name):
            os.rename(source / name, target / name)
    sync_directory(source)
    sync_directory(target)


@contextlib.contextmanager
def steady(*directories: Path) -> Iterator[None]:
    """Raise VerificationError if a dataset is replaced while the block opens its files, which would mix old and new ones."""

    def look() -> list[Any]:
        # The inode and time of a manifest change with each commit, because a commit renames a new
        # file into place.
        stats = []
        for path in (directory / MANIFEST for directory in directories if is_local(directory)):
            with contextlib.suppress(OSError):
                status = path.stat()
                stats.append((str(path), status.st_ino, status.st_mtime_ns, status.st_size))
        return stats

    for directory in directories:
        finish_commit(directory, reading=True)
    before = look()
    try:
        yield
    finally:
        if before != look():
            raise VerificationError(f"{directories[0]} was replaced while it was read: read it again")

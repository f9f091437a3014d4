"""Build a dataset inside its output directory, and move it into place when it is complete.

    corpus/.bertdata/lock            locked while a command writes here
    corpus/.bertdata/commit          locked while a build is moved into place: an engine may commit twice at the same time
    corpus/.bertdata/run.json        what the dataset was made from: command, options, inputs, versions
    corpus/.bertdata/build-1f0c…/    a run, named after a digest of that: the same layout, records of finished tasks, work files
    corpus/manifest.json             moved last: the dataset is complete

A build is complete when it has a manifest. Only then is an old dataset removed, its manifest first. Everything of the build is
then renamed, its manifest last. So a manifest is never next to data of another dataset, and one of the two datasets is always
complete on this disk. The next command finishes an interrupted commit: repeating its steps has no further effect. Between the
first and the last rename, which takes milliseconds, readers find no dataset. If a process is killed there, run the same command
again.

A store cannot rename directories. There, a run builds in the output directory under final names, after removing an old dataset.
Each command writes a new token to ``.bertdata/run.sha256``. A job compares the token once, before it writes the manifest, so an
older command that is still running does not finish. Its last files may arrive late: `verify` finds them by their digests.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import EmptyResultError, OutputExistsError, ResumeError, TooManyRejectsError, few
from ..storage.files import PRIVATE_MODE, TEMPORARY_PREFIX, is_local, read_json, sync_directory, write_json, write_text
from ..storage.lock import lock
from ..storage.moves import remove, remove_temporary
from ..storage.problems import storage_errors
from .differences import FIELDS_WITHOUT_EFFECT, differences

STATE, MANIFEST, REPORT, RUN = ".bertdata", "manifest.json", "report.html", "run.json"
DATA = ("README.md", REPORT, "data", "rejects", "dropped", "vocab.txt", "tokenizer.json", "tokenizer_config.json")
REPLACING = f"{STATE}/replacing"  # in a build with `overwrite`: read changed inputs again instead of raising ResumeError
_REFUSED = f"{STATE}/refused"  # in a build with too many rejects: the next run may have other inputs
_TOKEN = f"{STATE}/run.sha256"  # in a store: names the newest command
_CLEARED = f"{STATE}/cleared"  # in a build: the old dataset is removed, and the moves have begun
_ADVICE = "replace it with `overwrite`, or choose another `output`"


def is_complete(directory: Path) -> bool:
    """Return True if the directory has a manifest."""
    return (directory / MANIFEST).is_file()


def builds(directory: Path) -> dict[Path, Any]:
    """Return the builds of a directory, and the identity of each, or None if it has none. In a store, the directory is one."""
    if is_local(directory):
        return {path: read_json(path / STATE / RUN) for path in sorted((directory / STATE).glob("build-*"))}
    path = directory / STATE / RUN
    return {directory: read_json(path)} if path.exists() and not is_complete(directory) else {}


def build_path(directory: Path, identity: dict[str, Any]) -> Path:
    """Return the path of a build on a disk. Inputs may be in any order."""
    # A digest of all that the bytes depend on: the same command finds its build again, and no file says which one is current.
    named = {name: value for name, value in identity.items() if name not in FIELDS_WITHOUT_EFFECT}
    text = json.dumps({**named, "inputs": sorted(identity.get("inputs", []), key=json.dumps)}, sort_keys=True)
    return directory / STATE / f"build-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def unfinished(directory: Path, identity: dict[str, Any]) -> Path | None:
    """Return the build that a run of this identity would continue, with the same versions, or None."""
    root = build_path(directory, identity) if is_local(directory) else directory
    stored = builds(directory).get(root)
    return root if isinstance(stored, dict) and not differences(stored, identity) else None


def token(root: Path) -> str:
    """Return the token of the newest command that writes to a store, or an empty string on a disk."""
    return "" if is_local(root) else str(read_json(root / _TOKEN) or "")


@contextlib.contextmanager
def building(directory: Path, identity: dict[str, Any], *, overwrite: bool = False) -> Iterator[Path | None]:
    """Lock the output, and yield the directory to build in, with the finished tasks of an earlier run, or None if it is complete.

    The job commits the build. When the block ends, a complete build that is not in place yet is moved there.

    Raises:
        OutputExistsError: The directory contains other files or another dataset, or belongs to another user.
        ResumeError: An unfinished run has other settings or inputs. The message lists the differences.
        OutputLockedError: Another command is writing.
    """
    with storage_errors(f"cannot write to {directory}"), contextlib.ExitStack() as stack:
        local = is_local(directory)
        directory = Path(os.path.realpath(directory)) if local else directory  # workers may have another current directory
        _refuse_foreign(directory)
        if local:
            (directory / STATE).mkdir(parents=True, exist_ok=True)
            _require_own(directory / STATE, directory.stat().st_uid)
            stack.enter_context(lock(directory / STATE / "lock"))
        _settle(directory)
        remove_temporary(directory)
        if is_complete(directory) and not overwrite:
            _require_same(directory, identity)
            yield None
            return
        _refuse_unfinished(directory, identity, overwrite)
        root = build_path(directory, identity) if local else directory
        _begin(root, identity, overwrite)
        try:
            yield root
        except BaseException as error:
            # After EmptyResultError the user has to change options, and the identity with them, so no later run can reuse these
            # tasks. After TooManyRejectsError it can: `max_rejects` is not part of the identity.
            empty = isinstance(error, EmptyResultError) and not isinstance(error, TooManyRejectsError)
            if local and (empty or not (root / STATE / "tasks").exists()):
                _discard(root)
            elif isinstance(error, TooManyRejectsError):
                write_text(root / _REFUSED, "", PRIVATE_MODE)
            raise
        if local and is_complete(root):
            with committing(root):
                put_in_place(root)


def _refuse_foreign(directory: Path) -> None:
    """Raise OutputExistsError if the output path is a file, or a directory with files that bertdata did not write."""
    if directory.is_file():
        raise OutputExistsError(f"{directory} is a file: choose another `output`")
    names = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
    if foreign := [name for name in names if name not in (STATE, MANIFEST, *DATA) and not name.startswith(TEMPORARY_PREFIX)]:
        raise OutputExistsError(
            f"{directory} contains files that bertdata did not write ({foreign[0]}, …): choose another `output`"
        )
    if names and not (directory / STATE).is_dir() and MANIFEST not in names:
        raise OutputExistsError(f"{directory} contains files that are not a bertdata dataset: choose another `output`")


def _require_own(path: Path, owner: int) -> None:
    """Raise OutputExistsError unless this is a directory of this user or of `owner`.

    On a shared disk, another user could create a state directory with files that look like finished tasks.
    """
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (os.geteuid(), owner):
        fix = "Check who created it, then remove it, or choose another `output`"
        raise OutputExistsError(f"{path} is a link or file, or belongs to another user. It was not changed. {fix}")


def _settle(directory: Path) -> None:
    """Finish an interrupted commit, and remove builds that nothing can continue."""
    local = is_local(directory)
    if not local and is_complete(directory):
        clean_up(directory)  # a run may have been killed after it wrote the manifest
    for build, stored in builds(directory).items() if local else ():
        if is_complete(build):
            with committing(build):
                put_in_place(build)
        elif stored is None or (build / _CLEARED).exists():  # a late worker has made it, or all of it was moved
            _discard(build)


def _refuse_unfinished(directory: Path, identity: dict[str, Any], overwrite: bool) -> None:
    """Raise ResumeError for an unfinished run with another identity, or remove it with `overwrite` or if it was refused."""
    local = is_local(directory)
    for build, stored in builds(directory).items():
        if not (changes := differences(stored, identity)):
            continue
        if not overwrite and not (build / _REFUSED).exists():
            detail = f" ({left / 1e6:,.1f} MB)" if local and (left := size(build)) >= 50_000 else ""
            raise ResumeError(
                f"{build}{detail} is an unfinished run with other settings or inputs ({few(changes, 5, '; ')}). Use the old "
                "ones, or start again with `overwrite`, which removes it"
            )
        (_discard if local else _clear_store)(build)


def _require_same(directory: Path, identity: dict[str, Any]) -> None:
    """Raise OutputExistsError if the directory contains another dataset. Versions are not compared."""
    stored = read_json(directory / STATE / RUN)
    if stored is None:
        raise OutputExistsError(f"{directory} contains a finished dataset, but its run.json is missing: {_ADVICE}")
    if changes := differences({**stored, "versions": None}, {**identity, "versions": None}):
        raise OutputExistsError(
            f"{directory} contains a finished dataset with other settings or inputs ({few(changes, 5, '; ')}): {_ADVICE}"
        )


def _begin(root: Path, identity: dict[str, Any], overwrite: bool) -> None:
    """Start or continue a build."""
    if is_local(root):
        directory = root.parent.parent
        if not overwrite and any(os.path.lexists(directory / name) for name in (MANIFEST, *DATA)):
            raise OutputExistsError(f"{directory} contains data without a complete manifest: {_ADVICE}")
    else:
        if is_complete(root):
            _clear_store(root)
        write_json(root / _TOKEN, uuid.uuid4().hex, PRIVATE_MODE)
    write_json(root / STATE / RUN, identity, PRIVATE_MODE)
    if overwrite or (root / _REFUSED).exists():
        # This file shows the workers, which may run on other machines, to accept inputs that have changed.
        write_text(root / REPLACING, "")
    else:
        remove(root / REPLACING)


def _clear_store(directory: Path) -> None:
    """Remove a dataset or an unfinished run from a store: the manifest first, so that readers find no dataset."""
    for name in (MANIFEST, *DATA, f"{STATE}/tasks", f"{STATE}/work", _REFUSED):
        remove(directory / name)


def _discard(build: Path) -> None:
    """Remove a build. Rename it first, so that a removal that is killed leaves nothing that looks like a run."""
    if os.path.lexists(build):
        os.rename(build, gone := build.with_name(f"{TEMPORARY_PREFIX}{build.name}-{uuid.uuid4().hex}"))
        remove(gone)


def committing(root: Path) -> contextlib.AbstractContextManager[None]:
    """Lock the commit of a build. An engine may commit twice, even at the same time: the second one waits for the first."""
    return lock(root.parent / "commit", wait=True) if is_local(root) else contextlib.nullcontext()


def is_in_place(root: Path) -> bool:
    """Return True if an earlier commit has moved this build into place."""
    if not is_local(root):
        return is_complete(root)
    directory = root.parent.parent
    identity = read_json(directory / STATE / RUN)
    return not root.exists() and isinstance(identity, dict) and build_path(directory, identity) == root and is_complete(directory)


def put_in_place(build: Path) -> None:
    """Move a complete build into place, while holding its lock `committing`. Do nothing if it was moved already."""
    if not is_local(build):
        clean_up(build)
        return
    directory, state = build.parent.parent, build.parent
    if not is_complete(build):
        return
    # A process may be killed before any of these steps. The next command repeats them from the start: without the marker, the new
    # build is complete, and the rest of the old dataset is removed. With it, all data in the directory comes from this build.
    if not (build / _CLEARED).exists():
        remove_temporary(build)  # of killed workers, on an engine that continues without them
        for name in (MANIFEST, *DATA):  # the old manifest goes first
            remove(directory / name)
        write_text(build / _CLEARED, "", PRIVATE_MODE)
    for name in DATA:
        if os.path.lexists(build / name):
            os.rename(build / name, directory / name)
    write_json(state / RUN, read_json(build / STATE / RUN), PRIVATE_MODE)
    sync_directory(directory)
    os.rename(build / MANIFEST, directory / MANIFEST)  # the new manifest comes last
    sync_directory(directory)
    _discard(build)


def clean_up(directory: Path) -> None:
    """Remove the files of a run in a store that are not needed after its commit."""
    for name in (f"{STATE}/tasks", f"{STATE}/work", REPLACING, _REFUSED):
        with contextlib.suppress(OSError):  # an engine may commit twice at the same time
            remove(directory / name)


@contextlib.contextmanager
def work_directory(root: Path) -> Iterator[Path]:
    """Yield the directory of a local run's work files: its build, or a temporary directory if the output is in a store."""
    if is_local(root):
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="bertdata-") as path:
        yield Path(path)


def is_done(directory: Path, expected: dict[str, Any]) -> bool:
    """Return True if the directory contains a finished dataset whose identity includes the `expected` fields."""
    return finished(directory, {name: value for name, value in expected.items() if name not in FIELDS_WITHOUT_EFFECT}) is not None


def finished(directory: Path, expected: dict[str, Any]) -> dict[str, Any] | None:
    """Return the identity of a finished dataset, or None if `expected` fields differ. Versions are not compared."""
    stored = read_json(directory / STATE / RUN)
    if not isinstance(stored, dict) or any(stored.get(name) != value for name, value in expected.items() if name != "versions"):
        return None
    return stored if is_complete(directory) else None


def size(directory: Path) -> int:
    """Return the total bytes below a directory. Links are not followed."""
    files = (os.path.join(parent, name) for parent, _, names in os.walk(directory) for name in names)
    return sum(os.lstat(path).st_size for path in files)

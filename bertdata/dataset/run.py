"""Begin, continue or replace the run that writes an output directory, from its lock to its manifest, or refuse to.

    corpus/.bertdata/lock            held while a run writes here
    corpus/.bertdata/job.json        the same for a job that an engine runs elsewhere, which continues without its command
    corpus/.bertdata/run.json        what the dataset is: command, options, inputs, versions
    corpus/.bertdata/build-1f0c…/    where another one is built: staging.py
    corpus/manifest.json             last of all: the dataset is whole

Where a run builds, `.bertdata` holds its run.json, ``tasks/STEP/…``, a record for each finished task with its files and their
digests, and ``work/``, files that go from step to step.  A store renames no directory: there a run builds in the directory
itself, under final names, and one that replaces a dataset removes its manifest first, and then the rest of it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import EmptyResultError, OutputExistsError, ResumeError, StorageError, TooManyRejectsError
from ..io.fence import TOKEN, is_fenced
from ..io.files import PRIVATE, TEMPORARY, digest, is_local, read_json, write_json, write_text
from ..io.lock import holder, lock, refuse_reserved, release
from ..io.moves import remove, remove_temporary
from ..io.process import release_memory
from ..io.progress import NO_CONTEXT, TaskContext
from ..io.storage import storage_errors
from .differences import NO_BYTES, differences, first_few, in_terms_of
from .reports import record_path
from .staging import DATA, MANIFEST, STATE, begin, builds, discard, is_begun, is_complete, own_state, recover, size

__all__ = [
    "STATE",
    "check_begun",
    "clean_up",
    "count_done",
    "finished",
    "is_complete",
    "is_done",
    "leftovers",
    "building",
    "perform",
    "unfinished",
]

_OURS = {*DATA, MANIFEST, STATE}

_REPLACING = "replacing"  # in the state of a run with `overwrite`: inputs that have changed since are read again
_REPLACE = "replace it with `overwrite`, or choose another `output`"


@contextlib.contextmanager
def building(directory: Path, identity: dict[str, Any], *, overwrite: bool = False) -> Iterator[Path]:
    """Lock the directory and yield where to build, with the finished tasks of an earlier run; commit when the block ends well.

    Where this dataset is whole already, and is not to be replaced, it is the directory itself.  Raise OutputExistsError for one
    that holds something else, ResumeError naming the difference to an unfinished run, OutputLockedError for one that another run
    is writing.
    """
    with storage_errors(f"cannot use {directory}"), contextlib.ExitStack() as stack:
        local = is_local(directory)
        directory = Path(os.path.realpath(directory)) if local else directory  # workers may have other current directories
        _refuse_foreign(directory)
        state = own_state(directory) if local else directory / STATE
        stack.enter_context(lock(state / "lock"))
        recover(directory)
        if is_complete(directory) and not local:
            clean_up(directory)  # killed between its manifest and this
        refuse_reserved(state)
        remove_temporary(directory)
        if not overwrite and _is_done(directory, identity):
            yield directory
            return
        root = (_on_disk if local else _in_store)(directory, identity, overwrite)
        del identity  # it may name 100,000 inputs
        if overwrite:
            write_text(root / STATE / _REPLACING, "")
        else:
            remove(root / STATE / _REPLACING)
        try:
            yield root
        except BaseException as error:
            # An empty result is of no use to a run of other options, but for a larger share of rejects.
            empty = isinstance(error, EmptyResultError) and not isinstance(error, TooManyRejectsError)
            if local and (empty or not (root / STATE / "tasks").exists()) and holder(state) is None:
                discard(root)
            raise
        recover(directory)


def _refuse_foreign(directory: Path) -> None:
    """Refuse a file in the directory's place, and a directory with files that are not bertdata's."""
    if directory.exists() and not directory.is_dir():
        raise OutputExistsError(f"{directory} is a file: choose another `output`")
    if not directory.is_dir():
        return
    with storage_errors(f"cannot read {directory}"):
        names = sorted(entry.name for entry in directory.iterdir())
        _refuse_links(directory)
    strange = [name for name in names if name not in _OURS and not name.startswith(TEMPORARY)]
    if strange:
        raise OutputExistsError(f"{directory} holds files that bertdata did not write ({strange[0]}, …): choose another `output`")
    if names and not (directory / STATE).is_dir() and not (directory / MANIFEST).exists():
        raise OutputExistsError(f"{directory} holds something that is no dataset of bertdata: choose another `output`")


def _refuse_links(directory: Path) -> None:
    """Refuse a directory with a link to another, through which a run would write elsewhere; `own_state` checks the state."""
    for path in directory.iterdir() if is_local(directory) else ():
        if path.name != STATE and path.is_symlink() and path.is_dir():
            raise OutputExistsError(f"{path} is a link to another directory: remove it, or choose another `output`")


def is_done(directory: Path, part: dict[str, Any]) -> bool:
    """Return True if the directory holds a finished dataset whose identity has this part."""
    return finished(directory, {name: value for name, value in part.items() if name not in NO_BYTES}) is not None


def finished(directory: Path, part: dict[str, Any]) -> dict[str, Any] | None:
    """Return the record of the finished dataset in a directory, or None if the record does not have this part.

    Versions are not compared: what another version finished is complete.
    """
    known = read_json(directory / STATE / "run.json")
    if not isinstance(known, dict) or {**known, **in_terms_of(known, part)} != known:
        return None
    return known if is_complete(directory) else None


def _runs(directory: Path, identity: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield where unfinished runs of this identity build, and their records; of a store the run, if it is finished too.

    What the identity does not name is not compared; ``given``, which is no part of what is built, is where it names that.
    """
    roots = builds(directory) if is_local(directory) else {directory: read_json(directory / STATE / "run.json")}
    for root, known in roots.items():
        if not isinstance(known, dict):
            continue
        part = {**known, **identity}
        if not differences(known, part) and part.get("given") == known.get("given"):
            yield root, known


def unfinished(directory: Path, identity: dict[str, Any]) -> dict[str, int]:
    """Return how many tasks of each step an unfinished run of this identity has done, which the same command keeps."""
    for root, _ in _runs(directory, identity):
        with contextlib.suppress(OSError):
            steps = sorted(path.name for path in (root / STATE / "tasks").iterdir())
            return {step: count_done(root, step) for step in steps}
    return {}


def _is_done(directory: Path, identity: dict[str, Any]) -> bool:
    """Return True if the directory holds this dataset; raise OutputExistsError where it holds another one."""
    if not is_complete(directory):
        return False
    known = read_json(directory / STATE / "run.json")
    if known is None:
        raise OutputExistsError(f"{directory} holds a finished dataset, and nothing that tells how it was made: {_REPLACE}")
    if changes := differences(known, in_terms_of(known, identity)):
        raise OutputExistsError(
            f"{directory} holds a finished dataset of other settings or inputs; what differs: {first_few(changes)}: {_REPLACE}"
        )
    return True


def _on_disk(directory: Path, identity: dict[str, Any], overwrite: bool) -> Path:
    """Begin in a directory of its own, or continue there, alone."""
    if not overwrite and any(os.path.lexists(directory / name) for name in (MANIFEST, *DATA)) and not is_complete(directory):
        raise OutputExistsError(f"{directory} holds data without a whole manifest: {_REPLACE}")
    for build, known in builds(directory).items():
        if known is None or (overwrite and differences(known, identity)):
            discard(build)  # None: by a worker that came too late
        else:
            _refuse_other(build, known, identity, f" ({size(build) / 1e6:,.1f} MB)")
    return begin(directory, identity)


def _refuse_other(root: Path, known: Any, identity: dict[str, Any], detail: str = "") -> None:
    if changes := differences(known, identity):
        raise ResumeError(
            f"{root}{detail} is an unfinished run with other settings or inputs; what differs: {first_few(changes)}: give "
            "the old ones, or start again with `overwrite`, which removes it"
        )


def _in_store(directory: Path, identity: dict[str, Any], overwrite: bool) -> Path:
    """Bring the directory to the state of an unfinished run of this identity."""
    run = directory / STATE / "run.json"
    known = read_json(run)
    if known is not None and not overwrite:
        _refuse_other(directory, known, identity)
    if is_complete(directory) or (known is not None and differences(known, identity)):
        remove(directory / TOKEN)  # first of all: what an engine may still do for the old run comes too late
        remove(directory / MANIFEST)  # what is left is no dataset
        for entry in [*directory.iterdir(), directory / STATE / "tasks", directory / STATE / "work"]:
            if entry.name != STATE:
                remove(entry)
    write_json(run, identity, PRIVATE)
    write_text(directory / TOKEN, digest(run), PRIVATE)
    return directory


def leftovers(directory: Path) -> dict[str, int]:
    """Return what unfinished runs have left beside a finished dataset, with their bytes."""
    return {str(build): size(build) for build in (builds(directory) if is_local(directory) else ())}


def clean_up(directory: Path) -> None:
    """Remove what only an unfinished run needs, where it is no directory of its own."""
    for name in ("tasks", "work", _REPLACING):
        with contextlib.suppress(OSError):  # an engine may commit twice at a time
            remove(directory / STATE / name)
    with contextlib.suppress(OSError):
        release(directory / STATE)


def count_done(directory: Path, step: str) -> int:
    """Count the finished tasks of a step."""
    records = directory / STATE / "tasks" / step
    try:
        names = os.listdir(records) if isinstance(records, Path) else (path.name for path in records.iterdir())
        return sum(not name.startswith(".") for name in names)
    except (FileNotFoundError, NotADirectoryError):
        return 0


@storage_errors()
def perform(
    root: Path,
    step: str,
    index: int,
    task: Any,
    work: Callable[[], dict[str, Any]],
    paths: Mapping[str, str] | None = None,
    context: TaskContext = NO_CONTEXT,
) -> dict[str, Any]:
    """Do a task, or return what it reported when it was done before and its files are as it left them.

    `work` returns a report whose ``files`` are names below `root` with their SHA-256, and whose ``inputs``, where there are any,
    are ``{"name", "start", "end", "sha256"}``; `paths` tells where they are now, by name.
    Raise ResumeError when an input has changed since the run was begun, unless with `overwrite`, StorageError where `root` is not
    what the driver sees under this name.
    """
    path = record_path(root, step, index)
    record = read_json(path)
    if record is not None and record["task"] == task and _files_stand(root, record["report"]["files"]):
        report: dict[str, Any] = record["report"]
        changed = _changed(report.get("inputs", []), paths or {})
        if not changed:
            return report
        if not (root / STATE / _REPLACING).exists():
            raise ResumeError(f"{changed} has changed since this run was begun: start again with `overwrite`")
    if not is_fenced(root):  # whose token was read
        check_begun(root)
    with context.working(step, index):
        report = work()
        release_memory()
        write_json(path, {"task": task, "report": report}, PRIVATE)
    return report


def _changed(inputs: list[dict[str, Any]], paths: Mapping[str, str]) -> str:
    """Return the first input that is not what it was when it was read; nothing where all are."""
    for entry in inputs:
        path = str(paths.get(entry.get("name", ""), entry["path"]))
        with storage_errors(f"cannot read {path} again"):
            if digest(path, entry["start"], entry["end"]) != entry["sha256"]:
                return path
    return ""


def check_begun(root: Path) -> None:
    """Raise StorageError where `root` is not what the driver sees under this name."""
    if not is_begun(root):
        raise StorageError(
            f"{root}: not found. All workers must see the input and `output` under the same names: use a shared directory or a "
            "store"
        )


def _files_stand(root: Path, files: list[dict[str, Any]]) -> bool:
    return all((root / file["name"]).is_file() and digest(root / file["name"]) == file["sha256"] for file in files)

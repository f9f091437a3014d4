"""Start, resume or replace the run that writes an output directory, from its lock to its manifest.

    corpus/.bertdata/lock            held while a run writes here; in a store, run.sha256 names the newest command (see fence.py)
    corpus/.bertdata/job.json        the lock of a job that an engine runs remotely, which continues without its command
    corpus/.bertdata/run.json        identity of the dataset: command, options, inputs, versions
    corpus/.bertdata/build-1f0c…/    build directory of a new dataset (see staging.py)
    corpus/manifest.json             written last: the dataset is complete

In the build directory, `.bertdata` contains run.json, ``tasks/STEP/…``, a record of each finished task with its files and their
digests, and ``work/``, the files passed between steps.  A store cannot rename directories: there, a run builds in the output
directory under final names. If it replaces a dataset, it first removes the manifest, then the other files.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..codec import decode, encode
from ..errors import EmptyResultError, OutputExistsError, ResumeError, StorageError, TooManyRejectsError
from ..storage.fence import TOKEN_FILE, fenced, is_fenced
from ..storage.files import PRIVATE_MODE, TEMPORARY_PREFIX, digest, is_local, read_json, write_json, write_text
from ..storage.lock import holder, lock, refuse_reserved, release
from ..storage.moves import remove, remove_temporary
from ..storage.process import release_memory
from ..storage.progress import NO_CONTEXT, TaskContext, Work
from ..storage.storage import storage_errors
from .differences import NO_BYTES, differences, first_few, in_terms_of
from .manifest_records import File
from .reports import InputRange, TaskReport, record_path
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

R = TypeVar("R", bound=TaskReport)
_OWN_ENTRIES = {*DATA, MANIFEST, STATE}

_REPLACING = "replacing"  # state of a run with `overwrite`: inputs that have changed since are read again
_REPLACE_ADVICE = "replace it with `overwrite`, or choose another `output`"


@contextlib.contextmanager
def building(directory: Path, identity: dict[str, object], *, overwrite: bool = False) -> Iterator[Path]:
    """Lock the directory and yield the build directory, with the finished tasks of an earlier run. Commit when the block
    succeeds. A store has no lock: there, this run replaces one that is still at work.

    If this dataset is already complete and is not to be replaced, yield the directory itself. Raise OutputExistsError if the
    directory contains something else, ResumeError with the difference to an unfinished run, and OutputLockedError if another run
    is writing.
    """
    with storage_errors(f"cannot use {directory}"), contextlib.ExitStack() as stack:
        local = is_local(directory)
        directory = Path(os.path.realpath(directory)) if local else directory  # workers may have another current directory
        _refuse_foreign(directory)
        state = own_state(directory) if local else directory / STATE
        if local:
            # The order matters: lock, finish an interrupted commit, then look whether the result is
            # there.
            stack.enter_context(lock(state / "lock"))
        recover(directory)
        if is_complete(directory) and not local:
            clean_up(directory)  # a run may have been killed after it wrote the manifest
        refuse_reserved(state)
        remove_temporary(directory)
        # The same command on a finished dataset does nothing.
        if not overwrite and _is_done(directory, identity):
            yield directory
            return
        root = directory if not local else _on_disk(directory, identity, overwrite)
        if not local:
            stack.enter_context(fenced((root, _in_store(root, identity, overwrite))))
        del identity  # frees memory: it may name 100,000 inputs
        # A note for the workers, which may be other processes on other machines: inputs may have
        # changed.
        if overwrite:
            write_text(root / STATE / _REPLACING, "")
        else:
            remove(root / STATE / _REPLACING)
        try:
            yield root
        except BaseException as error:
            # An empty result does not help a run with other options, except for a larger share of rejects.
            empty = isinstance(error, EmptyResultError) and not isinstance(error, TooManyRejectsError)
            # Nothing worth resuming: remove the build, unless a job on an engine may still be
            # writing to it.
            if local and (empty or not (root / STATE / "tasks").exists()) and holder(state) is None:
                discard(root)
            raise
        recover(directory)


def _refuse_foreign(directory: Path) -> None:
    """Raise an error if the output path is a file, or a directory with foreign files."""
    if directory.exists() and not directory.is_dir():
        raise OutputExistsError(f"{directory} is a file: choose another `output`")
    if not directory.is_dir():
        return
    with storage_errors(f"cannot read {directory}"):
        names = sorted(entry.name for entry in directory.iterdir())
        _refuse_links(directory)
    foreign = [name for name in names if name not in _OWN_ENTRIES and not name.startswith(TEMPORARY_PREFIX)]
    if foreign:
        raise OutputExistsError(f"{directory} holds files that bertdata did not write ({foreign[0]}, …): choose another `output`")
    if names and not (directory / STATE).is_dir() and not (directory / MANIFEST).exists():
        raise OutputExistsError(f"{directory} contains files that are not a bertdata dataset: choose another `output`")


def _refuse_links(directory: Path) -> None:
    """Raise an error if the directory contains a link through which a run would write elsewhere. `own_state` checks the state."""
    for path in directory.iterdir() if is_local(directory) else ():
        if path.name != STATE and path.is_symlink() and path.is_dir():
            raise OutputExistsError(f"{path} is a link to another directory: remove it, or choose another `output`")


def is_done(directory: Path, part: dict[str, object]) -> bool:
    """Return True if the directory contains a finished dataset whose identity includes `part`."""
    return finished(directory, {name: value for name, value in part.items() if name not in NO_BYTES}) is not None


def finished(directory: Path, part: dict[str, object]) -> dict[str, Any] | None:
    """Return the record of the finished dataset in a directory, or None if it does not include `part`.

    Versions are not compared: a dataset finished by another version is complete.
    """
    # `in_terms_of` translates the identity to the version that wrote the record.
    known = read_json(directory / STATE / "run.json")
    if not isinstance(known, dict) or {**known, **in_terms_of(known, part)} != known:
        return None
    return known if is_complete(directory) else None


def _runs(directory: Path, identity: dict[str, object]) -> Iterator[tuple[Path, dict[str, object]]]:
    """Yield the build directory and record of each unfinished run of this identity. In a store, also a finished run.

    Fields missing from the identity are not compared. ``given``, which does not affect the dataset, is compared if the identity
    has it.
    """
    roots = builds(directory) if is_local(directory) else {directory: read_json(directory / STATE / "run.json")}
    for root, known in roots.items():
        if not isinstance(known, dict):
            continue
        part = {**known, **identity}
        if not differences(known, part) and part.get("given") == known.get("given"):
            yield root, known


def unfinished(directory: Path, identity: dict[str, object]) -> dict[str, int]:
    """Return the number of finished tasks per step of an unfinished run of this identity, which the same command reuses."""
    for root, _ in _runs(directory, identity):
        with contextlib.suppress(OSError):
            steps = sorted(path.name for path in (root / STATE / "tasks").iterdir())
            return {step: count_done(root, step) for step in steps}
    return {}


def _is_done(directory: Path, identity: dict[str, object]) -> bool:
    """Return True if the directory contains this dataset. Raise OutputExistsError if it contains another one."""
    if not is_complete(directory):
        return False
    known = read_json(directory / STATE / "run.json")
    if known is None:
        raise OutputExistsError(f"{directory} holds a finished dataset without a record of how it was made: {_REPLACE_ADVICE}")
    if changes := differences(known, in_terms_of(known, identity)):
        raise OutputExistsError(
            f"{directory} holds a finished dataset of other settings or inputs; what differs: {first_few(changes)}: "
            f"{_REPLACE_ADVICE}"
        )
    return True


def _on_disk(directory: Path, identity: dict[str, object], overwrite: bool) -> Path:
    """Start or resume a build in a separate directory."""
    if not overwrite and any(os.path.lexists(directory / name) for name in (MANIFEST, *DATA)) and not is_complete(directory):
        raise OutputExistsError(f"{directory} holds data without a whole manifest: {_REPLACE_ADVICE}")
    # There can be a build of another command. Its finished tasks may have taken hours, so it is not
    # removed silently: the user decides, with `overwrite`.
    for build, known in builds(directory).items():
        if known is None or (overwrite and differences(known, identity)):
            discard(build)  # None: written by a worker that came too late
        else:
            _refuse_other(build, known, identity, f" ({size(build) / 1e6:,.1f} MB)")
    return begin(directory, identity)


def _refuse_other(root: Path, known: Any, identity: dict[str, object], detail: str = "") -> None:
    if changes := differences(known, identity):
        raise ResumeError(
            f"{root}{detail} is an unfinished run with other settings or inputs; what differs: {first_few(changes)}: use "
            "the old ones, or start again with `overwrite`, which removes it"
        )


def _in_store(directory: Path, identity: dict[str, object], overwrite: bool) -> str:
    """Prepare the directory to build in place, keeping an unfinished run of this identity. Return this command's token."""
    run = directory / STATE / "run.json"
    known = read_json(run)
    if known is not None and not overwrite:
        _refuse_other(directory, known, identity)
    # No directory can be renamed in a store, so the old dataset is removed before the new one is
    # written. The token goes first (its writers stop), then the manifest (it stops being a
    # dataset), then the files.
    if is_complete(directory) or (known is not None and differences(known, identity)):
        remove(directory / TOKEN_FILE)  # first, so that late writes of the old run are ignored
        remove(directory / MANIFEST)  # the remaining files are not a dataset
        for entry in [*directory.iterdir(), directory / STATE / "tasks", directory / STATE / "work"]:
            if entry.name != STATE:
                remove(entry)
    write_json(run, identity, PRIVATE_MODE)
    own = f"{digest(run)} {uuid.uuid4().hex}"
    write_text(directory / TOKEN_FILE, own, PRIVATE_MODE)
    return own


def leftovers(directory: Path) -> dict[str, int]:
    """Return the files and sizes that unfinished runs have left next to a finished dataset."""
    return {str(build): size(build) for build in (builds(directory) if is_local(directory) else ())}


def clean_up(directory: Path) -> None:
    """Remove the files that only an unfinished run needs, if it builds in place."""
    for name in ("tasks", "work", _REPLACING):
        with contextlib.suppress(OSError):  # an engine may commit twice at the same time
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
    work: Callable[[Work], R],
    kind: type[R],
    paths: Mapping[str, str] | None = None,
    context: TaskContext = NO_CONTEXT,
) -> R:
    """Run a task, or return its report of this `kind` from an earlier run if its files are unchanged.

    `paths` maps the names of the report's inputs to their current paths. None skips the check of inputs.
    Raise ResumeError if an input has changed since the run began, unless `overwrite` is set. Raise StorageError if `root` is not
    the driver's directory of this name.
    """
    # The heart of resuming. A task is a function of its description and its inputs. If a record of
    # the same task exists, and its output files still have the recorded digests, its report is
    # reused. The order of writing makes this safe: first the files, then the record. A crash in
    # between leaves files without a record, and the task runs again and writes the same bytes.
    path = record_path(root, step, index)
    record = read_json(path)
    if record is not None and record["task"] == task:
        report = decode(record["report"], kind)
        if _files_stand(root, report.files):
            # The output is intact. Is the input still the one it was made from? Compare the bytes,
            # because a copied or downloaded file gets another time.
            changed = "" if paths is None else _changed(report.inputs, paths)
            if not changed:
                return report
            if not (root / STATE / _REPLACING).exists():
                raise ResumeError(f"{changed} has changed since this run was begun: start again with `overwrite`")
    if not is_fenced(root):  # whose token was read
        check_begun(root)
    with context.working(step, index) as progress:
        # Write the record only after `work` has returned, when all its files are complete and
        # flushed.
        report = work(progress)
        release_memory()
        write_json(path, {"task": task, "report": encode(report)}, PRIVATE_MODE)
    return report


def _changed(inputs: Sequence[InputRange], paths: Mapping[str, str]) -> str:
    """Return the name of the first input that has changed since it was read, or an empty string."""
    for entry in inputs:
        path = paths.get(entry.name, entry.path)
        with storage_errors(f"cannot read {path} again"):
            if digest(path, entry.start, entry.end) != entry.sha256:
                return path
    return ""


def check_begun(root: Path) -> None:
    """Raise StorageError if `root` is not the driver's directory of this name."""
    if not is_begun(root):
        raise StorageError(
            f"{root}: not found. All workers must see the input and `output` under the same names: use a shared directory or a "
            "store"
        )


def _files_stand(root: Path, files: Sequence[File]) -> bool:
    return all((root / file.name).is_file() and digest(root / file.name) == file.sha256 for file in files)

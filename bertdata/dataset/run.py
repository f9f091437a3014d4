"""Start, resume or replace the run that writes an output directory, from its lock to its manifest.

    corpus/.bertdata/lock            locked while a run writes here; in a store, run.sha256 names the newest run (see fence.py)
    corpus/.bertdata/job.json        reserves the directory for a job on an engine, which may go on after its command has ended
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
from typing import Any, TypeVar, cast

from ..codec import decode, encode
from ..errors import EmptyResultError, OutputExistsError, ResumeError, StorageError, TooManyRejectsError, few
from ..storage.fence import TOKEN_FILE, RunPath
from ..storage.files import PRIVATE_MODE, TEMPORARY_PREFIX, digest, is_local, read_json, write_json, write_text
from ..storage.lock import holder, lock, refuse_reserved, release
from ..storage.moves import remove, remove_temporary
from ..storage.storage import storage_errors
from .differences import FIELDS_WITHOUT_EFFECT, differences, translate_identity
from .manifest_records import File
from .reports import InputRange, TaskReport, record_path
from .staging import DATA, MANIFEST, STATE, begin, builds, discard, finish_commit, is_begun, is_complete, own_state, size

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

_REPLACING = "replacing"  # marker of a run with `overwrite`: read changed inputs again instead of raising ResumeError
_REPLACE_ADVICE = "replace it with `overwrite`, or choose another `output`"


@contextlib.contextmanager
def building(directory: Path, identity: dict[str, object], *, overwrite: bool = False) -> Iterator[Path]:
    """Lock the output directory, and yield the directory to build in, with the finished tasks of an earlier run.

    The pipeline's last step commits the build (see `staging.commit`). When the block ends, a complete build that is not in place
    yet is moved there. If the dataset is already complete and `overwrite` is not set, yield the output directory itself. A store
    has no lock: there, this run replaces a run that is still writing.

    Raise OutputExistsError if the directory contains other files or another dataset, ResumeError with the differences if an
    unfinished run has other settings or inputs, and OutputLockedError if another run is writing.
    """
    with storage_errors(f"cannot use {directory}"), contextlib.ExitStack() as stack:
        local = is_local(directory)
        directory = Path(os.path.realpath(directory)) if local else directory  # workers may have another current directory
        _refuse_foreign(directory)
        state = own_state(directory) if local else directory / STATE
        if local:
            # The order matters: lock, finish an interrupted commit, then check for a complete dataset.
            stack.enter_context(lock(state / "lock"))
        finish_commit(directory)
        if is_complete(directory) and not local:
            clean_up(directory)  # a run may have been killed after it wrote the manifest
        refuse_reserved(state)
        remove_temporary(directory)
        # The same command on a finished dataset does nothing.
        if not overwrite and _has_this_dataset(directory, identity):
            yield directory
            return
        root = _on_disk(directory, identity, overwrite) if local else _in_store(directory, identity, overwrite)
        del identity  # frees memory: it may name 100,000 inputs
        # This file tells the workers, which may run on other machines, to accept inputs that have changed.
        if overwrite:
            write_text(root / STATE / _REPLACING, "")
        else:
            remove(root / STATE / _REPLACING)
        try:
            yield root
        except BaseException as error:
            # After EmptyResultError the user has to change options, and the identity with them, so no later run can reuse
            # these tasks. After TooManyRejectsError it can: `max_rejects` is not part of the identity.
            empty = isinstance(error, EmptyResultError) and not isinstance(error, TooManyRejectsError)
            # If there is nothing to resume, remove the build, unless a job on an engine may still be writing to it.
            if local and (empty or not (root / STATE / "tasks").exists()) and holder(state) is None:
                discard(root)
            raise
        finish_commit(directory)


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
        raise OutputExistsError(
            f"{directory} contains files that bertdata did not write ({foreign[0]}, …): choose another `output`"
        )
    if names and not (directory / STATE).is_dir() and not (directory / MANIFEST).exists():
        raise OutputExistsError(f"{directory} contains files that are not a bertdata dataset: choose another `output`")


def _refuse_links(directory: Path) -> None:
    """Raise an error if an entry links to another directory, because the run would write there. `own_state` checks STATE."""
    for path in directory.iterdir() if is_local(directory) else ():
        if path.name != STATE and path.is_symlink() and path.is_dir():
            raise OutputExistsError(f"{path} is a link to another directory: remove it, or choose another `output`")


def is_done(directory: Path, expected: dict[str, object]) -> bool:
    """Return True if the directory contains a finished dataset whose identity includes the `expected` fields."""
    return finished(directory, {name: value for name, value in expected.items() if name not in FIELDS_WITHOUT_EFFECT}) is not None


def finished(directory: Path, expected: dict[str, object]) -> dict[str, Any] | None:
    """Return the identity of a finished dataset, or None if `expected` fields differ. Versions are not compared."""
    stored = read_json(directory / STATE / "run.json")
    # `translate_identity` translates the fields to the version of bertdata that wrote run.json.
    if not isinstance(stored, dict) or {**stored, **translate_identity(stored, expected)} != stored:
        return None
    return stored if is_complete(directory) else None


def unfinished(directory: Path, identity: dict[str, object]) -> dict[str, int]:
    """Return the number of finished tasks per step that a run of this identity would reuse.

    Fields missing from the identity are not compared. Versions are compared, because another version may write other bytes.
    """
    roots = builds(directory) if is_local(directory) else {directory: read_json(directory / STATE / "run.json")}
    for root, stored in roots.items():
        if isinstance(stored, dict) and not differences(stored, {**stored, **identity}):
            with contextlib.suppress(OSError):
                steps = sorted(path.name for path in (root / STATE / "tasks").iterdir())
                return {step: count_done(root, step) for step in steps}
    return {}


def _has_this_dataset(directory: Path, identity: dict[str, object]) -> bool:
    """Return True if the directory contains this dataset. Raise OutputExistsError if it contains another one."""
    if not is_complete(directory):
        return False
    stored = read_json(directory / STATE / "run.json")
    if stored is None:
        raise OutputExistsError(f"{directory} contains a finished dataset, but its run.json is missing: {_REPLACE_ADVICE}")
    if changes := differences(stored, translate_identity(stored, identity)):
        raise OutputExistsError(
            f"{directory} contains a finished dataset with other settings or inputs; what differs: {few(changes, 5, '; ')}: "
            f"{_REPLACE_ADVICE}"
        )
    return True


def _on_disk(directory: Path, identity: dict[str, object], overwrite: bool) -> Path:
    """Start or resume a build in a separate directory."""
    if not overwrite and any(os.path.lexists(directory / name) for name in (MANIFEST, *DATA)) and not is_complete(directory):
        raise OutputExistsError(f"{directory} contains data without a complete manifest: {_REPLACE_ADVICE}")
    # Another command may have left an unfinished build, whose tasks may have taken hours. Only `overwrite` removes it.
    for build, stored in builds(directory).items():
        if stored is None or (overwrite and differences(stored, identity)):
            discard(build)  # None: it has no run.json; only a late worker of an ended run creates such a directory
        else:
            _refuse_other(build, stored, identity, f" ({size(build) / 1e6:,.1f} MB)")
    return begin(directory, identity)


def _refuse_other(root: Path, stored: Any, identity: dict[str, object], detail: str = "") -> None:
    """Raise ResumeError if the unfinished run in `root` has another identity. `detail` follows its path in the message."""
    if changes := differences(stored, identity):
        raise ResumeError(
            f"{root}{detail} is an unfinished run with other settings or inputs; what differs: {few(changes, 5, '; ')}: use "
            "the old ones, or start again with `overwrite`, which removes it"
        )


def _in_store(directory: Path, identity: dict[str, object], overwrite: bool) -> Path:
    """Prepare the directory to build in place, keeping an unfinished run of this identity. Return it as this command's path."""
    run = directory / STATE / "run.json"
    stored = read_json(run)
    if stored is not None and not overwrite:
        _refuse_other(directory, stored, identity)
    # A store cannot rename a directory, so the old dataset is removed before the new one is written.
    if is_complete(directory) or (stored is not None and differences(stored, identity)):
        remove(directory / TOKEN_FILE)  # first, so that late writes of the old run are ignored
        remove(directory / MANIFEST)  # second: without a manifest, readers find no dataset here
        for entry in [*directory.iterdir(), directory / STATE / "tasks", directory / STATE / "work"]:
            if entry.name != STATE:
                remove(entry)
    write_json(run, identity, PRIVATE_MODE)
    token = f"{digest(run)} {uuid.uuid4().hex}"
    write_text(directory / TOKEN_FILE, token, PRIVATE_MODE)
    return cast("Path", RunPath(directory, directory, token))


def leftovers(directory: Path) -> dict[str, int]:
    """Return the sizes in bytes of unfinished builds, by path."""
    return {str(build): size(build) for build in (builds(directory) if is_local(directory) else ())}


def clean_up(directory: Path) -> None:
    """Remove the files of a run that are not needed after its commit, and end its job's reservation."""
    for name in ("tasks", "work", _REPLACING):
        with contextlib.suppress(OSError):  # an engine may run the commit twice at the same time
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
    work: Callable[[], R],
    kind: type[R],
    paths: Mapping[str, str] | None = None,
) -> R:
    """Run a task, or return its report from an earlier run if its inputs and output files are unchanged.

    `task` describes the task in JSON types, and `work` returns its report, of the type `kind`. `paths` maps the names of the
    report's inputs to their current paths. None skips the check of inputs. Raise ResumeError if an input has changed since the
    run began, unless `overwrite` is set, and StorageError if the run has not begun in `root` on this host.
    """
    # A task's output depends only on its description and its inputs. If a record of
    # the same task exists, and its output files still have the recorded digests, its report is
    # reused. The order of writing makes this safe: first the files, then the record. A crash in
    # between leaves files without a record, and the task runs again and writes the same bytes.
    path = record_path(root, step, index)
    record = read_json(path)
    if record is not None and record["task"] == task:
        report = decode(record["report"], kind)
        if _are_unchanged(root, report.files):
            # The output is intact. Compare the bytes of its inputs, because a copied or downloaded file has a new time.
            changed = "" if paths is None else _changed(report.inputs, paths)
            if not changed:
                return report
            if not (root / STATE / _REPLACING).exists():
                raise ResumeError(f"{changed} has changed since this run began: start again with `overwrite`")
    check_begun(root)
    import pyarrow  # takes 0.3 s: `status` needs this module, but no Arrow

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # a task takes one core; its threads would fight for it
    # Write the record only after `work` has returned, when all its files are complete and flushed.
    report = work()
    # In bertdata's own processes, this calls malloc_trim(3). Without it, memory of one large record adds to that of the next.
    pyarrow.default_memory_pool().release_unused()
    write_json(path, {"task": task, "report": encode(report)}, PRIVATE_MODE)
    return report


def _changed(inputs: Sequence[InputRange], paths: Mapping[str, str]) -> str:
    """Return the path of the first input that has changed since it was read, or an empty string."""
    for entry in inputs:
        path = paths.get(entry.name, entry.path)
        with storage_errors(f"cannot read {path} again"):
            if digest(path, entry.start, entry.end) != entry.sha256:
                return path
    return ""


def check_begun(root: Path | RunPath) -> None:
    """Raise StorageError if no run has begun in `root`, for example because this host does not share the directory."""
    if not isinstance(root, RunPath) and not is_begun(root):  # a run in a store has read its token from `root`
        raise StorageError(
            f"{root}: not found. All workers must see the input and `output` under the same names: use a shared directory or a "
            "store"
        )


def _are_unchanged(root: Path, files: Sequence[File]) -> bool:
    return all((root / file.name).is_file() and digest(root / file.name) == file.sha256 for file in files)

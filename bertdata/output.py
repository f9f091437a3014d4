"""An output directory from its lock to its manifest: refuse, start, resume, replace.

    corpus/.bertdata/run.json        what is being built: command, options, inputs, versions
    corpus/.bertdata/run.sha256      its digest, which keeps late workers of an earlier run out: fence.py
    corpus/.bertdata/tasks/STEP/…    a record per finished task: its files and their digests; what `--resume` goes by
    corpus/.bertdata/lock            held while a run writes here
    corpus/.bertdata/job.json        the same for a job that an engine runs elsewhere, which goes on without its command
    corpus/manifest.json             last of all: the data set is whole

A directory that is replaced (`--overwrite`) is built beside the old one, as ``.corpus.bertdata-new``, and takes its place
when it is whole.  A store can't rename a directory: there the old manifest goes first, and then the rest of the old data set.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import OutputExistsError, ResumeError, UsageError
from .fence import TOKEN, not_there
from .files import TEMPORARY, digest, is_local, read_json, remove, remove_temporary, write_json, write_text
from .lock import hold, lock, refuse_held
from .manifest import NAME
from .storage import storage_errors

__all__ = ["STATE", "claimed", "count_done", "differences", "is_complete", "opened", "perform", "probe", "tidy"]

STATE = ".bertdata"
_OURS = {"data", "rejects", "dropped", STATE, NAME, "README.md", "vocab.txt", "tokenizer.json", "tokenizer_config.json"}


@contextlib.contextmanager
def opened(
    directory: Path, identity: dict[str, Any], *, resume: bool = False, overwrite: bool = False, stays: bool = True
) -> Iterator[Path]:
    """Yield the directory to build in, locked and fit for this run; put it in its place when the block ends well.

    Raise OutputExistsError for a directory that holds something, ResumeError naming the difference for an unfinished run of
    other input or options, OutputLockedError for one that another run is writing, UsageError for one to be replaced by a process
    that does not stay until then.
    """
    with storage_errors(f"cannot use {directory}"), contextlib.ExitStack() as stack:
        staging = directory
        if is_local(directory):
            directory = Path(os.path.realpath(directory))  # ".", and a link to a directory elsewhere, have a place to swap in
            staging = directory.with_name(f".{directory.name}.bertdata-new")
            _recover(directory, staging)
        _refuse_foreign(directory)
        if resume and not overwrite and staging != directory and (staging / STATE / "run.json").exists():
            raise OutputExistsError(f"{staging} is to replace {directory}: finish it with --overwrite --resume, or remove it")
        if held := (directory / STATE).is_dir():
            stack.enter_context(lock(directory / STATE / "lock"))
        replace = overwrite and _holds_something(directory)
        target = staging if replace else directory
        if target != directory and not stays:
            raise UsageError(
                f"--no-wait: {directory} is replaced when the new one is whole, and this command would be gone by then: leave "
                "--no-wait away, or choose another --output"
            )
        if target != directory or not held:
            stack.enter_context(lock(target / STATE / "lock"))
        for each in (directory, target):
            _refuse_job(each)
        _prepare(target, identity, resume=resume, fresh=replace)
        yield target
        if is_complete(target):
            remove_temporary(target)  # of workers that were killed, on an engine that goes on without them
            if target != directory:
                _swap(target, directory)


def _holds_something(directory: Path) -> bool:
    return (directory / STATE / "run.json").exists() or (directory / NAME).exists()


def _refuse_foreign(directory: Path) -> None:
    """Refuse a file in the directory's place, and a directory with files that are not bertdata's."""
    if directory.exists() and not directory.is_dir():
        raise OutputExistsError(f"{directory} is a file: choose another --output")
    if not directory.is_dir():
        return
    with storage_errors(f"cannot read {directory}"):
        names = sorted(entry.name for entry in directory.iterdir())
    strange = [name for name in names if name not in _OURS and not name.startswith(TEMPORARY)]
    if strange:
        raise OutputExistsError(f"{directory} holds files that bertdata did not write ({strange[0]}, …): choose another --output")
    if names and not (directory / STATE).is_dir() and not (directory / NAME).exists():
        raise OutputExistsError(f"{directory} holds something that is no data set of bertdata: choose another --output")


def _refuse_job(directory: Path) -> None:
    """Refuse a directory that a job elsewhere is writing; of a finished one the record is a leftover."""
    if is_complete(directory):
        hold(directory / STATE, None)
    else:
        refuse_held(directory / STATE)


def _prepare(target: Path, identity: dict[str, Any], *, resume: bool, fresh: bool) -> None:
    """Bring the directory to the state of an unfinished run of this identity."""
    run = target / STATE / "run.json"
    known = read_json(run)
    if known is not None and resume:
        if changes := differences(known, identity):
            raise ResumeError(
                f"{target} was begun with other settings, so it can't be resumed; what differs: {'; '.join(changes[:5])}: give "
                "the old settings, or start again with --overwrite"
            )
    elif _holds_something(target):
        if not fresh:
            state = "holds a finished data set" if is_complete(target) else "holds an unfinished run: finish it with --resume"
            raise OutputExistsError(f"{target} {state}; replace it with --overwrite, or choose another --output")
        remove(target / STATE / TOKEN)  # first of all: what an engine may still do for the old run comes too late
        remove(target / NAME)  # what is left is no data set
        for entry in [*target.iterdir(), target / STATE / "tasks", target / STATE / "work"]:
            if entry.name != STATE:
                remove(entry)
    remove_temporary(target)
    if is_complete(target):
        tidy(target)  # killed between its manifest and this
    write_json(run, identity)
    write_text(target / STATE / TOKEN, digest(run))


def differences(known: Any, now: Any, path: str = "") -> list[str]:
    """Name what differs between two values of JSON."""
    if isinstance(known, dict) and isinstance(now, dict):
        names = sorted({*known, *now})
        return [d for name in names for d in differences(known.get(name), now.get(name), f"{path}.{name}" if path else name)]
    if isinstance(known, list) and isinstance(now, list) and path == "inputs":
        old, new = ({entry["name"]: entry for entry in entries} for entries in (known, now))
        return differences(old, new, path)
    return [] if known == now else [f"{path}: {known!r} then, {now!r} now"]


@contextlib.contextmanager
def claimed(directory: Path, ours: Callable[[str], bool], *, resume: bool, overwrite: bool) -> Iterator[None]:
    """Hold a directory that grows in place, as that of a training run does; `ours` tells the names that may be in it.

    Raise OutputExistsError for one with other files, or with ours where they are neither to be gone on with nor replaced.
    """
    with storage_errors(f"cannot use {directory}"):
        found = sorted(path.name for path in directory.iterdir()) if directory.exists() else []
    ours_found = [name for name in found if ours(name)]
    if strange := [name for name in found if not ours(name) and name != STATE and not name.startswith(TEMPORARY)]:
        raise OutputExistsError(f"{directory} holds files of something else ({strange[0]}, …): choose another --output")
    if ours_found and not (resume or overwrite):
        raise OutputExistsError(f"{directory} holds a run: go on with it by --resume, or replace it with --overwrite")
    with lock(directory / STATE / "lock"), storage_errors(f"cannot write {directory}"):
        remove_temporary(directory)
        for name in () if resume else ours_found:
            remove(directory / name)
        yield


def _old(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.bertdata-old")


def _swap(new: Path, directory: Path) -> None:
    """Put a whole directory in the place of an old one; at every moment one of the two is whole."""
    os.rename(directory, _old(directory))
    os.rename(new, directory)
    shutil.rmtree(_old(directory), ignore_errors=True)  # `_recover` of another run may be at it too


def _recover(directory: Path, staging: Path) -> None:
    """End a replacement that was killed between its two renames; one that is alive holds the lock of what it replaces."""
    if not (old := _old(directory)).is_dir():
        return
    with lock(old / STATE / "lock"):
        if not directory.exists():
            os.rename(staging if is_complete(staging) else old, directory)
        shutil.rmtree(old, ignore_errors=True)


def is_complete(directory: Path) -> bool:
    """Tell whether a directory's manifest is written."""
    return isinstance(read_json(directory / NAME), dict)


def tidy(directory: Path) -> None:
    """Remove what only an unfinished run needs."""
    for name in ("tasks", "work"):
        with contextlib.suppress(OSError):  # an engine may commit twice at a time
            remove(directory / STATE / name)
    with contextlib.suppress(OSError):
        hold(directory / STATE, None)


def count_done(directory: Path, step: str) -> int:
    """Count the finished tasks of a step."""
    try:
        return sum(not path.name.startswith(".") for path in (directory / STATE / "tasks" / step).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0


@storage_errors()
def perform(
    root: Path, step: str, index: int, task: Any, work: Callable[[], dict[str, Any]], paths: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Do a task, or return what it reported when it was done before and its files are as it left them.

    `work` returns a report whose ``files`` are names below `root` with their SHA-256, and whose ``inputs``, where there are any,
    are ``{"name", "start", "end", "sha256"}``; `paths` tells where they are now, by name.
    Raise ResumeError when an input has changed since, StorageError where `root` is not what the driver sees under this name.
    """
    path = root / STATE / "tasks" / step / f"{index:05d}.json"
    record = read_json(path)
    if record is not None and record["task"] == task and _files_stand(root, record["report"]["files"]):
        for entry in record["report"].get("inputs", []):
            path_now = (paths or {}).get(entry.get("name", ""), entry["path"])
            with storage_errors(f"cannot read {path_now} again"):
                found = digest(path_now, entry["start"], entry["end"])
            if found != entry["sha256"]:
                raise ResumeError(f"{path_now} has changed since this run was begun: start again with --overwrite")
        report: dict[str, Any] = record["report"]
        return report
    probe(root)
    report = work()
    write_json(path, {"task": task, "report": report})
    return report


def probe(root: Path) -> None:
    """Raise StorageError where `root` is not what the driver sees under this name."""
    if not (root / STATE / "run.json").exists():
        raise not_there(root)


def _files_stand(root: Path, files: list[dict[str, Any]]) -> bool:
    return all((root / file["name"]).is_file() and digest(root / file["name"]) == file["sha256"] for file in files)

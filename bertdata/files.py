"""Write files so that a crash leaves the old file, the new file or nothing, never a half.

Every file bertdata writes goes through `replacing`: a hidden, unique name in the same directory, flushed to the disk, then
renamed.  A reader that skips dot names can never see a part of a file, and two attempts at one file cannot mix.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from .errors import OutputLockedError, StorageError

__all__ = [
    "TEMPORARY",
    "digest",
    "file_entry",
    "lock",
    "read_json",
    "remove_temporary",
    "replacing",
    "storage_errors",
    "sync_directory",
    "write_json",
    "write_text",
]

TEMPORARY = ".tmp-"  # every temporary name starts so; nothing else does
_BLOCK = 1 << 20  # bytes read at a time


@contextlib.contextmanager
def storage_errors(doing: str) -> Iterator[None]:
    """Turn the operating system's complaint into a StorageError that says what to do."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        advice = {
            errno.ENOSPC: "free some space, then run again with --resume",
            errno.EDQUOT: "the disk quota is used up; free some space, then run again with --resume",
            errno.EFBIG: "the file size limit is reached (ulimit -f); raise it, then run again with --resume",
            errno.EACCES: "check the permissions, or choose another directory",
            errno.EPERM: "check the permissions, or choose another directory",
            errno.EROFS: "the file system is read-only; choose another directory",
            errno.EMFILE: "too many open files; raise the limit (ulimit -n 1024)",
            errno.ENOTDIR: "a part of the path is a file, not a directory; choose another path",
            errno.EEXIST: "a file stands where a directory should be; remove it or choose another path",
        }.get(error.errno or 0, "look at the file system, then run again with --resume")
        raise StorageError(f"{doing}: {error.strerror or error}: {advice}") from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name, whole and on the disk, when the block ends well."""
    temporary = path.with_name(f"{TEMPORARY}{path.name[:100]}-{uuid.uuid4().hex}")
    with storage_errors(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            sync_directory(path.parent)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a small UTF-8 file whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, whole or not at all; equal values give equal bytes."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file; None where there is none or where it is not JSON (a crash can't leave a part of one)."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def digest(path: Path, start: int = 0, end: int | None = None, algorithm: str = "sha256") -> str:
    """Hash the bytes ``[start, end)`` of a file, with SHA-256 unless told otherwise; the whole file by default."""
    hashed = hashlib.new(algorithm, usedforsecurity=False)
    left = (os.stat(path).st_size if end is None else end) - start
    with open(path, "rb") as file:
        file.seek(start)
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            hashed.update(block)
            left -= len(block)
    return hashed.hexdigest()


def file_entry(root: Path, name: str) -> dict[str, Any]:
    """Describe a file below `root` for a manifest: its name, bytes and SHA-256."""
    return {"name": name, "bytes": (root / name).stat().st_size, "sha256": digest(root / name)}


def sync_directory(directory: Path) -> None:
    """Make renames in a directory survive a power cut, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_temporary(directory: Path) -> None:
    """Remove what killed attempts left behind; call it only while holding the lock."""
    for path in directory.rglob(f"{TEMPORARY}*"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a lock file for this process alone; the system frees it when the process ends, however it ends."""
    import fcntl

    with storage_errors(f"cannot lock {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 100).decode("utf-8", "replace").strip() or "another process"
            raise OutputLockedError(
                f"{path.parent.parent} is being written by {holder}: wait for it, or choose another --output"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)

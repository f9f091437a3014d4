"""Download files, verify them, and resume them after a broken connection.

A file is written to ``.download/NAME.part``.  A partial file continues at its last byte (`Range`); if the server sends the
complete file, the download restarts.  The file gets its name only after its length and checksum match.  An existing file is
hashed, and downloaded again only if it differs from the published one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...errors import StorageError, VerificationError
from ...storage.files import digest, sync_directory
from ...storage.lock import lock
from ...storage.storage import storage_errors
from .client import Client, RetryableError

if TYPE_CHECKING:
    import requests

__all__ = ["PARTS", "RemoteFile", "fetch_all", "missing_bytes"]

PARTS = ".download"  # folder of unfinished files; readers skip dot names
_MAX_CHECKSUM_TRIES = 2  # attempts for a file with the right length and the wrong checksum
_BLOCK_BYTES = 1 << 14  # bytes; an incomplete block is discarded
# No path separators, no control characters.
_PLAIN = "[^/\\\\\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]+"
_NAME = re.compile(rf"(?:(?!\.){_PLAIN}/)*(?!\.){_PLAIN}")  # below the directory, and not hidden
_MAX_NAME = 1000  # maximum characters of a name with its folders
_NUMBER = re.compile("[0-9]{1,18}")
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)")


class RemoteFile(NamedTuple):
    """A file to download: relative name, address, bytes, and checksum such as ``sha1:9e10…``, or ``git:`` and a blob's id."""

    name: str
    url: str
    size: int
    checksum: str


Progress = Callable[[RemoteFile, int], None]


def missing_bytes(remotes: Sequence[RemoteFile], directory: Path) -> int:
    """Return the number of bytes left to download, by the sizes of existing files."""
    there = (max(_size(directory / remote.name), _size(_part(directory, remote))) for remote in remotes)
    return sum(max(0, remote.size - size) for remote, size in zip(remotes, there, strict=True))


def fetch_all(
    remotes: Sequence[RemoteFile],
    directory: Path,
    client: Client,
    *,
    connections: int,
    progress: Progress = lambda remote, at: None,
) -> None:
    """Download files into a directory, several at a time; `progress` receives the bytes present of each.

    Raise VerificationError if a file differs from the published one, TransferError if the server does not send it,
    StorageError if the disk is full.  Received data is always kept, and the next call continues from there.
    """
    if unsafe := [remote.name for remote in remotes if not _is_safe(remote.name)]:
        raise VerificationError(
            f"the server lists a file named {ascii(unsafe[0])[:300]}, which is not a safe name: choose another server"
        )
    if len({remote.name for remote in remotes}) < len(remotes):
        raise VerificationError("the server lists a file twice: choose another server")
    with _writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for remote in remotes:
            for path in (directory / remote.name, _part(directory, remote)):
                _check_inside(directory, path.parent)
        needed, free = missing_bytes(remotes, directory), shutil.disk_usage(directory).free
    if needed > free:
        raise StorageError(
            f"{directory} has room for {free} bytes, {needed} are to come: free some space or choose another `output`"
        )
    with lock(directory / PARTS / "lock"), ThreadPoolExecutor(connections) as pool:
        futures = [pool.submit(_fetch, remote, directory, client, progress) for remote in remotes]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            client.stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    (directory / PARTS / "lock").unlink(missing_ok=True)
    for parent, _, _ in os.walk(directory / PARTS, topdown=False):
        with contextlib.suppress(OSError):  # it still contains partial files
            os.rmdir(parent)


def _fetch(remote: RemoteFile, directory: Path, client: Client, progress: Progress) -> None:
    target, part = directory / remote.name, _part(directory, remote)
    if target.is_file() and _size(target) == remote.size and _digest(target, remote) == remote.checksum:
        return progress(remote, remote.size)
    actual = ""
    for _ in range(_MAX_CHECKSUM_TRIES):
        client.retry(remote.url, lambda: _go_on(remote, part, client, progress), received=lambda: _size(part))
        actual = _digest(part, remote)
        if actual == remote.checksum:
            with _writing(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(part, target)
                sync_directory(target.parent)
            return None
        part.unlink()
    raise VerificationError(
        f"{remote.url} does not match its checksum: it has {actual} instead of {remote.checksum}, "
        f"{_MAX_CHECKSUM_TRIES} times in a row. Try again later, or another server with `base_url`"
    )


def _go_on(remote: RemoteFile, part: Path, client: Client, progress: Progress) -> None:
    """Download the rest of a partial file; raise RetryableError if the response ends early."""
    # A partial file may be of another version, if the server has replaced the file. The checksum
    # shows that at the end, and the file is downloaded again from its beginning.
    have = _size(part) if _is_own(part) else 0
    if not _is_own(part) or have > remote.size:
        with _writing(part):
            part.unlink(missing_ok=True)
        have = 0
    if have == remote.size and part.exists():
        return
    headers = {"Accept_Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with client.open(remote.url, **headers) as response:
        start = _start(response, remote, part, have)
        with _writing(part):
            part.parent.mkdir(parents=True, exist_ok=True)
            if not start:
                part.unlink(missing_ok=True)
        _save(response, remote, part, start, client, progress)


def _start(response: requests.Response, remote: RemoteFile, part: Path, have: int) -> int:
    """Return the file offset at which a response begins; raise RetryableError if the response cannot be of this file."""
    length = response.headers.get("Content-Length", "") if response.status_code == 200 else ""
    start = 0
    if response.status_code == 206:
        sent = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        start, length = (int(sent[1]), sent[2]) if sent else (-1, "")
    # 416: the server cannot continue at this byte. Start again.
    if response.status_code == 416 or start not in (0, have):
        part.unlink(missing_ok=True)
        raise RetryableError(f"the server does not continue at byte {have}")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise RetryableError("the server compresses the file, which must be sent unchanged")
    if _NUMBER.fullmatch(length) and int(length) != remote.size:
        raise RetryableError(f"the server has {length} bytes, {remote.size} were published", final_type=VerificationError)
    return start


def _save(response: requests.Response, remote: RemoteFile, part: Path, start: int, client: Client, progress: Progress) -> None:
    """Append the body to the partial file, up to the size of the file."""
    at = start
    with _writing(part):
        # Closed below: write errors and network errors are handled separately.
        file = open(part, "ab", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))  # noqa: SIM115
    # Data is appended as it arrives, so an interruption at any moment leaves a valid partial file.
    with file:
        for block in response.iter_content(_BLOCK_BYTES):
            client.pause()
            at += len(block)
            if at > remote.size:
                file.truncate(0)
                raise RetryableError(
                    f"the server sends more than the {remote.size} bytes that were published", final_type=VerificationError
                )
            with _writing(part):
                file.write(block)
            progress(remote, at)
        if at < remote.size:
            raise RetryableError(f"the connection ended after {at} of {remote.size} bytes")
        with _writing(part):
            file.flush()
            os.fsync(file.fileno())


def _digest(path: Path, remote: RemoteFile) -> str:
    algorithm = remote.checksum.partition(":")[0]
    return f"{algorithm}:{digest(path, algorithm=algorithm)}"


def _part(directory: Path, remote: RemoteFile) -> Path:
    return directory / PARTS / f"{remote.name}.part"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _is_safe(name: str) -> bool:
    """Return True if a name stays below a directory, and is short enough with ``.part`` appended."""
    return bool(_NAME.fullmatch(name)) and len(name) <= _MAX_NAME and all(len(part.encode()) <= 240 for part in name.split("/"))


def _is_own(part: Path) -> bool:
    """Return True if a partial file exists and this user created it: not a link, and not a second name of another file."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        status = os.lstat(part)
        return stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == os.geteuid()
    return False


def _check_inside(directory: Path, folder: Path) -> None:
    """Raise StorageError if a link makes a folder point outside the directory."""
    if not folder.resolve().is_relative_to(directory.resolve()):
        raise StorageError(
            f"{folder} leads out of {directory}: remove the link, or set `output` to the directory that it points to"
        )


def _writing(path: Path) -> AbstractContextManager[None]:
    return storage_errors(f"cannot write {path}")

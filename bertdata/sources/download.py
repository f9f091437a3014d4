"""Download files, verify them, and resume downloads after a broken connection.

A file is written to ``NAME.part``, which a later run continues at its last byte. It gets its name once its checksum matches.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import requests
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse, Retry

from .. import __version__
from ..credentials import cause
from ..errors import StorageError, TransferError, VerificationError
from ..storage.files import digest, sync_directory, write_text
from ..storage.lock import lock
from ..storage.problems import storage_errors

_MAX_TRIES = 8  # failed requests, or broken connections in a row without a new byte
_PAUSE_S = 1.0  # doubled after each broken connection
_RETRIED_STATUSES = (408, 425, 429, 500, 502, 503, 504)
_MISSING = (404, 410)
_MAX_WAIT_S = 600  # if the server asks for a longer wait, stop and report when to try again
_TIMEOUTS_S = (30, 60)  # to connect, and to wait for a byte
_MAX_LIST_BYTES = 4 << 20  # the largest list, a wiki's dumpstatus.json, is under 1 MB
_BLOCK_BYTES = 1 << 16


class BrokenConnection(TransferError):
    """A response that is missing or ends early."""


class RemoteFile(NamedTuple):
    """A file to download: its name, address, size in bytes and SHA-1 (empty if none is published)."""

    name: str
    url: str
    size: int
    sha1: str


class Dump(NamedTuple):
    """The dump of a wiki and a date, and its files."""

    wiki: str
    date: str
    files: list[RemoteFile]

    @property
    def sums(self) -> str:
        """The files and their checksums, in the format of sha1sum(1)."""
        return "".join(f"{file.sha1}  {file.name}\n" for file in self.files if file.sha1)


Progress = Callable[[str, int], None]


class _BoundedRetry(Retry):
    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        seconds = super().get_retry_after(response)
        if seconds and seconds > _MAX_WAIT_S:
            raise TransferError(f"the server demands a wait of {seconds:.0f} seconds: run the same command again after that")
        return seconds


def open_session(contact: str = "") -> requests.Session:
    """Open a session that names the program and a contact, as Wikimedia's policy requires, and that retries failed requests."""
    session = requests.Session()
    session.headers["User-Agent"] = f"bertdata/{__version__} (corpus builder{'; ' if contact else ''}{contact})"
    session.headers["Accept-Encoding"] = "identity"
    retries = _BoundedRetry(
        _MAX_TRIES - 1, redirect=5, backoff_factor=1, status_forcelist=_RETRIED_STATUSES, raise_on_status=False
    )
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries))
    return session


def read_list(session: requests.Session, url: str) -> bytes | None:
    """Return a list, or None if it does not exist."""
    with _request("GET", session, url, *_MISSING) as response:
        if response.status_code in _MISSING:
            return None
        data = b""
        for block in response.iter_content(_BLOCK_BYTES):
            data += block
            if len(data) > _MAX_LIST_BYTES:
                raise TransferError(f"{url} has over {_MAX_LIST_BYTES} bytes, more than a list can have: check the address")
        return data


def read_size(session: requests.Session, url: str) -> int | None:
    """Return the number of bytes of a file, or None if it does not exist."""
    with _request("HEAD", session, url, *_MISSING) as response:
        if response.status_code in _MISSING:
            return None
        if not re.fullmatch("[0-9]{1,15}", length := response.headers.get("Content-Length", "")):
            raise TransferError(f"{url}: the server does not tell its size: use another `base_url`")
        return int(length)


@contextlib.contextmanager
def _request(method: str, session: requests.Session, url: str, *accepted: int, **headers: str) -> Iterator[requests.Response]:
    """Yield a response, whose body the caller reads. Raise TransferError without parts of an address that may be secret.

    `accepted` are statuses that are not errors, besides 200 and 206.
    """
    try:
        try:
            opened = session.request(method, url, headers=headers, stream=True, timeout=_TIMEOUTS_S, allow_redirects=True)
        except ValueError as error:  # a redirect to something that is not an address
            raise requests.exceptions.InvalidURL(url) from error
        with opened as response:
            if response.status_code not in (200, 206, *accepted):
                advice = "set `contact`" if response.status_code in (401, 403) else "check the address, or try again later"
                raise TransferError(f"{url}: the server answers {response.status_code} {response.reason}: {advice}")
            yield response
    except requests.RequestException as error:
        problem = f"{url}: {type(error).__name__}: check the network, and run the same command again"
        raise BrokenConnection(problem) from cause(error)


def missing_bytes(files: Sequence[RemoteFile], directory: Path) -> int:
    """Return the number of bytes left to download, by the sizes of existing files."""
    return sum(max(0, file.size - max(_size(directory / file.name), _size(_part(directory, file)))) for file in files)


def fetch_all(dump: Dump, directory: Path, session: requests.Session, connections: int, progress: Progress) -> None:
    """Download a dump and its checksums, several files at a time; `progress` receives the name of a file and its bytes.

    Raise VerificationError if a file differs from the published one, TransferError if the server does not send it,
    StorageError if the disk is full.  Received data is always kept, and the next call continues from there.
    """
    with storage_errors(f"cannot write {directory}"):
        directory.mkdir(parents=True, exist_ok=True)
        needed, free = missing_bytes(dump.files, directory), shutil.disk_usage(directory).free
    if needed > free:
        problem = f"{directory} has room for {free} bytes, {needed} are to come"
        raise StorageError(f"{problem}: free some space or choose another `output`")
    stopped = threading.Event()
    with lock(directory / ".download.lock"), ThreadPoolExecutor(connections) as pool:
        futures = [pool.submit(_fetch, file, directory, session, progress, stopped) for file in dump.files]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    (directory / ".download.lock").unlink(missing_ok=True)
    if dump.sums:
        write_text(directory / f"{dump.wiki}-{dump.date}-sha1sums.txt", dump.sums)


def _fetch(file: RemoteFile, directory: Path, session: requests.Session, progress: Progress, stopped: threading.Event) -> None:
    """Download a file, with a new request after each broken connection."""
    target, part = directory / file.name, _part(directory, file)
    if _is_right(target, file):
        progress(file.name, file.size)
        return
    if part.is_symlink():
        part.unlink()
    failures = restarts = 0
    while not _is_right(part, file):
        before = _size(part)
        if part.exists() and before >= file.size:
            part.unlink()  # it continued a part of another version, so try again from the beginning
            restarts += 1
            if restarts == 2:
                problem = f"{file.url} does not match its checksum, twice in a row"
                raise VerificationError(f"{problem}. Try again later, or another server with `base_url`")
        try:
            _continue(file, part, session, progress, stopped)
        except BrokenConnection:
            failures = 1 if _size(part) > before else failures + 1
            if failures >= _MAX_TRIES or stopped.is_set():
                raise
            stopped.wait(_PAUSE_S * 2**failures)
    with storage_errors(f"cannot write {target}"):
        os.replace(part, target)
        sync_directory(directory)


def _is_right(path: Path, file: RemoteFile) -> bool:
    return path.exists() and _size(path) == file.size and (not file.sha1 or digest(path, algorithm="sha1") == file.sha1)


def _continue(file: RemoteFile, part: Path, session: requests.Session, progress: Progress, stopped: threading.Event) -> None:
    """Append what a response has to a partial file."""
    at = _size(part)
    headers = {"Range": f"bytes={at}-"} if at else {}
    with storage_errors(f"cannot write {part}"), _request("GET", session, file.url, 416, **headers) as response:
        if response.status_code == 416 or response.headers.get("Content-Encoding", "identity") != "identity":
            part.unlink(missing_ok=True)
            raise BrokenConnection(f"{file.url}: the server does not continue at byte {at}")
        at = at if response.headers.get("Content-Range", "").startswith(f"bytes {at}-") else 0
        with open(part, "ab" if at else "wb") as output:
            for block in response.iter_content(_BLOCK_BYTES):
                at += len(block)
                if at > file.size:
                    output.truncate(0)
                    raise VerificationError(f"{file.url} has more than the {file.size} bytes that were published")
                output.write(block)
                progress(file.name, at)
                if stopped.is_set():
                    raise TransferError("the download was stopped: run the same command again, it continues where it stopped")
            output.flush()
            os.fsync(output.fileno())
    if at < file.size:
        raise BrokenConnection(f"{file.url}: the connection ends early: run the same command again later")


def _part(directory: Path, file: RemoteFile) -> Path:
    return directory / f"{file.name}.part"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0

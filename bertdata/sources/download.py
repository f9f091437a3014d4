"""Download files, verify them, and resume downloads after a broken connection.

A file is written to ``NAME.part``, which a later run continues at its last byte. It gets its name once its checksum matches.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from .. import __version__
from ..credentials import cause
from ..errors import StorageError, TransferError, VerificationError
from ..storage.files import digest, sync_directory, write_text
from ..storage.lock import lock
from ..storage.problems import storage_errors

_MAX_TRIES = 8  # failed requests, or broken connections in a row without a new byte
_PAUSE_S = 1.0  # doubled after each broken connection
_WAIT_S = 120  # also if a server asks for a longer wait
_RETRIED = (408, 425, 429, 500, 502, 503, 504)
_MISSING = (404, 410)
_TIMEOUTS_S = (30, 60)  # to connect, and to wait for a byte
_MAX_LIST_BYTES = 4 << 20  # the largest list, a wiki's dumpstatus.json, is under 1 MB
_BLOCK_BYTES = 1 << 16


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


Progress = Callable[[str, int], None]


def open_session(contact: str = "") -> requests.Session:
    """Open a session that names the program and a contact, as Wikimedia's policy requires, and that retries failed requests."""
    session = requests.Session()
    session.headers["User-Agent"] = f"bertdata/{__version__} (corpus builder{'; ' if contact else ''}{contact})"
    session.headers["Accept-Encoding"] = "identity"
    retries = Retry(_MAX_TRIES - 1, backoff_factor=1, status_forcelist=_RETRIED, raise_on_status=False, retry_after_max=_WAIT_S)
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries))
    return session


@contextlib.contextmanager
def _transfer_errors(url: str) -> Iterator[None]:
    """Convert errors of a request, without the address to which a server redirected: it may be signed."""
    try:
        yield
    except (requests.RequestException, ValueError) as error:  # ValueError: a redirect to something that is not an address
        response = getattr(error, "response", None)
        problem = type(error).__name__ if response is None else f"the server answers {response.status_code}"
        problem += ": check the address and the network, set `contact`, and run the same command again"
        raise TransferError(f"{url}: {problem}") from cause(error)


def read_list(session: requests.Session, url: str) -> bytes | None:
    """Return a list, or None if it does not exist."""
    with _transfer_errors(url), session.get(url, stream=True, timeout=_TIMEOUTS_S) as response:
        if response.status_code in _MISSING:
            return None
        response.raise_for_status()
        data = b""
        for block in response.iter_content(_BLOCK_BYTES):
            data += block
            if len(data) > _MAX_LIST_BYTES:
                raise TransferError(f"{url} has over {_MAX_LIST_BYTES} bytes, more than a list can have: check the address")
        return data


def read_size(session: requests.Session, url: str) -> int | None:
    """Return the number of bytes of a file, or None if it does not exist."""
    with _transfer_errors(url), session.head(url, timeout=_TIMEOUTS_S, allow_redirects=True) as response:
        if response.status_code in _MISSING:
            return None
        response.raise_for_status()
        if not (length := response.headers.get("Content-Length", "")).isdecimal():
            raise TransferError(f"{url}: the server does not tell its size: use another `base_url`")
        return int(length)


def missing_bytes(files: Sequence[RemoteFile], directory: Path) -> int:
    """Return the number of bytes left to download, by the sizes of existing files."""
    names = ((file.size, directory / file.name, directory / f"{file.name}.part") for file in files)
    return sum(max(0, size - max(_size(target), _size(part))) for size, target, part in names)


def fetch_all(dump: Dump, directory: Path, session: requests.Session, connections: int, progress: Progress) -> None:
    """Download a dump and its checksums, several files at a time; `progress` receives the name of a file and its bytes.

    Raise VerificationError if a file differs from the published one, TransferError if the server does not send it,
    StorageError if the disk is full.  Received data is always kept, and the next call continues from there.
    """
    with storage_errors(f"cannot write {directory}"):
        directory.mkdir(parents=True, exist_ok=True)
        needed, free = missing_bytes(dump.files, directory), shutil.disk_usage(directory).free
    if needed > free:
        raise StorageError(f"{directory} has room for {free} of {needed} bytes: free some space or choose another `output`")
    stopped = threading.Event()
    with lock(directory / ".download.lock"), ThreadPoolExecutor(connections) as pool:
        futures = [pool.submit(_fetch, file, directory, session, progress, stopped) for file in dump.files]
        try:
            for future in as_completed(futures):
                future.result()
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
    (directory / ".download.lock").unlink(missing_ok=True)
    if sums := "".join(f"{file.sha1}  {file.name}\n" for file in dump.files if file.sha1):  # the format of sha1sum(1)
        write_text(directory / f"{dump.wiki}-{dump.date}-sha1sums.txt", sums)


def _fetch(file: RemoteFile, directory: Path, session: requests.Session, progress: Progress, stopped: threading.Event) -> None:
    """Download a file, with a new request after each broken connection."""
    target, part = directory / file.name, directory / f"{file.name}.part"
    if _is_right(target, file):
        progress(file.name, file.size)
        return
    if part.is_symlink():
        part.unlink()
    failures = 0
    with storage_errors(f"cannot write {part}"), _transfer_errors(file.url):
        while (before := _size(part)) < file.size:
            try:
                _continue(file, part, session, progress, stopped)
            except requests.HTTPError:  # after the retries of the session
                raise
            except requests.RequestException:
                failures = 1 if _size(part) > before else failures + 1
                if failures >= _MAX_TRIES or stopped.is_set():
                    raise
                stopped.wait(_PAUSE_S * 2**failures)
        if not _is_right(part, file):
            part.unlink()  # a part of another version may have been continued
            raise VerificationError(f"{file.url} does not match its published size and checksum: run the same command again")
        os.replace(part, target)
        sync_directory(directory)


def _continue(file: RemoteFile, part: Path, session: requests.Session, progress: Progress, stopped: threading.Event) -> None:
    """Append what a response has to a partial file; a server may also begin again."""
    at = _size(part)
    headers = {"Range": f"bytes={at}-"} if at else {}
    with session.get(file.url, headers=headers, stream=True, timeout=_TIMEOUTS_S) as response:
        response.raise_for_status()
        at = at if response.headers.get("Content-Range", "").startswith(f"bytes {at}-") else 0
        with open(part, "ab" if at else "wb", buffering=0) as output:
            for block in response.iter_content(_BLOCK_BYTES):
                output.write(block)
                at += len(block)
                progress(file.name, at)
                if at > file.size or stopped.is_set():
                    break
            os.fsync(output.fileno())
    if at < file.size:
        raise requests.ConnectionError


def _is_right(path: Path, file: RemoteFile) -> bool:
    return _size(path) == file.size and (not file.sha1 or digest(path, algorithm="sha1") == file.sha1)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0

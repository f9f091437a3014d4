"""Write files atomically on disks and in stores: a crash leaves the old file, the new file or nothing.

bertdata writes every file with `replacing`: to a hidden, unique name in the same directory, flushed to the disk, then renamed.
A reader that skips dot names never sees a partial file, and two attempts at one file cannot mix.

A name with ``://`` is the URL of a store (``s3://bucket/corpus``), which fsspec opens. Object stores have no rename, but create
each key atomically, so the file is written locally and then uploaded under its final name.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import unquote

from .. import credentials
from ..errors import UsageError
from ..extras import missing_package
from .problems import storage_errors

TEMPORARY_PREFIX = ".tmp-"  # prefix of temporary names, and of no others
PRIVATE_MODE = 0o600  # permissions of files that only this user's runs read
_READ_BYTES = 1 << 20  # per read
_MAX_STATE_BYTES = 1 << 28  # of a state file; the largest is a manifest
_REQUEST_BYTES = 2 << 20  # bytes per request to a store
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # at least two letters, because ``C://`` is a drive
OBJECT_STORES = frozenset(("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci"))  # have no rename
_PACKAGES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hub"}  # extras that install a store's client
_HUB = re.compile(r"(?:(?:datasets|spaces|buckets)/+[^/]+|(?!(?:datasets|spaces|buckets)(?:/|$))[^/]+)/+[^/]")  # names of the Hub
_LOGIN = (
    "bertdata accepts no login or key in a URL. Put it into ~/.netrc (https), the store's own environment variables or files "
    "(AWS_ACCESS_KEY_ID, ~/.aws/credentials), or fsspec's configuration (~/.config/fsspec/conf.json)"
)
_QUERY = (
    "bertdata accepts no query or signature in a URL. Download the file first and pass its path, or remove everything from the "
    "question mark on if the file is public"
)


def to_path(name: str | Path) -> Path:
    """Return the path for a name. For the URL of a store, return an object with the same methods.

    Raise UsageError for a store without an installed client, and for a URL with a login or a signature.

    >>> to_path("books/emma.txt"), to_path("file:///books/emma%20II.txt"), to_path("./odd://name")
    (PosixPath('books/emma.txt'), PosixPath('/books/emma II.txt'), PosixPath('odd:/name'))
    """
    if not isinstance(name, str):
        return name
    if not _URL.match(name):
        return Path(name)
    check_url(name)
    scheme, _, rest = name.partition("://")
    scheme = scheme.lower()
    if scheme == "file":
        return Path(unquote(rest.removeprefix("localhost")))
    if scheme == "hf" and not _HUB.match(rest):
        raise UsageError(f"{name} is not the name of a dataset: write hf://datasets/OWNER/NAME")
    options: dict[str, Any] = {"get_client": _session} if scheme in ("http", "https") else {}
    if scheme in OBJECT_STORES:
        options["use_listings_cache"] = False  # others write to a store as well
    try:
        from upath import UPath

        path = UPath(name, **options)
        _ = path.fs  # looks for the package that reaches it
    except ImportError as error:
        if scheme in _PACKAGES or error.name == "upath":
            raise missing_package(name, _PACKAGES.get(scheme, "remote"), error) from error
        raise UsageError(f"{name}: {error}. Install the library that it names") from error
    except ValueError as error:
        raise UsageError(f"{name}: {error}. If this is a local file, write ./{name}") from error
    return cast("Path", path)


def check_url(url: str) -> None:
    """Raise UsageError for a URL with a login, a signature or, for http, a query; other names are fine.

    >>> check_url("s3://bucket/corpus"), check_url("https://host/*.bz2"), check_url("books/emma.txt")
    (None, None, None)
    """
    public, login, query = credentials.split_url(url)
    shown = credentials.hide(public)
    if login:
        raise UsageError(f"{shown}: {_LOGIN}")
    if query or ("://" in url and shown != public):
        raise UsageError(f"{shown}: {_QUERY}")


async def _session(**options: Any) -> Any:
    """Return an HTTP session that uses ~/.netrc and the proxies of the environment."""
    import aiohttp

    return aiohttp.ClientSession(**{"trust_env": True, **options})


def is_local(path: str | Path) -> bool:
    """Return True if a path is in this machine's file system, not in a store."""
    return isinstance(to_path(path), Path)


def open_file(name: str | Path, ahead: int = _REQUEST_BYTES) -> IO[bytes]:
    """Open a file for reading. A request to a store fetches at least `ahead` bytes and buffers them.

    Raise StorageError if a disk or a store fails, now or during a read, so that readers do not mistake that for a malformed file.
    """
    path = to_path(name)
    with storage_errors(f"cannot read {path}"):
        if isinstance(path, Path):
            return io.BufferedReader(_Watched(open(path, "rb", buffering=0, opener=_regular), path))
        return io.BufferedReader(_Watched(path.open("rb", cache_type="none"), path), ahead)


class _Watched(io.RawIOBase):
    """A file that raises StorageError if a disk or a store fails."""

    def __init__(self, file: Any, path: Path) -> None:
        super().__init__()
        self._file, self._path = file, path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with storage_errors(f"cannot read {self._path}"):
            return int(self._file.readinto(buffer))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def close(self) -> None:
        self._file.close()
        super().close()


def _regular(path: str, flags: int) -> int:
    """Open a regular file. Raise OSError for a pipe or a device without blocking, because it may never end."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISREG(mode := os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", path)


def size(path: str | Path) -> int:
    """Return the size of a file in bytes."""
    return to_path(path).stat().st_size


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name, complete and flushed, when the block succeeds."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name[:100]}-{uuid.uuid4().hex}")
    with (
        storage_errors(f"cannot write {path}"),
        _renamed(path, temporary, mode) if is_local(path) else _sent(path, temporary) as file,
    ):
        yield file


@contextlib.contextmanager
def replacing_directory(path: Path) -> Iterator[Path]:
    """Yield a local directory to fill that appears under its name, complete and flushed, when the block succeeds."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name[:100]}-{uuid.uuid4().hex}")
    with storage_errors(f"cannot write {path}"):
        try:
            temporary.mkdir(parents=True)
            yield temporary
            for file in temporary.iterdir():
                with open(file, "rb") as written:
                    os.fsync(written.fileno())
            sync_directory(temporary)
            os.rename(temporary, path)
            sync_directory(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def _renamed(path: Path, temporary: Path, mode: int) -> Iterator[IO[bytes]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_directory(path.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


@contextlib.contextmanager
def _sent(path: Any, temporary: Any) -> Iterator[IO[bytes]]:
    """Write the file locally and upload it, to object stores under its final name, to others under a temporary name."""
    with tempfile.TemporaryDirectory(prefix="bertdata-") as directory:
        with open(Path(directory, path.name), "xb") as file:
            yield file
        if path.protocol in OBJECT_STORES:
            path.fs.put_file(file.name, path.path)
        else:
            path.fs.put_file(file.name, temporary.path)
            path.fs.mv(temporary.path, path.path)


def write_text(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a small UTF-8 file whole or not at all."""
    with replacing(path, mode) as file:
        file.write(text.encode("utf-8"))


def json_text(value: Any) -> str:
    """Return a value as indented JSON. Equal values produce equal text."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def write_json(path: Path, value: Any, mode: int = 0o666) -> None:
    """Write a value as indented JSON, whole or not at all."""
    write_text(path, json_text(value), mode)


def read_json(path: Path) -> Any:
    """Read a JSON file. Return None if it is missing or not JSON."""
    try:
        return json.loads(read_state(path).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    except OSError as error:
        if error.errno != errno.EINVAL:  # EINVAL: a pipe or a device, which `_regular` rejects
            raise
        return None


def read_state(path: Path) -> bytes:
    """Read a state file of a run. Raise ValueError if it is too large, and OSError for a pipe or a device."""
    if not is_local(path):
        store = cast("Any", path)
        return bytes(store.fs.cat_file(store.path, start=0))  # a range, because fsspec asks for the size of a whole file first
    with open(path, "rb", opener=_regular) as file:
        if os.fstat(file.fileno()).st_size > _MAX_STATE_BYTES:
            raise ValueError(f"{path} is larger than any state of a run")
        return file.read()


def digest(path: str | Path, start: int = 0, end: int | None = None, algorithm: str = "sha256") -> str:
    """Hash the bytes ``[start, end)`` of a file, the whole file by default.

    `algorithm` is a name from `hashlib`, or ``git`` for the blob id of a complete local file: SHA-1 of a header and the file.
    """
    hashed = hashlib.new("sha1" if algorithm == "git" else algorithm, usedforsecurity=False)
    if algorithm == "git":
        hashed.update(b"blob %d\0" % os.stat(path).st_size)
    left = sys.maxsize if end is None else end - start
    with open_file(path) as file:
        file.seek(start)
        while left > 0 and (block := file.read(min(_READ_BYTES, left))):
            hashed.update(block)
            left -= len(block)
    return hashed.hexdigest()


def sync_directory(directory: Path) -> None:
    """Make renames in a directory survive a power cut, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

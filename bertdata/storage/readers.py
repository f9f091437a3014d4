"""Read files of disks and stores: report progress, turn failures into StorageErrors, and save requests."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any

from .storage import storage_errors

__all__ = ["FirstBlock", "Watched", "read_whole"]


def read_whole(path: Any) -> bytes:
    """Read a file of a store with one request. fsspec asks for the size first, except for a range."""
    return bytes(path.fs.cat_file(path.path, start=0))


class Watched(io.RawIOBase):
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


class FirstBlock(io.RawIOBase):
    """A file of an object store that is read from its start, and whose size is asked for only if it is larger than a block.

    fsspec asks for the size of a file before it reads. Most files of a run are smaller than a block, so one request for the
    first block returns all of the file: half of the requests, and 0.6 of the time with a store 30 ms away.
    """

    def __init__(self, path: Any, size: int) -> None:
        super().__init__()
        self._path, self._size = path, size
        self._file: Any = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._file is None:
            block = b""
            with contextlib.suppress(OSError):  # an empty file has no ranges, for example
                block = self._path.fs.cat_file(self._path.path, start=0, end=self._size)
            self._file = io.BytesIO(block) if 0 < len(block) < self._size else self._opened()
        return int(self._file.readinto(buffer))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if self._file is None and not (offset == 0 and whence != os.SEEK_END):
            self._file = self._opened()
        return int(self._file.seek(offset, whence)) if self._file else 0

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()

    def _opened(self) -> Any:
        return self._path.open("rb", cache_type="none")

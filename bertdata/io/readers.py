"""Read files of disks and stores: report progress, turn failures into StorageErrors, and save requests to stores."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from .progress import current
from .storage import storage_errors

__all__ = ["FirstBlock", "Watched", "read_whole"]

_SMALL = 1 << 20  # bytes that are asked for of a file that is probably smaller


def read_whole(path: Any) -> bytes:
    """Read a file of a store that is probably small: by one request if it is, as fsspec else asks for the size first."""
    try:
        start = bytes(path.fs.cat_file(path.path, start=0, end=_SMALL))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, NotImplementedError):  # an empty file, or a store without ranges
        return bytes(path.read_bytes())
    return start if len(start) < _SMALL else bytes(path.read_bytes())


class Watched(io.RawIOBase):
    """A file that tells of a disk or a store that fails, and the task at work of what is read."""

    def __init__(self, file: Any, path: Path) -> None:
        super().__init__()
        self._file, self._path = file, path
        self._work, self._name, self._at = current(), str(path), 0  # what reads ahead may do so in another thread

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with storage_errors(f"cannot read {self._path}"):
            count = int(self._file.readinto(buffer))
        self._work.read(self._name, self._at, count)
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = int(self._file.seek(offset, whence))
        return self._at

    def close(self) -> None:
        self._file.close()
        super().close()


class FirstBlock(io.RawIOBase):
    """A file of an object store whose first bytes are fetched before its size is asked for.

    fsspec asks for the size of a file before it reads any of it.  Most files of a run are smaller than a block: one request
    for the first block then brings all of them, and the block is shorter than asked for, which tells where they end.  A larger
    file is opened as fsspec does when more than its first block is read.
    """

    def __init__(self, path: Any, size: int) -> None:
        super().__init__()
        self._path, self._size, self._at = path, size, 0
        self._block: bytes | None = None
        self._file: Any = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._block is None and self._file is None and self._at == 0:
            self._fetch()
        if self._block is not None and (self._at < len(self._block) or len(self._block) < self._size):
            found = self._block[self._at : self._at + len(buffer)]
            buffer[: len(found)] = found
            self._at += len(found)
            return len(found)
        count = int(self._opened().readinto(buffer))
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            short = self._block is not None and len(self._block) < self._size
            self._at = offset + (len(self._block or b"") if short else int(self._opened().seek(0, os.SEEK_END)))
        else:
            self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        if self._file is not None:
            self._file.seek(self._at)
        return self._at

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()

    def _fetch(self) -> None:
        """Fetch the first block; a store that refuses a range of an empty file is asked in the ordinary way."""
        try:
            self._block = bytes(self._path.fs.cat_file(self._path.path, start=0, end=self._size))
        except FileNotFoundError:
            raise
        except OSError:
            self._opened()

    def _opened(self) -> Any:
        if self._file is None:
            self._file = self._path.open("rb", cache_type="none")
            self._file.seek(self._at)
        return self._file

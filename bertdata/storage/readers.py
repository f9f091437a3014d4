"""Read files of disks and stores: report progress, turn failures into StorageErrors, and save requests to stores."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from .progress import current
from .storage import storage_errors

__all__ = ["FirstBlock", "Watched", "read_whole"]

_SMALL_BYTES = 1 << 20  # requested at once for a file that is probably smaller


def read_whole(path: Any) -> bytes:
    """Read a probably small file from a store. This saves fsspec's request for the size if the file is small."""
    try:
        # One request instead of two: ask for the first megabyte without knowing the size. If less
        # comes, that was the whole file.
        start = bytes(path.fs.cat_file(path.path, start=0, end=_SMALL_BYTES))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, NotImplementedError):  # an empty file, or a store without ranges
        return bytes(path.read_bytes())
    return start if len(start) < _SMALL_BYTES else bytes(path.read_bytes())


class Watched(io.RawIOBase):
    """A file that raises StorageError if a disk or a store fails, and reports reads to the running task."""

    def __init__(self, file: Any, path: Path) -> None:
        super().__init__()
        self._file, self._path = file, path
        self._work, self._name, self._at = current(), str(path), 0  # reads may come from another thread

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
    """A file of an object store whose first block is fetched without asking for the file's size.

    fsspec asks for the size of a file before it reads. Most files of a run are smaller than a block, so one request for the
    first block returns all of the file, and the short block shows where it ends. A larger file is opened with fsspec when a
    read goes past the first block.
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

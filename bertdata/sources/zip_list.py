"""Open a zip file whose list of members is not trusted: it may be damaged, or larger than the memory."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib
from typing import IO, Any, cast

# What zipfile raises for a damaged file.
BROKEN_ZIP = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, ValueError, NotImplementedError)


class TooLarge(ValueError):
    """A list of members that has more bytes than allowed."""


def open_zip(file: IO[bytes], max_list_bytes: int) -> zipfile.ZipFile:
    """Open a zip file whose list of members has at most `max_list_bytes` bytes, and sort the list by offset.

    Raise `TooLarge` or one of `BROKEN_ZIP`.
    """
    reader = _BoundedList(file, max_list_bytes)
    archive = zipfile.ZipFile(cast("IO[bytes]", reader))
    reader.most = sys.maxsize
    archive.filelist.sort(key=lambda info: info.header_offset)
    return archive


class _BoundedList:
    """A zip file that raises an error for reads of more than `most` bytes, and for positions that a damaged list can cause."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self.most = file, most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        if size > self.most:
            raise TooLarge(f"its list of files has more than {self.most} bytes")
        return self._file.read(size)

    def seek(self, at: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and at < 0:
            raise zipfile.BadZipFile("its list of files leads out of it")
        return self._file.seek(at, whence)

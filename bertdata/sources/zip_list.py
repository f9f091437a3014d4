"""Open a zip file whose list of members is not trusted: it may be damaged, or larger than the memory."""

from __future__ import annotations

import errno
import struct
import zipfile
import zlib
from typing import IO

# What zipfile raises for a damaged file.
BROKEN_ZIP = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, ValueError, NotImplementedError)
_LIST_BYTES = 5  # field of the end record


class TooLarge(ValueError):
    """A list of members that has more bytes than allowed."""


def open_zip(file: IO[bytes], max_list_bytes: int) -> zipfile.ZipFile:
    """Open a zip file whose list of members has at most `max_list_bytes` bytes. Raise `TooLarge` or one of `BROKEN_ZIP`."""
    outside = zipfile.BadZipFile("its list of files leads out of it")
    try:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # opening it would read a list of any size
        if end and end[_LIST_BYTES] > max_list_bytes:
            raise TooLarge(f"its list of files has more than {max_list_bytes} bytes")
        archive = zipfile.ZipFile(file)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a position before the beginning of the file
            raise
        raise outside from None
    if any(info.header_offset < 0 for info in archive.infolist()):
        raise outside
    return archive

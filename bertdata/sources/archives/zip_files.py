"""Read a zip file member by member. Nothing is written to disk, and neither names nor sizes are trusted.

A small zip file can unpack to terabytes, either by a high compression ratio or because members share the same compressed bytes.
So each member is unpacked up to a limit, members must not overlap, and a range may yield only a multiple of its size.
"""

from __future__ import annotations

import contextlib
import io
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

from ...records import Drop, FileRange, Reject
from ...storage.files import open_file
from ..tables.limits import Allowance, TooLarge
from .member import Member, Wanted, member_name, refuse_name

__all__ = ["BROKEN", "cut", "open_zip", "pieces", "read_zip"]

# Python's zipfile limits the output per read for these methods only.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED, _UTF8 = 0x1, 0x800  # flags of a member
_HEADER_BYTES = 30  # before a member's name and data
_MAX_LIST_BYTES = 16 << 20  # of the list of members: about 200,000 members, which take 10 times as much memory
BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, ValueError, NotImplementedError)


def cut(path: str, size: int, target: int) -> list[tuple[int, int]]:
    """Cut a zip file of `size` bytes into ranges of about `target` bytes, each starting at the beginning of a member."""
    ranges = pieces(path, target) if size > target else []
    return [*ranges[:-1], (ranges[-1][0] if ranges else 0, size)]


def pieces(path: str, target: int) -> list[tuple[int, int]]:
    """Cut the members of a zip file into ranges of about `target` bytes, without the list at its end; [] if it is damaged."""
    starts = [0]
    try:
        with open_file(path) as file:
            archive = open_zip(file, _MAX_LIST_BYTES)
            # The list of members is at the end of a zip file, in any order. Sort by offset: then a
            # range of bytes is a run of members, and each one must end before the next begins.
            for info in _members(archive):
                if info.header_offset - starts[-1] >= target:
                    starts.append(info.header_offset)
            end = max(int(archive.start_dir), starts[-1])
    except (TooLarge, *BROKEN):
        return []  # the reader of the file reports the damage
    return list(zip(starts, [*starts[1:], end], strict=True))


def read_zip(part: FileRange, wanted: Wanted) -> Iterator[Member | Drop | Reject]:
    """Read the wanted members that begin in a range.

    Reasons to reject: ``damaged``, ``too-large``, ``encrypted``, ``unsupported-compression``, ``unsafe-name``, ``link``. Other
    files are dropped.
    """
    allowance = Allowance(part.end - part.start)
    with open_file(part.path) as file:
        try:
            archive = open_zip(file, _MAX_LIST_BYTES)
            members = _members(archive)
            ends = [info.header_offset for info in members[1:]] + [sys.maxsize]
            for info, end in zip(members, ends, strict=True):
                if part.start <= info.header_offset < part.end:
                    member = _member(archive, info, end, part, wanted)
                    if isinstance(member, Member):
                        allowance.take(len(member.data))
                    if member is not None:
                        yield member
        except TooLarge as error:
            yield Reject(f"{wanted.source}:{part.name}", "too-large", f"{part.name}: {error}")
        except BROKEN as error:
            yield Reject(f"{wanted.source}:{part.name}", "damaged", f"{part.name}: {error}", part.end - part.start)


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, end: int, part: FileRange, wanted: Wanted
) -> Member | Drop | Reject | None:
    """Read a member whose bytes must end before `end`, or return None for a directory."""
    name = _name(info)
    full = member_name(part, name)
    id, where = f"{wanted.source}:{full}", f"{part.name}: byte {info.header_offset}: {name!r}"
    if reject := refuse_name(name, info.is_dir(), id, where):
        return reject
    if info.is_dir():
        return None
    if stat.S_ISLNK(info.external_attr >> 16):
        return Reject(id, "link", f"{where} is a link, not a file")
    if not wanted.takes(full):
        return Drop("other file in an archive")
    if info.flag_bits & _ENCRYPTED:
        return Reject(id, "encrypted", f"{where} needs a password: unpack the archive first")
    if info.compress_type not in _METHODS:
        return Reject(id, "unsupported-compression", f"{where} is not packed by Deflate: unpack the archive first")
    # Overlapping members are how a zip file of 10 MB lists 281 TB (Fifield 2019, "A better zip
    # bomb").
    if info.header_offset + _HEADER_BYTES + info.compress_size > end:
        return Reject(id, "damaged", f"{where} overlaps the next member")
    if info.file_size > wanted.max_bytes:
        return Reject(id, "too-large", f"{where} has {info.file_size} bytes, more than {wanted.max_bytes}")
    try:
        with archive.open(info) as file:
            # One byte more than the declared size: zipfile checks the CRC only at the end of the member.
            data = file.read(info.file_size + 1)
    except (*BROKEN, RuntimeError) as error:
        return Reject(id, "damaged", f"{where}: {error}", info.compress_size)
    if len(data) < info.file_size:
        return Reject(id, "damaged", f"{where} ends after {len(data)} of {info.file_size} bytes", info.compress_size)
    return Member(full, data)


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members in byte order."""
    return sorted(archive.infolist(), key=lambda info: info.header_offset)


def _name(info: zipfile.ZipInfo) -> str:
    """Return a member's name. Many programs write UTF-8 without setting the flag, or use backslashes."""
    name = info.filename
    if not info.flag_bits & _UTF8:
        with contextlib.suppress(UnicodeError):  # otherwise keep the encoding of the zip format
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/").encode("utf-8", "backslashreplace").decode("utf-8")


def open_zip(file: IO[bytes], max_list_bytes: int) -> zipfile.ZipFile:
    """Open a zip file whose list of members has at most `max_list_bytes` bytes; raise `TooLarge` or one of `BROKEN`."""
    reader = _BoundedList(file, max_list_bytes)
    archive = zipfile.ZipFile(cast("IO[bytes]", reader))
    reader.most = sys.maxsize
    return archive


class _BoundedList:
    """A zip file that raises an error for reads of more than `most` bytes, so that its list of members cannot fill the memory.

    The entries take ten times their bytes in memory, and only zipfile knows where the list is.
    """

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self.most = most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; raise `TooLarge` if `size` exceeds the limit."""
        if size > self.most:
            raise TooLarge(f"its list of files has more than {self.most} bytes")
        return self._file.read(size)

    def seek(self, at: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position; raise BadZipFile if it is negative, which a damaged list can cause."""
        if whence == io.SEEK_SET and at < 0:
            raise zipfile.BadZipFile("its list of files leads out of it")
        return self._file.seek(at, whence)

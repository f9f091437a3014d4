"""Read archives of texts and books, tar and zip, member by member. Nothing is written to disk, and no name or size is trusted.

A zip file is cut into ranges of members. A tar file, compressed or not, is one range, read from the start.
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
from typing import IO, Any, NamedTuple, cast

from ..config.input_kinds import ARCHIVES
from ..records import Drop, FileRange, Reject
from ..storage.files import open_file
from .packed import BrokenFile, open_packed

# What zipfile raises for a damaged file.
BROKEN_ZIP = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, ValueError, NotImplementedError)
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # for these only, zipfile limits the output per read
_ENCRYPTED, _UTF8 = 0x1, 0x800  # flags of a member
_ZIP_HEADER_BYTES = 30  # before a member's name and data
_MAX_LIST_BYTES = 16 << 20  # of a zip file's list of members: about 200,000 members, which take 10 times as much memory
_FREE_BYTES, _MAX_RATIO = 32 << 20, 32  # unpacked bytes of a range of a zip file: a base, plus a multiple of its size


class TooLarge(ValueError):
    """A list of members that has more bytes than allowed."""


class Member(NamedTuple):
    """A file in an archive: its name, which starts with the archive's name, and its bytes."""

    name: str
    data: bytes


class Wanted(NamedTuple):
    """The members to read: the source prefix of their ids, their suffixes, and the maximum size in bytes."""

    source: str
    suffixes: tuple[str, ...]
    max_bytes: int


def is_archive(name: str) -> bool:
    """Return True if a file's name has an archive's suffix."""
    return name.lower().endswith(ARCHIVES)


def cut(path: str, length: int, target: int) -> list[tuple[int, int]]:
    """Cut an archive of `length` bytes into ranges of about `target` bytes, each starting at the beginning of a member."""
    if path.lower().endswith(".zip"):
        ranges = zip_ranges(path, target) if length > target else []
        return [*ranges[:-1], (ranges[-1][0] if ranges else 0, length)]
    if not path.lower().endswith(".tar"):
        with contextlib.suppress(BrokenFile):
            open_packed(path, path).read(1)  # raises if the package that decompresses it is missing
    return [(0, length)]


def zip_ranges(path: str, target: int) -> list[tuple[int, int]]:
    """Cut the members of a zip file into ranges of about `target` bytes, without the list at its end; [] if it is damaged."""
    starts = [0]
    try:
        with open_file(path) as file:
            archive = open_zip(file, _MAX_LIST_BYTES)
            for info in _in_byte_order(archive):
                if info.header_offset - starts[-1] >= target:
                    starts.append(info.header_offset)
            end = max(int(archive.start_dir), starts[-1])
    except BROKEN_ZIP:
        return []  # the reader of the file reports the damage
    return list(zip(starts, [*starts[1:], end], strict=True))


def read_archive(part: FileRange, wanted: Wanted) -> Iterator[Member | Drop | Reject]:
    """Read the wanted members of a range that `cut` returned. Other files are dropped.

    Reasons to reject: ``damaged``, ``truncated``, ``too-large``, ``decompression-bomb``, ``unsafe-name``, ``link``, ``device``,
    ``encrypted``, ``unsupported-compression``.
    """
    from .tar_files import read_tar

    return _read_zip(part, wanted) if part.name.lower().endswith(".zip") else read_tar(part, wanted)


def check_name(part: FileRange, wanted: Wanted, name: str, is_directory: bool, where: str) -> tuple[str, Drop | Reject | None]:
    """Return a member's full name, the archive's name and the path inside it, and a reject for a name that leads outside.

    A file that is hidden or has another suffix is a drop.
    """
    steps = [step for step in name.split("/") if step not in ("", ".")]
    full = "/".join([part.name, *steps]).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if name.startswith("/") or ".." in steps or "\\" in name or not (steps or is_directory):
        return full, Reject(f"{wanted.source}:{full}", "unsafe-name", f"{where} leads out of the archive")
    if not full.lower().endswith(wanted.suffixes) or steps[-1].startswith("."):
        return full, Drop("other file in an archive")
    return full, None


def _read_zip(part: FileRange, wanted: Wanted) -> Iterator[Member | Drop | Reject]:
    """Read the members that begin in a range of a zip file."""
    left = _FREE_BYTES + _MAX_RATIO * (part.end - part.start)
    id = f"{wanted.source}:{part.name}"
    with open_file(part.path) as file:
        try:
            archive = open_zip(file, _MAX_LIST_BYTES)
            members = _in_byte_order(archive)
            ends = [info.header_offset for info in members[1:]] + [sys.maxsize]
            for info, end in zip(members, ends, strict=True):
                if part.start <= info.header_offset < part.end and (member := _zip_member(archive, info, end, part, wanted)):
                    left -= len(member.data) if isinstance(member, Member) else 0
                    if left < 0:  # many small members can unpack to terabytes
                        yield Reject(id, "too-large", f"{part.name}: more than {_MAX_RATIO} times its size when unpacked")
                        return
                    yield member
        except TooLarge as error:
            yield Reject(id, "too-large", f"{part.name}: {error}")
        except BROKEN_ZIP as error:
            yield Reject(id, "damaged", f"{part.name}: {error}", part.end - part.start)


def _zip_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, end: int, part: FileRange, wanted: Wanted
) -> Member | Drop | Reject | None:
    """Read a member whose bytes must end before `end`, or return None for a directory."""
    name = _zip_name(info)
    where = f"{part.name}: byte {info.header_offset}: {name!r}"
    full, refused = check_name(part, wanted, name, info.is_dir(), where)
    id = f"{wanted.source}:{full}"
    if isinstance(refused, Reject):
        return refused
    if info.is_dir():
        return None
    if stat.S_ISLNK(info.external_attr >> 16):
        return Reject(id, "link", f"{where} is a link, not a file")
    if refused:
        return refused
    if info.flag_bits & _ENCRYPTED:
        return Reject(id, "encrypted", f"{where} needs a password: unpack the archive first")
    if info.compress_type not in _ZIP_METHODS:
        return Reject(id, "unsupported-compression", f"{where} is not packed by Deflate: unpack the archive first")
    # Overlapping members are how a zip file of 10 MB lists 281 TB (Fifield 2019, "A better zip
    # bomb").
    if info.header_offset + _ZIP_HEADER_BYTES + info.compress_size > end:
        return Reject(id, "damaged", f"{where} overlaps the next member")
    if info.file_size > wanted.max_bytes:
        return Reject(id, "too-large", f"{where} has {info.file_size} bytes, more than {wanted.max_bytes}")
    try:
        with archive.open(info) as file:
            # One byte more than the declared size: zipfile checks the CRC only at the end of the member.
            data = file.read(info.file_size + 1)
    except (*BROKEN_ZIP, RuntimeError) as error:
        return Reject(id, "damaged", f"{where}: {error}", info.compress_size)
    if len(data) < info.file_size:
        return Reject(id, "damaged", f"{where} ends after {len(data)} of {info.file_size} bytes", info.compress_size)
    return Member(full, data)


def _in_byte_order(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members by offset. The list at the end of a zip file has them in any order."""
    return sorted(archive.infolist(), key=lambda info: info.header_offset)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return a member's name. Many programs write UTF-8 without setting the flag, or use backslashes."""
    name = info.filename
    if not info.flag_bits & _UTF8:
        with contextlib.suppress(UnicodeError):  # otherwise keep the encoding of the zip format
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/").encode("utf-8", "backslashreplace").decode("utf-8")


def open_zip(file: IO[bytes], max_list_bytes: int) -> zipfile.ZipFile:
    """Open a zip file whose list of members has at most `max_list_bytes` bytes; raise `TooLarge` or one of `BROKEN_ZIP`."""
    reader = _BoundedList(file, max_list_bytes)
    archive = zipfile.ZipFile(cast("IO[bytes]", reader))
    reader.most = sys.maxsize
    return archive


class _BoundedList:
    """A zip file that raises TooLarge for reads of more than `most` bytes, so that its list of members cannot fill the memory."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self.most = file, most

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

"""Read archives of texts and books, tar and zip, member by member. Nothing is written to disk, and no name or size is trusted.

A zip file is cut into ranges of members. A tar file, compressed or not, is one range, read from the start.
"""

from __future__ import annotations

import contextlib
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple, TypeVar

from ..config.input_kinds import ARCHIVES
from ..records import Drop, FileRange, Reject
from ..storage.files import open_file, size
from .lines import or_empty, ranges_at
from .packed import BrokenFile, check_package, open_packed

T = TypeVar("T")

# What zipfile raises for a damaged file: OSError for an offset before its beginning (a disk that fails is a StorageError).
BROKEN_ZIP = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)
_BROKEN_TAR = (tarfile.TarError, ValueError, OverflowError, RecursionError, MemoryError)
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # for these only, zipfile limits the output per read
_ENCRYPTED, _UTF8 = 0x1, 0x800  # flags of a member
_LIST_BYTES = 5  # field of the end of a zip file
_MAX_LIST_BYTES = 16 << 20  # of a zip file's list of members: about 200,000 members, which take 10 times as much memory
_FREE_BYTES, _MAX_RATIO = 32 << 20, 32  # unpacked bytes of a range of a zip file: a base, plus a multiple of its size
_MAX_HEADER_BYTES = 1 << 20  # per member of a tar file, with extensions such as long names, which tarfile keeps in memory


class TooLarge(ValueError):
    """A zip file whose list of members, or whose members, are larger than allowed."""


class Member(NamedTuple):
    """A file in an archive: its name, which starts with the archive's name, and its bytes."""

    name: str
    data: bytes


Entry = Member | Drop | Reject
Check = Callable[[str, int, str], "str | Drop | Reject | None"]


def is_archive(name: str) -> bool:
    """Return True if a file's name has an archive's suffix."""
    return name.lower().endswith(ARCHIVES)


def cut(path: str, length: int, target: int) -> list[tuple[int, int]]:
    """Cut an archive of `length` bytes into ranges of about `target` bytes, each starting at the beginning of a member."""
    places: list[int] = []
    check_package(path)
    if path.lower().endswith(".zip") and length > target:
        with contextlib.suppress(*BROKEN_ZIP), open_file(path) as file:  # the reader of the file reports the damage
            members = open_zip(file, _MAX_LIST_BYTES).infolist()
            places = sorted(info.header_offset for info in members if info.header_offset < length)
    return ranges_at(places, length, target)


def read_archive(part: FileRange, source: str, suffixes: tuple[str, ...], max_bytes: int) -> Iterator[Entry]:
    """Read the members of a range that `cut` returned which have one of the suffixes. Other files are dropped.

    Reasons to reject: ``damaged``, ``truncated``, ``too-large``, ``decompression-bomb``, ``unsafe-name``, ``link``,
    ``unsupported-compression``.
    """

    def check(name: str, size: int, kind: str) -> str | Drop | Reject | None:
        """Return the name of a member to read, with the archive's name; or why it is not read; None for a directory."""
        steps = [step for step in name.split("/") if step not in ("", ".")]
        full = "/".join([part.name, *steps]).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        if name.startswith("/") or ".." in steps or "\\" in name or not (steps or kind == "directory"):
            return Reject(f"{source}:{full}", "unsafe-name", f"{part.name}: {name!a} leads out of the archive")
        if kind == "directory":
            return None
        if kind:
            return Reject(f"{source}:{full}", "link", f"{full} is {kind}, not a file")
        if not full.lower().endswith(suffixes) or steps[-1].startswith("."):
            return Drop("other file in an archive")
        if size > max_bytes:
            return Reject(f"{source}:{full}", "too-large", f"{full} has {size} bytes, more than {max_bytes}")
        return full

    is_zip = part.name.lower().endswith(".zip")
    members = _read_zip(part, source, check) if is_zip else each_tar_member(part, source, partial(_tar_member, check))
    return or_empty(members, part, source)


# --- zip ---


def _read_zip(part: FileRange, source: str, check: Check) -> Iterator[Entry]:
    """Read the members that begin in a range of a zip file."""
    left = _FREE_BYTES + _MAX_RATIO * (part.end - part.start)
    with open_file(part.path) as file:
        try:
            archive = open_zip(file, _MAX_LIST_BYTES)
            last = size(part.path) - 1  # a damaged list may place members outside of the file: they are rejects
            for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
                if part.start <= max(0, min(info.header_offset, last)) < part.end and (
                    member := _zip_member(archive, info, source, check)
                ):
                    left -= len(member.data) if isinstance(member, Member) else 0
                    if left < 0:  # many small members, or one whose bytes are listed many times, can unpack to terabytes
                        raise TooLarge(f"more than {_MAX_RATIO} times its size when unpacked")
                    yield member
        except BROKEN_ZIP as error:
            reason, lost = ("too-large", 0) if isinstance(error, TooLarge) else ("damaged", part.end - part.start)
            yield Reject(f"{source}:{part.name}", reason, f"{part.name}: {error}", lost)


def open_zip(file: IO[bytes], max_list_bytes: int) -> zipfile.ZipFile:
    """Open a zip file whose list of members has at most `max_list_bytes` bytes. Raise `TooLarge` or one of `BROKEN_ZIP`."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # opening it would read a list of any size
    if end and end[_LIST_BYTES] > max_list_bytes:
        raise TooLarge(f"its list of files has more than {max_list_bytes} bytes")
    return zipfile.ZipFile(file)


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: str, check: Check) -> Entry | None:
    """Read a member, or return None for a directory."""
    name = info.filename
    if not info.flag_bits & _UTF8:  # many programs write UTF-8 without setting the flag
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    name = name.replace("\\", "/").encode("utf-8", "backslashreplace").decode("utf-8")  # others write backslashes
    kind = "directory" if info.is_dir() else "a link" if stat.S_ISLNK(info.external_attr >> 16) else ""
    full = check(name, info.file_size, kind)
    if not isinstance(full, str):
        return full
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _ZIP_METHODS:
        problem = f"{full} has a password, or is not packed by Deflate: unpack the archive first"
        return Reject(f"{source}:{full}", "unsupported-compression", problem)
    try:
        with archive.open(info) as file:
            return Member(full, file.read(info.file_size + 1))  # one byte more: zipfile checks the CRC at the member's end
    except BROKEN_ZIP as error:
        return Reject(f"{source}:{full}", "damaged", f"{full}: {error}", info.compress_size)


# --- tar ---


def each_tar_member(
    part: FileRange, source: str, read: Callable[[tarfile.TarFile, tarfile.TarInfo], Iterator[T]]
) -> Iterator[T | Reject]:
    """Yield what `read` returns for each member. An archive that is damaged, or has no end mark, is a reject."""
    id, at = f"{source}:{part.name}", 0
    broken: Reject | None = None
    try:
        with open_packed(part.path, part.name) as opened:
            file: Any = _BoundedHeaders(opened)
            try:
                with tarfile.open(
                    fileobj=file, mode="r|", tarinfo=_Header, encoding="utf-8", errors="surrogateescape"
                ) as archive:
                    for info in archive:
                        at, file.left = info.offset, sys.maxsize
                        if archive.offset <= at:
                            raise tarfile.ReadError(f"a member of {info.size} bytes")
                        yield from read(archive, info)
                        stream: Any = archive.fileobj
                        stream.seek(max(archive.offset - 1, stream.tell()))  # skip the rest of the member
                        at, file.left = archive.offset, _MAX_HEADER_BYTES
                        # tarfile keeps every header, and attributes of all members
                        archive.members, archive.pax_headers = [], {}  # type: ignore[attr-defined]
            except _BROKEN_TAR as error:
                message = str(error) or type(error).__name__
                ends = any(words in message for words in ("unexpected end", "empty", "truncated"))
                where = f"{part.name}: byte {at}: {message}; what follows is lost"
                broken = Reject(id, "truncated" if ends else "damaged", where)
            file.left = sys.maxsize
            while file.read(_MAX_HEADER_BYTES):  # to the end, where the compression format detects truncation
                pass
            if broken and broken.reason == "damaged":
                broken = broken._replace(lost=part.end * (file.count - at) // max(1, file.count))
    except BrokenFile as error:
        broken = error.as_reject(id)
    if broken:
        yield broken


class _BoundedHeaders:
    """A file for tarfile of which at most `left` more bytes can be read, and the number of bytes read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.left, self.count = file, _MAX_HEADER_BYTES, 0

    def read(self, size: int) -> bytes:
        data: bytes = self._file.read1(size)  # type: ignore[attr-defined]  # `read` would lose what comes before damage
        self.count, self.left = self.count + len(data), self.left - len(data)
        if self.left < 0:
            raise tarfile.ReadError(f"a header of more than {_MAX_HEADER_BYTES} bytes")
        return data


class _Header(tarfile.TarInfo):
    """A header that raises an error when broken; tarfile takes a broken header after the first for the end of the archive."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _Header:
        try:
            return super().fromtarfile(archive)
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # a block of zeros
                raise
            raise tarfile.ReadError(str(error)) from None


def _tar_member(check: Check, archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[Entry]:
    kind = "directory" if info.isdir() else "" if info.isreg() else f"a link to {info.linkname!a}, a device or a pipe"
    full = check(info.name, info.size, kind)
    if isinstance(full, str):
        file: Any = archive.extractfile(info)
        data = file.read()
        if len(data) < info.size:
            raise tarfile.ReadError("unexpected end of data")
        yield Member(full, data)
    elif full:
        yield full

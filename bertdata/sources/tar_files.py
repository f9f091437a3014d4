"""Read a tar file, compressed or not, member by member and from the start, for `bertdata.sources.archives`."""

from __future__ import annotations

import sys
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar, cast

from ..records import Drop, FileRange, Reject
from ..storage.files import open_file
from .archives import Member, Wanted, check_name
from .line_ranges import read_lines
from .packed import BrokenFile, open_packed

T = TypeVar("T")

_BROKEN_TAR = (tarfile.TarError, ValueError, OverflowError, RecursionError, MemoryError)
_MAX_GLOBAL_ATTRIBUTES = 10_000  # of a tar file, which tarfile also keeps in memory
_MAX_TAR_HEADER_BYTES = 1 << 20  # per member, with extensions such as long names; tarfile keeps it in memory
_BUFFER_BYTES = 1 << 18


def read_tar(part: FileRange, wanted: Wanted) -> Iterator[Member | Drop | Reject]:
    """Read a tar file. An archive without its end mark is a reject."""

    def member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[Member | Drop | Reject]:
        if entry := _tar_member(archive, info, part, wanted):
            yield entry

    yield from _each(part, wanted.source, member)


def read_tar_lines(part: FileRange, source: str, max_bytes: int) -> Iterator[tuple[int, bytes | Reject | None]]:
    """Read the lines of all files of a tar file, each with its place in the unpacked archive. None: longer than `max_bytes`."""
    last = 0

    def lines(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[tuple[int, bytes | None]]:
        if info.isreg() and (file := archive.extractfile(info)):
            for at, line in read_lines(file, None, max_bytes):
                if line is None or line.strip():
                    yield info.offset_data + at, line

    for found in _each(part, source, lines):
        last, line = (last, found) if isinstance(found, Reject) else found
        yield last, line


def _each(part: FileRange, source: str, read: Callable[[tarfile.TarFile, tarfile.TarInfo], Iterator[T]]) -> Iterator[T | Reject]:
    """Yield what `read` returns for each member. An archive without its end mark is a reject."""
    id, at = f"{source}:{part.name}", 0
    broken: Reject | None = None
    try:
        with open_file(part.path) if part.name.lower().endswith(".tar") else open_packed(part.path, part.name) as file:
            try:
                for archive, info in _tar_headers(_ForwardFile(file)):
                    at = info.offset
                    yield from read(archive, info)
                    at = archive.offset
            except _BROKEN_TAR as error:
                message = str(error) or type(error).__name__
                ends = any(words in message for words in ("unexpected end", "empty", "truncated"))
                where = f"{part.name}: byte {at}: {message}; what follows is lost"
                broken = Reject(id, "truncated" if ends else "damaged", where)
            rest = 0
            while data := file.read(_BUFFER_BYTES):  # read to the end, where the compression format detects truncation
                rest += len(data)
            if broken and broken.reason == "damaged":
                broken = broken._replace(lost=part.end * rest // max(1, at + rest))
    except BrokenFile as error:
        broken = Reject(id, error.reason, error.where, error.lost)
    if broken:
        yield broken


def _tar_headers(file: _ForwardFile) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Walk from header to header, and drop the headers already read from memory."""
    opening: Any = file
    with tarfile.TarFile(fileobj=opening, tarinfo=_Header, encoding="utf-8", errors="surrogateescape") as archive:
        while archive.offset:  # 0: the archive is empty, and Python 3.10 would seek to -1
            file.left = _MAX_TAR_HEADER_BYTES
            info = archive.next()
            if info is None:
                return
            if archive.offset <= info.offset:
                raise tarfile.ReadError(f"a member of {info.size} bytes")
            if len(archive.pax_headers) > _MAX_GLOBAL_ATTRIBUTES:
                raise tarfile.ReadError(f"more than {_MAX_GLOBAL_ATTRIBUTES} attributes of all members")
            file.left = sys.maxsize
            yield archive, info
            archive.members = []  # type: ignore[attr-defined]  # tarfile keeps every header


class _ForwardFile:
    """A file for tarfile that only moves forward. At most `left` bytes are read for one header and its extensions."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._at, self.left = file, 0, _MAX_TAR_HEADER_BYTES

    def tell(self) -> int:
        return self._at

    def seek(self, at: int) -> None:
        if at < self._at:
            raise tarfile.StreamError("a member begins before the end of the previous one")
        while self._at < at and (data := self._file.read(min(_BUFFER_BYTES, at - self._at))):
            self._at += len(data)

    def read(self, size: int) -> bytes:
        if size > self.left:
            raise tarfile.ReadError(f"a header of more than {_MAX_TAR_HEADER_BYTES} bytes")
        self.left -= size
        data = self._file.read(size)
        self._at += len(data)
        return data


def _tar_member(
    archive: tarfile.TarFile, info: tarfile.TarInfo, part: FileRange, wanted: Wanted
) -> Member | Drop | Reject | None:
    """Read a member, or return None for a directory."""
    where = f"{part.name}: byte {info.offset}: {info.name!a}"
    full, refused = check_name(part, wanted, info.name, info.isdir(), where)
    id = f"{wanted.source}:{full}"
    if isinstance(refused, Reject):
        return refused
    if info.isdir():
        return None
    if info.issym() or info.islnk():
        return Reject(id, "link", f"{where} is a link to {info.linkname!a}, not a file")
    if info.isdev():
        return Reject(id, "device", f"{where} is a device or a pipe, not a file")
    if refused:
        return refused
    if info.size > wanted.max_bytes:
        return Reject(id, "too-large", f"{where} has {info.size} bytes, more than {wanted.max_bytes}")
    data = cast("IO[bytes]", archive.extractfile(info)).read()
    if len(data) < info.size:
        raise tarfile.ReadError("unexpected end of data")
    return Member(full, data)


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

    @classmethod
    def frombuf(cls, buffer: bytes | bytearray, encoding: str, errors: str) -> _Header:
        header = super().frombuf(buffer, encoding, errors)
        if header.size < 0:
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header

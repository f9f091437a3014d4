"""Read a tar file, compressed or not, member by member. Nothing is written to disk, and no member name is trusted.

A plain tar file is cut into ranges of complete members by walking from header to header. A compressed one is read from the start.
"""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple, cast

from ...records import Drop, FileRange, Reject
from ...storage.files import open_file
from ..compressed import Stream
from .member import Member, Wanted, member_name, refuse_name

__all__ = ["cut", "read_tar"]

_MAX_HEADER_BYTES = 1 << 20  # per member, with extensions (long names, attributes, sparse maps); tarfile keeps it in memory
_MAX_GLOBAL_ATTRIBUTES = 10_000  # global attributes, which tarfile also keeps in memory
_BUFFER_BYTES = 1 << 18
_FORMAT_ERRORS = (tarfile.TarError, ValueError, OverflowError, RecursionError, MemoryError)


def cut(path: str, size: int, target: int) -> list[tuple[int, int]]:
    """Cut a plain archive of `size` bytes into ranges of about `target` bytes that begin where a member does."""
    if not path.lower().endswith(".tar"):
        Stream(path).read(1)  # raises if the package that decompresses it is missing
        return [(0, size)]
    starts = [0]
    try:
        with open_file(path) as file:
            for _, info in _members(_File(file, forward=False)):
                if info.offset - starts[-1] >= target:
                    starts.append(info.offset)
    except _FORMAT_ERRORS:
        pass  # the task that reads the last range reports it
    return list(zip(starts, [*starts[1:], size], strict=True))


def read_tar(part: FileRange, wanted: Wanted) -> Iterator[Member | Drop | Reject]:
    """Read the wanted members of a range.

    Reasons to reject: ``unsafe-name``, ``link``, ``device``, ``too-large``, ``truncated``, ``damaged``,
    ``decompression-bomb``. Other files are dropped.
    """
    if part.name.lower().endswith(".tar"):
        with open_file(part.path) as file:
            file.seek(part.start)
            for entry in _read(file, "r:", part, wanted):
                if isinstance(entry, _Break):
                    where = f"{part.name}: byte {entry.at}: {entry.said}"
                    yield _refuse(part, wanted, entry.reason, where, part.end - entry.at)
                else:
                    yield entry
        return
    stream = Stream(part.path)
    unpacked = cast("IO[bytes]", io.BufferedReader(stream, _BUFFER_BYTES))
    broken: _Break | None = None
    for entry in _read(unpacked, "r|", part, wanted):
        if isinstance(entry, _Break):
            broken = entry
        else:
            yield entry
    while unpacked.read(_BUFFER_BYTES):  # read to the end, where the compression format detects truncation
        pass
    if damage := stream.damage:
        where = f"bytes {damage.start}-{damage.end} of {part.name}: {damage.reason}"
        yield _refuse(part, wanted, damage.of_file, where, part.end - damage.start)
    elif broken:
        unread = max(0, stream.tell() - broken.at) / max(1, stream.tell())
        yield _refuse(part, wanted, broken.reason, f"{part.name}: byte {broken.at}: {broken.said}", int(unread * part.end))


class _Break(NamedTuple):
    """Where and why an archive cannot be read further: ``truncated`` at the end of the file, otherwise ``damaged``."""

    at: int
    said: str
    reason: str


def _refuse(part: FileRange, wanted: Wanted, reason: str, where: str, lost: int) -> Reject:
    lost = 0 if reason == "truncated" else lost
    return Reject(f"{wanted.source}:{part.name}", reason, f"{where}; what follows is lost", lost)


def _read(file: IO[bytes], mode: str, part: FileRange, wanted: Wanted) -> Iterator[Member | Drop | Reject | _Break]:
    at = part.start
    try:
        for archive, info in _members(_File(file, forward=mode == "r|")):
            if mode == "r:" and info.offset >= part.end:
                return
            at = info.offset
            if entry := _member(archive, info, part, wanted):
                yield entry
            at = archive.offset
    except _FORMAT_ERRORS as error:
        message = str(error) or type(error).__name__
        ends = any(words in message for words in ("unexpected end", "empty", "truncated"))
        yield _Break(at, message, "truncated" if ends else "damaged")


def _member(archive: tarfile.TarFile, info: tarfile.TarInfo, part: FileRange, wanted: Wanted) -> Member | Drop | Reject | None:
    """Read a member, or return None for a directory."""
    name = info.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    full = member_name(part, name)
    id, where = f"{wanted.source}:{full}", f"{part.name}: byte {info.offset}: {name!r}"
    if reject := refuse_name(info.name, info.isdir(), id, where):
        return reject
    if info.isdir():
        return None
    if info.issym() or info.islnk():
        return Reject(id, "link", f"{where} is a link to {info.linkname!a}, not a file")
    if info.isdev():
        return Reject(id, "device", f"{where} is a device or a pipe, not a file")
    if not wanted.takes(full):
        return Drop("other file in an archive")
    if info.size > wanted.max_bytes:
        return Reject(id, "too-large", f"{where} has {info.size} bytes, more than {wanted.max_bytes}")
    data = cast("IO[bytes]", archive.extractfile(info)).read()
    if len(data) < info.size:
        raise tarfile.ReadError("unexpected end of data")
    return Member(full, data)


def _members(file: _File) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Walk from header to header, and drop the headers already read from memory."""
    opening: Any = file
    with tarfile.TarFile(fileobj=opening, tarinfo=_Header, encoding="utf-8", errors="surrogateescape") as archive:
        while archive.offset:  # 0: the archive is empty, and Python 3.10 would seek to -1
            file.left = _MAX_HEADER_BYTES
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


class _File:
    """A file for tarfile, optionally `forward` only. At most `left` bytes are read for one header and its extensions."""

    def __init__(self, file: IO[bytes], *, forward: bool) -> None:
        self._file, self._forward = file, forward
        self._at = 0 if forward else file.tell()
        self.left = _MAX_HEADER_BYTES

    def tell(self) -> int:
        return self._at

    def seek(self, at: int) -> None:
        if not self._forward:
            self._at = self._file.seek(at)
        elif at < self._at:
            raise tarfile.StreamError("a member begins before the end of the previous one")
        while self._at < at and (data := self._file.read(min(_BUFFER_BYTES, at - self._at))):
            self._at += len(data)

    def read(self, size: int) -> bytes:
        if size > self.left:
            raise tarfile.ReadError(f"a header of more than {_MAX_HEADER_BYTES} bytes")
        self.left -= size
        data = self._file.read(size)
        self._at += len(data)
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

    @classmethod
    def frombuf(cls, buffer: bytes | bytearray, encoding: str, errors: str) -> _Header:
        header = super().frombuf(buffer, encoding, errors)
        if header.size < 0:
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header

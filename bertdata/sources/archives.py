"""Read archives of texts and books, tar and zip, member by member. Nothing is written to disk, and no name or size is trusted.

A zip file is cut into ranges of members. A tar file, compressed or not, is one range, read from the start.
"""

from __future__ import annotations

import contextlib
import stat
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple, TypeVar, cast

from ..config.input_kinds import ARCHIVES
from ..records import Drop, FileRange, Reject
from ..storage.files import open_file, size
from .lines import ranges_at, read_lines
from .packed import BrokenFile, check_package, open_packed
from .zip_list import BROKEN_ZIP, TooLarge, open_zip

T = TypeVar("T")

_BROKEN_TAR = (tarfile.TarError, ValueError, OverflowError, RecursionError, MemoryError)
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # for these only, zipfile limits the output per read
_ENCRYPTED, _UTF8 = 0x1, 0x800  # flags of a member
_MAX_LIST_BYTES = 16 << 20  # of a zip file's list of members: about 200,000 members, which take 10 times as much memory
_FREE_BYTES, _MAX_RATIO = 32 << 20, 32  # unpacked bytes of a range of a zip file: a base, plus a multiple of its size
_MAX_GLOBAL_ATTRIBUTES = 10_000  # of a tar file, which tarfile keeps in memory
_MAX_TAR_HEADER_BYTES = 1 << 20  # per member, with extensions such as long names; tarfile keeps it in memory
_BUFFER_BYTES = 1 << 18


class Member(NamedTuple):
    """A file in an archive: its name, which starts with the archive's name, and its bytes."""

    name: str
    data: bytes


class Wanted(NamedTuple):
    """The members to read: the source prefix of their ids, their suffixes, and the maximum size in bytes."""

    source: str
    suffixes: tuple[str, ...]
    max_bytes: int


Entry = Member | Drop | Reject


def is_archive(name: str) -> bool:
    """Return True if a file's name has an archive's suffix."""
    return name.lower().endswith(ARCHIVES)


def cut(path: str, length: int, target: int) -> list[tuple[int, int]]:
    """Cut an archive of `length` bytes into ranges of about `target` bytes, each starting at the beginning of a member."""
    places: list[int] = []
    if path.lower().endswith(".zip") and length > target:
        with contextlib.suppress(*BROKEN_ZIP), open_file(path) as file:  # the reader of the file reports the damage
            offsets = (info.header_offset for info in open_zip(file, _MAX_LIST_BYTES).infolist())
            places = [offset for offset in offsets if offset < length]
    elif not path.lower().endswith((".tar", ".zip")):
        check_package(path)
    return ranges_at(places, length, target)


def read_archive(part: FileRange, wanted: Wanted) -> Iterator[Entry]:
    """Read the wanted members of a range that `cut` returned. Other files are dropped.

    Reasons to reject: ``damaged``, ``truncated``, ``too-large``, ``decompression-bomb``, ``unsafe-name``, ``link``, ``device``,
    ``encrypted``, ``unsupported-compression``.
    """
    if part.name.lower().endswith(".zip"):
        return _read_zip(part, wanted)
    return _each_tar_member(part, wanted.source, partial(_tar_member, part, wanted))


def _check(
    part: FileRange, wanted: Wanted, name: str, where: str, size: int, special: tuple[str, str]
) -> str | Drop | Reject | None:
    """Return the name of a member to read, with the archive's name; or why it is not read; None for a directory.

    `special` is the kind of a member that is not a file, which is the reason of its reject, and the problem.
    """
    steps = [step for step in name.split("/") if step not in ("", ".")]
    full = "/".join([part.name, *steps]).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    is_directory = special[0] == "directory"
    if name.startswith("/") or ".." in steps or "\\" in name or not (steps or is_directory):
        return Reject(f"{wanted.source}:{full}", "unsafe-name", f"{where} leads out of the archive")
    if is_directory:
        return None
    if special[0]:
        return Reject(f"{wanted.source}:{full}", special[0], f"{where} is {special[1]}, not a file")
    if not full.lower().endswith(wanted.suffixes) or steps[-1].startswith("."):
        return Drop("other file in an archive")
    if size > wanted.max_bytes:
        return Reject(f"{wanted.source}:{full}", "too-large", f"{where} has {size} bytes, more than {wanted.max_bytes}")
    return full


# --- zip ---


def _read_zip(part: FileRange, wanted: Wanted) -> Iterator[Entry]:
    """Read the members that begin in a range of a zip file."""
    left = _FREE_BYTES + _MAX_RATIO * (part.end - part.start)
    id = f"{wanted.source}:{part.name}"
    with open_file(part.path) as file:
        try:
            archive = open_zip(file, _MAX_LIST_BYTES)
            last = size(part.path) - 1  # the last range rejects members that a damaged list places beyond the end of the file
            for info in archive.infolist():
                is_here = part.start <= min(info.header_offset, last) < part.end
                if is_here and (member := _zip_member(archive, info, part, wanted)):
                    left -= len(member.data) if isinstance(member, Member) else 0
                    if left < 0:  # many small members, or one whose bytes are listed many times, can unpack to terabytes
                        yield Reject(id, "too-large", f"{part.name}: more than {_MAX_RATIO} times its size when unpacked")
                        return
                    yield member
        except TooLarge as error:
            yield Reject(id, "too-large", f"{part.name}: {error}")
        except BROKEN_ZIP as error:
            yield Reject(id, "damaged", f"{part.name}: {error}", part.end - part.start)


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, part: FileRange, wanted: Wanted) -> Entry | None:
    """Read a member, or return None for a directory."""
    name = _zip_name(info)
    where = f"{part.name}: byte {info.header_offset}: {name!r}"
    kind = "directory" if info.is_dir() else "link" if stat.S_ISLNK(info.external_attr >> 16) else ""
    full = _check(part, wanted, name, where, info.file_size, (kind, "a link"))
    if not isinstance(full, str):
        return full
    id = f"{wanted.source}:{full}"
    if info.flag_bits & _ENCRYPTED:
        return Reject(id, "encrypted", f"{where} needs a password: unpack the archive first")
    if info.compress_type not in _ZIP_METHODS:
        return Reject(id, "unsupported-compression", f"{where} is not packed by Deflate: unpack the archive first")
    try:
        with archive.open(info) as file:
            data = file.read(info.file_size + 1)  # one byte more: zipfile checks the CRC at the end of the member
        problem = f" ends after {len(data)} of {info.file_size} bytes" if len(data) < info.file_size else ""
    except (*BROKEN_ZIP, RuntimeError) as error:
        problem = f": {error}"
    return Reject(id, "damaged", f"{where}{problem}", info.compress_size) if problem else Member(full, data)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return a member's name. Many programs write UTF-8 without setting the flag, or use backslashes."""
    name = info.filename
    if not info.flag_bits & _UTF8:
        with contextlib.suppress(UnicodeError):  # otherwise keep the encoding of the zip format
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/").encode("utf-8", "backslashreplace").decode("utf-8")


# --- tar ---


def read_tar_lines(part: FileRange, source: str, max_bytes: int) -> Iterator[tuple[int, bytes | Reject | None]]:
    """Read the lines of all files of a tar file, each with its place in the unpacked archive. None: longer than `max_bytes`."""
    last = 0

    def lines(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[tuple[int, bytes | None]]:
        if info.isreg() and (file := archive.extractfile(info)):
            for at, line in read_lines(file, None, max_bytes):
                if line is None or line.strip():
                    yield info.offset_data + at, line

    for found in _each_tar_member(part, source, lines):
        if isinstance(found, Reject):
            yield last, found
        else:
            last = found[0]
            yield found


def _each_tar_member(
    part: FileRange, source: str, read: Callable[[tarfile.TarFile, tarfile.TarInfo], Iterator[T]]
) -> Iterator[T | Reject]:
    """Yield what `read` returns for each member. An archive without its end mark is a reject."""
    id, at = f"{source}:{part.name}", 0
    broken: Reject | None = None
    try:
        with open_packed(part.path, part.name) as file:
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
        while archive.offset or getattr(archive, "firstmember", None):  # neither: it is empty; Python 3.10 would seek to -1
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
        if not 0 <= size <= self.left:
            raise tarfile.ReadError(f"a header of less than 0 or more than {_MAX_TAR_HEADER_BYTES} bytes")
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


def _tar_member(part: FileRange, wanted: Wanted, archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[Entry]:
    kinds = {"directory": info.isdir(), "link": info.issym() or info.islnk(), "device": info.isdev()}
    kind = next((kind for kind, is_it in kinds.items() if is_it), "")
    problem = f"a link to {info.linkname!a}" if kind == "link" else "a device or a pipe"
    where = f"{part.name}: byte {info.offset}: {info.name!a}"
    full = _check(part, wanted, info.name, where, info.size, (kind, problem))
    if isinstance(full, str):
        data = cast("IO[bytes]", archive.extractfile(info)).read()
        if len(data) < info.size:
            raise tarfile.ReadError("unexpected end of data")
        yield Member(full, data)
    elif full:
        yield full

"""Read archives of texts and books, tar and zip, member by member. Nothing is written to disk, and no name or size is trusted.

A zip file is read in ranges. A tar file, compressed or not, is one range, read from the start.
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

from ..records import Drop, FileRange, Reject
from ..storage.files import open_file, size
from .lines import or_empty
from .packed import BrokenFile, open_packed

T = TypeVar("T")
Read = Callable[[], bytes]

# What zipfile raises for a damaged file: OSError for an offset before its beginning (a disk that fails is a StorageError).
BROKEN_ZIP = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)
_BROKEN_TAR = (tarfile.TarError, ValueError, OverflowError, RecursionError, MemoryError)
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # for these only, zipfile limits the output per read
_ENCRYPTED, _UTF8 = 0x1, 0x800  # flags of a member
_LIST_BYTES = 5  # field of the end of a zip file
_MAX_LIST_BYTES = 16 << 20  # of a zip file's list of members: about 200,000 members, which take 10 times as much memory
_FREE_BYTES, _MAX_RATIO = 32 << 20, 32  # unpacked bytes of a zip file: a base, plus a multiple of its size
_MAX_HEADER_BYTES = 1 << 20  # per member of a tar file, with extensions such as long names, which tarfile keeps in memory


class TooLarge(ValueError):
    """A zip file whose list of members, or whose members, are larger than allowed."""


class Member(NamedTuple):
    """A file in an archive; its name starts with the archive's name."""

    name: str
    data: bytes


Entry = Member | Drop | Reject


def cut(path: str, length: int, target: int) -> list[tuple[int, int]]:
    """Cut a zip file of `length` bytes into ranges of `target` bytes. No other file is cut."""
    step = target if path.lower().endswith(".zip") else max(1, length)
    return [(start, min(start + step, length)) for start in range(0, max(1, length), step)]


def read_archive(part: FileRange, source: str, suffixes: tuple[str, ...], max_bytes: int) -> Iterator[Entry]:
    """Read the members of a range that `cut` returned which have one of the suffixes. Other files are dropped.

    Reasons to reject: ``damaged``, ``truncated``, ``too-large``, ``decompression-bomb``, ``unsafe-name``, ``unsupported-member``.
    """
    member = partial(_member, part, source, suffixes, max_bytes)
    is_zip = part.name.lower().endswith(".zip")
    members = _read_zip(part, source, member) if is_zip else each_tar_member(part, source, partial(_tar_member, member))
    return or_empty(members, part, source)


def _member(
    part: FileRange, source: str, suffixes: tuple[str, ...], max_bytes: int, name: str, size: int, problem: str, read: Read
) -> Entry:
    """Read a member of `size` bytes, unless it is dropped or rejected; `problem` is why it cannot be read, or ""."""
    steps = [step for step in name.split("/") if step not in ("", ".")]
    full = "/".join([part.name, *steps]).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    id = f"{source}:{full}"
    if name.startswith("/") or ".." in steps or "\\" in name or not steps:
        return Reject(id, "unsafe-name", f"{part.name}: {name!a} leads out of the archive")
    if not full.lower().endswith(suffixes) or steps[-1].startswith("."):
        return Drop("other file in an archive")
    if problem:
        return Reject(id, "unsupported-member", f"{full} is {problem}. Unpack the archive first")
    if size > max_bytes:
        return Reject(id, "too-large", f"{full} has {size} bytes, more than {max_bytes}")
    return Member(full, read())


# --- zip ---


def _read_zip(part: FileRange, source: str, member: Callable[..., Entry]) -> Iterator[Entry]:
    """Read the members of a range of a zip file: of a tenth of its bytes, a tenth of the members."""
    with open_file(part.path) as file:
        try:
            archive, length = open_zip(file, _MAX_LIST_BYTES), size(part.path)
            infos = [info for info in archive.infolist() if not info.is_dir()]
            # Many small members, or one whose bytes are listed many times, can unpack to terabytes.
            if sum(info.file_size for info in infos) > _FREE_BYTES + _MAX_RATIO * length:
                raise TooLarge(f"more than {_MAX_RATIO} times its size when unpacked")
        except BROKEN_ZIP as error:
            reason, lost = ("too-large", 0) if isinstance(error, TooLarge) else ("damaged", part.end - part.start)
            yield Reject(f"{source}:{part.name}", reason, f"{part.name}: {error}", lost)
            return
        first, last = (-(-len(infos) * at // length) for at in (part.start, part.end))
        for info in infos[first:last]:
            name = info.filename
            if not info.flag_bits & _UTF8:  # many programs write UTF-8 without setting the flag
                with contextlib.suppress(UnicodeError):
                    name = name.encode("cp437").decode("utf-8")
            mode = info.external_attr >> 16
            is_odd = info.flag_bits & _ENCRYPTED or info.compress_type not in _ZIP_METHODS or stat.S_ISLNK(mode)
            problem = "a link, encrypted, or not packed by Deflate" if is_odd else ""
            try:
                yield member(name.replace("\\", "/"), info.file_size, problem, partial(_unzip, archive, info))
            except BROKEN_ZIP as error:
                yield Reject(f"{source}:{part.name}/{name}", "damaged", f"{part.name}/{name}: {error}", info.compress_size)


def _unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as file:
        return file.read(info.file_size + 1)  # one byte more: zipfile checks the CRC at the member's end


def open_zip(file: IO[bytes], max_list_bytes: int) -> zipfile.ZipFile:
    """Open a zip file whose list of members has at most `max_list_bytes` bytes. Raise `TooLarge` or one of `BROKEN_ZIP`."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # opening it would read a list of any size
    if end and end[_LIST_BYTES] > max_list_bytes:
        raise TooLarge(f"its list of files has more than {max_list_bytes} bytes")
    return zipfile.ZipFile(file)


# --- tar ---


def each_tar_member(
    part: FileRange, source: str, read: Callable[[tarfile.TarFile, tarfile.TarInfo], Iterator[T]]
) -> Iterator[T | Reject]:
    """Yield what `read` returns for each member. An archive that is damaged, or has no end mark, is a reject."""
    id, at = f"{source}:{part.name}", 0
    try:
        with open_packed(part.path, part.name) as opened:
            file: Any = _BoundedHeaders(opened)
            try:
                with tarfile.open(fileobj=file, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
                    stream: Any = archive.fileobj
                    for info in archive:
                        at, file.left = info.offset, sys.maxsize
                        if archive.offset <= at:
                            raise tarfile.ReadError(f"a member of {info.size} bytes")
                        yield from read(archive, info)
                        stream.seek(max(archive.offset - 1, stream.tell()))  # skip the rest of the member
                        at, file.left = archive.offset, _MAX_HEADER_BYTES
                        # tarfile keeps every header, and attributes of all members
                        archive.members, archive.pax_headers = [], {}  # type: ignore[attr-defined]
                    # tarfile takes a broken header, and the end of a cut file, for the end, which is a block of zeros. Read on:
                    # only zeros may follow, and the compression format has a checksum.
                    file.left, end = sys.maxsize, stream.tell() - at
                    is_broken = any(rest.strip(b"\0") for rest in iter(partial(stream.read, _MAX_HEADER_BYTES), b""))
                    if is_broken or end < tarfile.BLOCKSIZE:
                        raise tarfile.ReadError("a broken header, or no end mark")
            except _BROKEN_TAR as error:
                file.left = sys.maxsize
                while file.read(_MAX_HEADER_BYTES):  # to the end, where the compression format detects truncation
                    pass
                lost = part.end * (file.count - at) // max(1, file.count)
                yield Reject(id, "damaged", f"{part.name}: byte {at}: {error!r}; what follows is lost", lost)
    except BrokenFile as error:
        yield error.as_reject(id)


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


def _tar_member(member: Callable[..., Entry], archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[Entry]:
    if not info.isdir():
        problem = "" if info.isreg() else f"a link to {info.linkname!a}, a device or a pipe"
        yield member(info.name, info.size, problem, lambda: archive.extractfile(info).read())  # type: ignore[union-attr]

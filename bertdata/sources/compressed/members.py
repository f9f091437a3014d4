"""Read a plain or compressed file in bounded memory, and continue after what is damaged as far as its format allows.

Bzip2 is read from any block on.  The other formats can be read from the beginning of the file only, and check
what they give at the end only: what follows damage is lost, and named.
"""

from __future__ import annotations

import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from ...errors import UsageError
from ...extras import missing_package
from ...io.files import open_file
from . import bzip2
from .bzip2 import CHUNK, MOST, Damage, DecompressedBlock

__all__ = ["UNCUT", "DecompressedBlock", "Damage", "blocks"]

_MEMORY = 128 << 20  # bytes that a decompressor may take, zstd's own limit; what needs more was packed with --long or the like
_STEP = 512  # compressed bytes that zstd gets at a time: they hold 128 blocks of 128 kB at most
FREE_BYTES = 256 << 20  # unpacked bytes that a file may have, however small it is
MAX_RATIO = 250  # unpacked bytes for each packed byte beyond that: text has 3 to 10, all revisions of a page up to 100


def blocks(path: str, start: int = 0, end: int = 0) -> Iterator[DecompressedBlock | Damage]:
    """Read a file from the block (plain: the byte) at `start` to its end; the reader stops when it has enough.

    A plain file is read so that no block reaches over `end`. Formats other than bzip2 are read from byte 0.
    A packed file that unpacks to more than `FREE_BYTES` and more than `MAX_RATIO` times its size ends in a Damage,
    ``decompression-bomb``.
    """
    suffix = Path(path).suffix.lower()
    with open_file(path) as file:
        if suffix == ".bz2":
            size = (end or file.seek(0, os.SEEK_END)) - start
            yield from _limited(bzip2.blocks(file, start), file, size)
        elif suffix in _MEMBERS:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            yield from _limited(_members(file, _MEMBERS[suffix](path)), file, size)
        else:
            file.seek(start)
            while data := file.read(min(CHUNK, end - start) if start < end else CHUNK):
                yield DecompressedBlock(start, data)
                start += len(data)


def _limited(unpacked: Iterator[DecompressedBlock | Damage], file: IO[bytes], size: int) -> Iterator[DecompressedBlock | Damage]:
    """Pass on what `size` packed bytes unpack to, up to more than any text does."""
    left = FREE_BYTES + MAX_RATIO * size
    for block in unpacked:
        if isinstance(block, DecompressedBlock):
            left -= len(block.data)
            if left < 0:
                yield Damage(block.at, file.seek(0, os.SEEK_END), "decompression-bomb")
                return
        yield block


class _Member:
    """A member of a file: a gzip member, an xz stream, a zstd frame; files of one format follow each other in a file."""

    _member: Any  # the library's decompressor

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes of the file unpack to, in parts of bounded size; raise _Damaged."""
        raise NotImplementedError

    @property
    def eof(self) -> bool:
        """Whether the member is read to its end."""
        return bool(self._member.eof)

    @property
    def unused(self) -> int:
        """How many of the bytes fed last lie behind that end."""
        return len(self._member.unused_data) if self.eof else 0


class _Damaged(Exception):
    """A member is not what its format demands."""


def _members(file: IO[bytes], member: Callable[[], _Member]) -> Iterator[DecompressedBlock | Damage]:
    """Decompress member after member; what follows a damaged one is lost, and named.

    At the end of a member the libraries copy the bytes behind it. So a member gets few bytes first and twice as many each time:
    otherwise each of a million tiny members would copy the rest of its chunk.
    """
    chunk, at = file.read(CHUNK), 0
    while at < len(chunk):
        current, begin, step = member(), file.tell() - len(chunk) + at, _STEP
        try:
            while not current.eof:
                if at == len(chunk):
                    chunk, at = file.read(CHUNK), 0
                    if not chunk:
                        yield Damage(begin, file.tell(), "truncated-stream")
                        return
                fed = chunk[at : at + step]
                for part in current.feed(fed):
                    yield DecompressedBlock(0, part)
                at += len(fed) - current.unused
                step *= 2
        except _Damaged:
            yield Damage(begin, file.seek(0, os.SEEK_END), "damaged-stream")
            return
        while at == len(chunk) or (chunk[at] == 0 and not chunk[at:].strip(b"\0")):  # padding, which all three formats may have
            chunk, at = file.read(CHUNK), 0
            if not chunk:
                return


class _Gzip(_Member):
    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self.eof:  # at the end `unconsumed_tail` stays as it was
            try:
                out = self._member.decompress(data, MOST)
            except zlib.error:
                raise _Damaged from None
            data = self._member.unconsumed_tail
            if out:
                yield out


class _Xz(_Member):
    def __init__(self, path: str) -> None:
        self._path = path
        self._member = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self.eof or self._member.needs_input):
            try:
                out = self._member.decompress(data, MOST)
            except lzma.LZMAError as error:
                if "limit" in str(error):  # the library tells this by its words only
                    raise _too_large(self._path, "xz -dc") from None
                raise _Damaged from None
            data = b""
            if out:
                yield out


class _Zstd(_Member):
    def __init__(self, path: str, zstd: Any, decompressor: Any) -> None:
        self._path, self._zstd = path, zstd
        self._member = decompressor.decompressobj()
        self._head, self._unused = True, 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._head and self._window(data) > _MEMORY:
            raise _too_large(self._path, "zstd -dc --long=31")
        self._head = False
        for at in range(0, len(data), _STEP):
            try:
                out = self._member.decompress(data[at : at + _STEP])
            except self._zstd.ZstdError:
                raise _Damaged from None
            for begin in range(0, len(out), MOST):
                yield out[begin : begin + MOST]
            if self._member.eof:
                self._unused = len(self._member.unused_data) + max(0, len(data) - at - _STEP)
                return

    def _window(self, data: bytes) -> int:
        try:
            return int(self._zstd.get_frame_parameters(data).window_size)
        except self._zstd.ZstdError:
            return 0  # no frame, or too little of it to tell: the decompressor will

    @property
    def unused(self) -> int:
        return self._unused


def _zstd_members(path: str) -> Callable[[], _Member]:
    """Return what reads the frames of a file; they share a decompressor, because making one takes longer than a small frame."""
    try:
        import zstandard
    except ImportError as error:
        raise missing_package(f"{path}: reading .zst needs zstandard", "zstd", error) from None
    return partial(_Zstd, path, zstandard, zstandard.ZstdDecompressor(max_window_size=_MEMORY))


def _too_large(path: str, unpack: str) -> UsageError:
    how = f"{unpack} {Path(path).name} | bzip2 > {Path(path).stem}.bz2"
    return UsageError(f"{path} takes more than {_MEMORY >> 20} MB of memory to decompress: pack it anew: {how}")


_MEMBERS: dict[str, Callable[[str], Callable[[], _Member]]] = {
    ".gz": lambda path: _Gzip,
    ".xz": lambda path: partial(_Xz, path),
    ".zst": _zstd_members,
}
UNCUT = frozenset(_MEMBERS)  # suffixes of files that are read from their beginning only

"""Read a plain or compressed file in bounded memory, and continue after damage if its format allows it.

Bzip2 is read from any block on.  The other formats can only be read from the beginning of the file, and verify their output
only at the end, so everything after damage is lost and reported.
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
from ...storage.files import open_file
from . import bzip2
from .bzip2 import CHUNK_BYTES, MAX_OUTPUT_BYTES, Damage, DecompressedBlock

__all__ = ["UNCUT", "DecompressedBlock", "Damage", "blocks"]

# The memory limit of a decompressor, as in zstd. Only files compressed with --long or similar options need more.
_MAX_MEMORY_BYTES = 128 << 20
_ZSTD_STEP_BYTES = 512  # compressed bytes per zstd call, at most 128 blocks of 128 kB
FREE_BYTES = 256 << 20  # unpacked bytes allowed for any file, even a small one
MAX_RATIO = 250  # unpacked bytes per packed byte beyond that; text has 3 to 10, all revisions of a page up to 100


def blocks(path: str, start: int = 0, end: int = 0) -> Iterator[DecompressedBlock | Damage]:
    """Read a file from the block (plain: the byte) at `start` to its end; the caller stops early if it needs less.

    Blocks of a plain file never extend past `end`. Formats other than bzip2 are read from byte 0.
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
            while data := file.read(min(CHUNK_BYTES, end - start) if start < end else CHUNK_BYTES):
                yield DecompressedBlock(start, data)
                start += len(data)


def _limited(unpacked: Iterator[DecompressedBlock | Damage], file: IO[bytes], size: int) -> Iterator[DecompressedBlock | Damage]:
    """Yield what `size` packed bytes unpack to, and stop when the ratio is higher than for any text."""
    # A decompression bomb is a small file that unpacks to more than the disk holds. Text doesn't
    # compress by more than 100 times, so the ratio shows the difference. Small files may have any
    # ratio.
    left = FREE_BYTES + MAX_RATIO * size
    for block in unpacked:
        if isinstance(block, DecompressedBlock):
            left -= len(block.data)
            if left < 0:
                yield Damage(block.at, file.seek(0, os.SEEK_END), "decompression-bomb")
                return
        yield block


class _Member:
    """A gzip member, an xz stream or a zstd frame; a file can contain several of one format in a row."""

    _member: Any  # the library's decompressor

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed output of the next bytes in bounded pieces; raise _Damaged."""
        raise NotImplementedError

    @property
    def eof(self) -> bool:
        """Whether the member has been read to its end."""
        return bool(self._member.eof)

    @property
    def unused(self) -> int:
        """Number of bytes of the last input that are after that end."""
        return len(self._member.unused_data) if self.eof else 0


class _Damaged(Exception):
    """A member that violates its format."""


def _members(file: IO[bytes], member: Callable[[], _Member]) -> Iterator[DecompressedBlock | Damage]:
    """Decompress member after member; report damage, which loses the rest of the file.

    At the end of a member, the libraries copy the bytes after it. So a member gets few bytes first and twice as many each time;
    otherwise each of a million tiny members would copy the rest of its chunk.
    """
    chunk, at = file.read(CHUNK_BYTES), 0
    while at < len(chunk):
        # `at` is the next unread byte of `chunk`, and `begin` is where the member starts in the
        # file.
        current, begin, step = member(), file.tell() - len(chunk) + at, _ZSTD_STEP_BYTES
        try:
            while not current.eof:
                if at == len(chunk):
                    chunk, at = file.read(CHUNK_BYTES), 0
                    if not chunk:
                        yield Damage(begin, file.tell(), "truncated-stream")
                        return
                fed = chunk[at : at + step]
                for part in current.feed(fed):
                    yield DecompressedBlock(0, part)
                # A decompressor stops at the end of its member. Go back to the bytes that it did
                # not use.
                at += len(fed) - current.unused
                step *= 2
        except _Damaged:
            yield Damage(begin, file.seek(0, os.SEEK_END), "damaged-stream")
            return
        while at == len(chunk) or (chunk[at] == 0 and not chunk[at:].strip(b"\0")):  # padding, which all three formats allow
            chunk, at = file.read(CHUNK_BYTES), 0
            if not chunk:
                return


class _Gzip(_Member):
    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self.eof:  # at the end, `unconsumed_tail` does not change
            try:
                out = self._member.decompress(data, MAX_OUTPUT_BYTES)
            except zlib.error:
                raise _Damaged from None
            data = self._member.unconsumed_tail
            if out:
                yield out


class _Xz(_Member):
    def __init__(self, path: str) -> None:
        self._path = path
        self._member = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_MEMORY_BYTES)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self.eof or self._member.needs_input):
            try:
                out = self._member.decompress(data, MAX_OUTPUT_BYTES)
            except lzma.LZMAError as error:
                if "limit" in str(error):  # only the library's message identifies this error
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
        if self._head and self._window(data) > _MAX_MEMORY_BYTES:
            raise _too_large(self._path, "zstd -dc --long=31")
        self._head = False
        for at in range(0, len(data), _ZSTD_STEP_BYTES):
            try:
                out = self._member.decompress(data[at : at + _ZSTD_STEP_BYTES])
            except self._zstd.ZstdError:
                raise _Damaged from None
            # zstd has no limit for the output of a call. Small inputs (`_ZSTD_STEP_BYTES`) bound it instead.
            for begin in range(0, len(out), MAX_OUTPUT_BYTES):
                yield out[begin : begin + MAX_OUTPUT_BYTES]
            if self._member.eof:
                self._unused = len(self._member.unused_data) + max(0, len(data) - at - _ZSTD_STEP_BYTES)
                return

    def _window(self, data: bytes) -> int:
        try:
            return int(self._zstd.get_frame_parameters(data).window_size)
        except self._zstd.ZstdError:
            return 0  # not a frame, or an incomplete header: the decompressor reports it

    @property
    def unused(self) -> int:
        return self._unused


def _zstd_members(path: str) -> Callable[[], _Member]:
    """Return a reader of a file's frames; they share a decompressor, because creating one takes longer than a small frame."""
    try:
        import zstandard
    except ImportError as error:
        raise missing_package(f"{path}: reading .zst needs zstandard", "zstd", error) from None
    return partial(_Zstd, path, zstandard, zstandard.ZstdDecompressor(max_window_size=_MAX_MEMORY_BYTES))


def _too_large(path: str, unpack: str) -> UsageError:
    how = f"{unpack} {Path(path).name} | bzip2 > {Path(path).stem}.bz2"
    return UsageError(f"{path} takes more than {_MAX_MEMORY_BYTES >> 20} MB of memory to decompress: recompress it: {how}")


_MEMBERS: dict[str, Callable[[str], Callable[[], _Member]]] = {
    ".gz": lambda path: _Gzip,
    ".xz": lambda path: partial(_Xz, path),
    ".zst": _zstd_members,
}
UNCUT = frozenset(_MEMBERS)  # suffixes of files that can only be read from the beginning

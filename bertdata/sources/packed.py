"""Read plain and compressed files in bounded memory, as blocks or as an open file, and report where they are damaged.

Bzip2 dumps are read from any block on, and after damage. The other formats can only be read from the beginning of the file and
verify their output only at the end, so everything after damage is lost and reported.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from ..errors import UsageError
from ..extras import missing_package
from ..storage.files import open_file
from . import bzip2
from .bzip2 import CHUNK_BYTES, STEP_BYTES, Block, Damage

UNCUT = frozenset((".gz", ".xz", ".zst"))  # suffixes of files that can only be read from the beginning
# The memory limit of a decompressor, as in zstd. Only files compressed with --long or similar options need more.
_MAX_MEMORY_BYTES = 128 << 20
FREE_BYTES = 256 << 20  # unpacked bytes allowed for any file, even a small one
MAX_RATIO = 250  # unpacked bytes per packed byte beyond that; text has 3 to 10, all revisions of a page up to 100
_UNPACK = {".gz": "gzip -dc", ".xz": "xz -dc", ".zst": "zstd -dc --long=31"}


class BrokenFile(Exception):
    """A packed file that cannot be read further.

    Attributes:
        reason: ``truncated``, ``damaged`` or ``decompression-bomb``.
        where: The bytes that are lost.
        lost: Their number; 0 for a truncated file.
    """

    def __init__(self, damage: Damage, name: str) -> None:
        self.reason = damage.reason.removesuffix("-stream")
        self.where = f"bytes {damage.at}-{damage.end} of {name}: {damage.reason}; what follows is lost"
        self.lost = 0 if self.reason == "truncated" else damage.end - damage.at
        super().__init__(self.where)


def blocks(path: str, start: int = 0, end: int = 0) -> Iterator[Block | Damage]:
    """Read a file from the block (plain: the byte) at `start` to its end; the caller stops early if it needs less.

    Blocks of a plain file never extend past `end`. Formats other than bzip2 are read from byte 0.
    A packed file that unpacks to more than `FREE_BYTES` and more than `MAX_RATIO` times its size ends in a Damage,
    ``decompression-bomb``.
    """
    suffix = Path(path).suffix.lower()
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(start)
        if suffix == ".bz2":
            yield from _limited(bzip2.blocks(file, start), (end or size) - start, size)
        elif suffix in UNCUT:
            yield from _limited(_unpack(path, file, size), size, size)
        else:
            while data := file.read(min(CHUNK_BYTES, end - start) if start < end else CHUNK_BYTES):
                yield Block(start, data)
                start += len(data)


def open_packed(path: str, name: str) -> IO[bytes]:
    """Open a compressed file for reading. Reading raises BrokenFile, with `name` in its message, where the file is damaged.

    A damaged bzip2 file is not read further.
    """
    return cast("IO[bytes]", io.BufferedReader(_Unpacked(blocks(path), name), CHUNK_BYTES))


class _Unpacked(io.RawIOBase):
    """Blocks as a file."""

    def __init__(self, unpacked: Iterator[Block | Damage], name: str) -> None:
        self._blocks, self._name, self._rest = unpacked, name, memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill part of `buffer`."""
        while not self._rest:
            if (block := next(self._blocks, None)) is None:
                return 0
            if isinstance(block, Damage):
                self._blocks = iter((block,))  # a second read fails as well
                raise BrokenFile(block, self._name)
            self._rest = memoryview(block.data)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _limited(unpacked: Iterator[Block | Damage], packed: int, end: int) -> Iterator[Block | Damage]:
    """Yield what `packed` bytes unpack to, and stop when the ratio is higher than for any text."""
    # A decompression bomb is a small file that unpacks to more than the disk holds. Text doesn't
    # compress by more than 100 times, so the ratio shows the difference. Small files may have any
    # ratio.
    left = FREE_BYTES + MAX_RATIO * packed
    for block in unpacked:
        if isinstance(block, Block):
            left -= len(block.data)
            if left < 0:
                yield Damage(block.at, end, "decompression-bomb")
                return
        yield block


def _unpack(path: str, file: IO[bytes], size: int) -> Iterator[Block | Damage]:
    """Decompress a file with the library of its format, and turn the library's errors into a Damage."""
    suffix = Path(path).suffix.lower()
    errors, read = _reader(path, suffix, file)
    try:
        while data := read():
            yield Block(0, data)
    except EOFError:
        yield Damage(max(0, file.tell() - CHUNK_BYTES), size, "truncated-stream")  # the libraries read ahead
    except errors as error:
        if "memory" in str(error).lower():  # only the libraries' messages identify this error
            how = f"{_UNPACK[suffix]} {Path(path).name} | bzip2 > {Path(path).stem}.bz2"
            raise UsageError(
                f"{path} takes more than {_MAX_MEMORY_BYTES >> 20} MB of memory to decompress: recompress it: {how}"
            ) from None
        yield Damage(max(0, file.tell() - CHUNK_BYTES), size, "damaged-stream")


def _reader(path: str, suffix: str, file: IO[bytes]) -> tuple[tuple[type[Exception], ...], Callable[[], bytes]]:
    """Return the library's errors for a damaged file, and a function that returns the next bytes, b"" at the end."""
    # `read1` returns what one step unpacked. `read` would collect 64 kB and lose them at damage.
    if suffix == ".gz":
        gz = gzip.GzipFile(fileobj=file)
        return (gzip.BadGzipFile, zlib.error), lambda: gz.read1(STEP_BYTES)
    if suffix == ".xz":
        xz = _read_xz(file)
        return (lzma.LZMAError,), lambda: next(xz, b"")
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise missing_package(f"{path}: reading .zst needs backports.zstd", "zstd", error) from None
    window: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _MAX_MEMORY_BYTES.bit_length() - 1}
    zst = zstd.ZstdFile(file, options=window)
    return (zstd.ZstdError,), lambda: zst.read1(STEP_BYTES)


def _read_xz(file: IO[bytes]) -> Iterator[bytes]:
    """Decompress a file of xz streams. `lzma.open` has no limit of memory, and ignores bytes after a stream."""
    data = file.read(CHUNK_BYTES)
    while data:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_MEMORY_BYTES)
        while not stream.eof:
            if stream.needs_input and not data and not (data := file.read(CHUNK_BYTES)):
                raise EOFError
            if text := stream.decompress(data, STEP_BYTES):
                yield text
            data = b""
        data = stream.unused_data.lstrip(b"\0")  # zeros may follow a stream
        while not data and (chunk := file.read(CHUNK_BYTES)):
            data = chunk.lstrip(b"\0")

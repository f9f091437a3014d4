"""Read plain and compressed files in bounded memory, as blocks or as an open file, and report where they are damaged.

Bzip2 dumps are read from any block on, and after damage; the other formats from the beginning, and up to damage.
"""

from __future__ import annotations

import gzip
import importlib
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from typing import IO, Any, cast

from ..errors import UsageError
from ..extras import missing_package
from ..records import FileRange, Reject
from ..storage.files import open_file
from . import bzip2
from .bzip2 import CHUNK_BYTES, STEP_BYTES, Block, Damage
from .lines import read_lines

UNCUT = (".gz", ".tgz", ".xz", ".zst")  # suffixes of files that can only be read from the beginning
PACKED = (*UNCUT, ".bz2")
_MAX_MEMORY_BYTES = 128 << 20  # of a decompressor, as in zstd. Only files compressed with --long or similar options need more
# Unpacked bytes allowed for any file, and per packed byte beyond that. Text has 3 to 10, all revisions of a page up to 100.
_FREE_BYTES, _MAX_RATIO = 256 << 20, 250


class BrokenFile(Exception):
    """A file that cannot be read further. Its arguments are the Damage and the file's name."""

    def as_reject(self, id: str) -> Reject:
        """Return a reject: ``truncated``, ``damaged`` or ``decompression-bomb``. What a truncated file lacks is not counted."""
        (at, end, reason), name = self.args
        lost = 0 if reason == "truncated-stream" else end - at
        return Reject(id, reason.removesuffix("-stream"), f"bytes {at}-{end} of {name}; what follows is lost", lost)


def blocks(path: str, start: int = 0, end: int = 0) -> Iterator[Block | Damage]:
    """Read a file from the block (plain: the byte; .gz, .xz and .zst: 0) at `start` to its end, or until the caller stops.

    Blocks of a plain file never extend past `end`. A file that unpacks to much more than text ends in a ``decompression-bomb``.
    """
    name = path.lower()
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(start)
        if not name.endswith(PACKED):
            while data := file.read(min(CHUNK_BYTES, end - start) if start < end else CHUNK_BYTES):
                yield Block(start, data)
                start += len(data)
            return
        left = _FREE_BYTES + _MAX_RATIO * ((end or size) - start)
        for block in bzip2.blocks(file, start) if name.endswith(".bz2") else _unpack(path, file, size):
            left -= len(block.data) if isinstance(block, Block) else 0
            if left < 0:
                yield Damage(block.at, size, "decompression-bomb")
                return
            yield block


def open_packed(path: str, name: str) -> IO[bytes]:
    """Open a file for reading, unpacked if it is compressed. Reading raises BrokenFile, with `name` in its message, at damage."""
    if not path.lower().endswith(PACKED):
        return open_file(path)
    return cast("IO[bytes]", io.BufferedReader(_Unpacked(blocks(path), name), CHUNK_BYTES))


def lines_of(part: FileRange, max_bytes: int, whole: IO[bytes] | None = None) -> Iterator[tuple[int, bytes | None]]:
    """Read the lines of a range of a plain file, or of a whole packed file, each with its offset. None: longer than `max_bytes`.

    `whole` is an open copy of the range, if there is one. Raise BrokenFile for damage, and for a file shorter than the range.
    """
    is_whole = whole is not None or part.path.lower().endswith(PACKED)
    start = 0 if is_whole else part.start
    with whole or open_packed(part.path, part.name) as file:
        if start:
            file.seek(start)
        for at, line in read_lines(file, None if is_whole else part.end - start, max_bytes):
            yield start + at, line
        if not is_whole and (end := file.tell()) < part.end:
            raise BrokenFile(Damage(end, part.end, "truncated-stream"), part.name)


class _Unpacked(io.RawIOBase):
    """Blocks as a file."""

    def __init__(self, unpacked: Iterator[Block | Damage], name: str) -> None:
        self._blocks, self._name, self._rest = unpacked, name, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and (block := next(self._blocks, None)):
            if isinstance(block, Damage):
                self._blocks = iter((block,))  # a second read fails as well
                raise BrokenFile(block, self._name)
            self._rest = memoryview(block.data)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _unpack(path: str, file: IO[bytes], size: int) -> Iterator[Block | Damage]:
    """Decompress a file with the library of its format, and turn the library's errors into a Damage."""
    errors: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
    # `read1` returns what one step unpacked. `read` would collect 64 kB and lose them at damage.
    texts = iter(partial(gzip.GzipFile(fileobj=file).read1, STEP_BYTES), b"")
    if path.lower().endswith(".xz"):
        texts = _read_xz(file)
    elif path.lower().endswith(".zst"):
        try:
            zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
        except ImportError as error:
            raise missing_package(f"{path}: reading .zst needs backports.zstd", "zstd", error) from None
        errors += (zstd.ZstdError,)
        window = {zstd.DecompressionParameter.window_log_max: _MAX_MEMORY_BYTES.bit_length() - 1}
        texts = iter(partial(zstd.ZstdFile(file, options=window).read1, STEP_BYTES), b"")
    try:
        yield from (Block(0, text) for text in texts)
    except errors as error:
        if "memory" in str(error).lower():  # only the libraries' messages identify this error
            raise UsageError(f"{path} takes more than {_MAX_MEMORY_BYTES >> 20} MB of memory. Recompress it as .bz2") from None
        at = max(0, file.tell() - CHUNK_BYTES)  # the libraries read ahead
        yield Damage(at, size, "truncated-stream" if isinstance(error, EOFError) else "damaged-stream")


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

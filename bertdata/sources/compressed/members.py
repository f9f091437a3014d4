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
from typing import IO, Any, NamedTuple

from ...errors import UsageError
from ...extras import missing_package
from ...storage.files import open_file
from . import bzip2
from .bzip2 import CHUNK_BYTES, MAX_OUTPUT_BYTES, Damage, DecompressedBlock

__all__ = ["UNCUT", "DecompressedBlock", "Damage", "blocks"]

# The memory limit of a decompressor, as in zstd. Only files compressed with --long or similar options need more.
_MAX_MEMORY_BYTES = 128 << 20
_STEP_BYTES = 512  # compressed bytes of a member's first call; for zstd of each call, at most 128 blocks of 128 kB
FREE_BYTES = 256 << 20  # unpacked bytes allowed for any file, even a small one
UNCUT = frozenset((".gz", ".xz", ".zst"))  # suffixes of files that can only be read from the beginning
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
        elif suffix in UNCUT:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            yield from _limited(_members(path, file, _format(path)), file, size)
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


class _Format(NamedTuple):
    """How to decompress one member: a gzip member, an xz stream or a zstd frame. A file can contain several in a row.

    Attributes:
        create: Returns the library's decompressor of a member.
        feed: Yields the output of a decompressor for the next packed bytes, in bounded pieces.
        error: What the library raises for a member that violates its format.
        step: Maximum packed bytes per call of `feed`.
        unpack: Command that decompresses a file.
    """

    create: Callable[[], Any]
    feed: Callable[[Any, bytes], Iterator[bytes]]
    error: type[Exception]
    step: int
    unpack: str


def _members(path: str, file: IO[bytes], form: _Format) -> Iterator[DecompressedBlock | Damage]:
    """Decompress member after member; report damage, which loses the rest of the file.

    At the end of a member, the libraries copy the bytes after it. So a member gets few bytes first and twice as many each time;
    otherwise each of a million tiny members would copy the rest of its chunk.
    """
    chunk, at = file.read(CHUNK_BYTES), 0
    while at < len(chunk):
        # `at` is the next unread byte of `chunk`, and `begin` is where the member starts in the
        # file.
        member, begin, step = form.create(), file.tell() - len(chunk) + at, _STEP_BYTES
        try:
            while not member.eof:
                if at == len(chunk):
                    chunk, at = file.read(CHUNK_BYTES), 0
                    if not chunk:
                        yield Damage(begin, file.tell(), "truncated-stream")
                        return
                fed = chunk[at : at + step]
                for part in form.feed(member, fed):
                    yield DecompressedBlock(0, part)
                # A decompressor stops at the end of its member. Go back to the bytes that it did
                # not use.
                at += len(fed) - (len(member.unused_data) if member.eof else 0)
                step = min(2 * step, form.step)
        except form.error as error:
            if "memory" in str(error).lower():  # only the libraries' messages identify this error
                how = f"{form.unpack} {Path(path).name} | bzip2 > {Path(path).stem}.bz2"
                raise UsageError(
                    f"{path} takes more than {_MAX_MEMORY_BYTES >> 20} MB of memory to decompress: recompress it: {how}"
                ) from None
            yield Damage(begin, file.seek(0, os.SEEK_END), "damaged-stream")
            return
        while at == len(chunk) or (chunk[at] == 0 and not chunk[at:].strip(b"\0")):  # padding, which all three formats allow
            chunk, at = file.read(CHUNK_BYTES), 0
            if not chunk:
                return


def _feed_gzip(member: Any, data: bytes) -> Iterator[bytes]:
    while data and not member.eof:  # at the end, `unconsumed_tail` does not change
        out, data = member.decompress(data, MAX_OUTPUT_BYTES), member.unconsumed_tail
        if out:
            yield out


def _feed_xz(member: Any, data: bytes) -> Iterator[bytes]:
    while data or not (member.eof or member.needs_input):
        out, data = member.decompress(data, MAX_OUTPUT_BYTES), b""
        if out:
            yield out


def _feed_zstd(member: Any, data: bytes) -> Iterator[bytes]:
    out = member.decompress(data)  # zstd has no limit for the output of a call; few bytes of input bound it instead
    for begin in range(0, len(out), MAX_OUTPUT_BYTES):
        yield out[begin : begin + MAX_OUTPUT_BYTES]


def _format(path: str) -> _Format:
    if path.lower().endswith(".gz"):
        return _Format(partial(zlib.decompressobj, wbits=31), _feed_gzip, zlib.error, CHUNK_BYTES, "gzip -dc")
    if path.lower().endswith(".xz"):
        create = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, _MAX_MEMORY_BYTES)
        return _Format(create, _feed_xz, lzma.LZMAError, CHUNK_BYTES, "xz -dc")
    try:
        import zstandard
    except ImportError as error:
        raise missing_package(f"{path}: reading .zst needs zstandard", "zstd", error) from None
    # All frames share a decompressor, because creating one takes longer than a small frame.
    frames = zstandard.ZstdDecompressor(max_window_size=_MAX_MEMORY_BYTES)
    return _Format(frames.decompressobj, _feed_zstd, zstandard.ZstdError, _STEP_BYTES, "zstd -dc --long=31")

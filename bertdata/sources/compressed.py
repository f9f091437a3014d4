"""Read a plain, gzip or bzip2 file in bounded memory, from any stream on, and go on after a damaged one.

A multistream bzip2 file is many streams end to end.  `stream_starts` finds them without an index, so that a dump is cut into
tasks by looking at a few places of it.
"""

from __future__ import annotations

import bz2
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

__all__ = ["Block", "Damage", "blocks", "stream_starts"]

CHUNK = 1 << 18  # compressed bytes read at a time
MOST = 1 << 16  # bytes a decompressor may give at a time: a bomb is read in small steps, and damage costs little before it
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")  # header of a bzip2 stream and of its first block: 80 bits, byte-aligned
_HEADER = 10
_ENOUGH = 1 << 20  # bytes that hold a whole block, by which a stream is known to be one


class Block(NamedTuple):
    """Decompressed bytes, and where in the file the stream (plain: the bytes) that they are of begins."""

    at: int
    data: bytes


class Damage(NamedTuple):
    """The bytes ``[start, end)`` of the file could not be decompressed."""

    start: int
    end: int
    reason: str


def blocks(path: str, start: int = 0, end: int = 0) -> Iterator[Block | Damage]:
    """Read a file from the stream (plain: the byte) at `start` to its end; the reader stops when it has enough.

    A plain file is read so that no block reaches over `end`; a compressed block is of one stream in any case.
    """
    with open(path, "rb") as file:
        if path.lower().endswith(".bz2"):
            yield from _bzip2(file, start)
        elif path.lower().endswith(".gz"):
            yield from _gzip(file)
        else:
            file.seek(start)
            while data := file.read(min(CHUNK, end - start) if start < end else CHUNK):
                yield Block(start, data)
                start += len(data)


def stream_starts(path: str, target: int) -> list[int]:
    """Find starts of bzip2 streams about `target` bytes apart; the first is 0.  A single stream gives ``[0]``."""
    size = Path(path).stat().st_size
    starts, at = [0], target
    with open(path, "rb") as file:
        while at < size:
            found = _next_stream(file, at)
            if found is None:
                break
            starts.append(found)
            at = found + target
    return starts


def _next_stream(file: IO[bytes], at: int) -> int | None:
    """Find the next place at or after `at` where a stream begins that does decompress."""
    file.seek(at)
    tail = b""
    while data := file.read(CHUNK):
        data = tail + data
        for match in _STREAM.finditer(data):
            begin = at + match.start()
            position = file.tell()
            file.seek(begin)
            good = _decompresses(file.read(_ENOUGH))
            file.seek(position)
            if good:
                return begin
        tail = data[-_HEADER + 1 :]
        at += len(data) - len(tail)
    return None


def _decompresses(data: bytes) -> bool:
    try:
        bz2.BZ2Decompressor().decompress(data, _ENOUGH)
    except (OSError, ValueError):
        return False
    return True


def _bzip2(file: IO[bytes], start: int) -> Iterator[Block | Damage]:
    """Decompress stream after stream; a damaged one is named and the next one found."""
    at: int | None = start
    while at is not None:
        try:
            yield from _bzip2_streams(file, at)
            return
        except _DamagedStream as damage:
            following = _next_stream(file, damage.at + _HEADER)
            end = Path(file.name).stat().st_size if following is None else following
            yield Damage(damage.at, end, damage.reason)
            at = following


class _DamagedStream(Exception):
    def __init__(self, at: int, reason: str) -> None:
        self.at, self.reason = at, reason


def _bzip2_streams(file: IO[bytes], at: int) -> Iterator[Block]:
    """Decompress the streams from `at` to the file's end; raise _DamagedStream at the first that is broken."""
    file.seek(at)
    data = file.read(CHUNK)
    while data:
        decompressor = bz2.BZ2Decompressor()
        while not decompressor.eof:
            if decompressor.needs_input and not data and not (data := file.read(CHUNK)):
                raise _DamagedStream(at, "truncated-stream")
            try:
                out = decompressor.decompress(data, MOST)
            except (OSError, ValueError, EOFError):
                raise _DamagedStream(at, "damaged-stream") from None
            data = b""
            if out:
                yield Block(at, out)
        data = decompressor.unused_data
        at = file.tell() - len(data)
        data = data or file.read(CHUNK)


def _gzip(file: IO[bytes]) -> Iterator[Block | Damage]:
    """Decompress the members of a gzip file; what follows a damaged one is lost, and named."""
    data = file.read(CHUNK)
    while data:
        decompressor, begin = zlib.decompressobj(wbits=31), file.tell() - len(data)
        while not decompressor.eof:
            if not data and not (data := file.read(CHUNK)):
                yield Damage(0, file.tell(), "truncated-stream")
                return
            try:
                out = decompressor.decompress(data, MOST)
            except zlib.error:
                # its checksum stands at its end, so anything since `begin` may be wrong
                yield Damage(begin, Path(file.name).stat().st_size, "damaged-stream")
                return
            data = decompressor.unconsumed_tail
            if out:
                yield Block(0, out)
        data = decompressor.unused_data or file.read(CHUNK)
        while data and not data.strip(b"\0"):  # padding, which gzip(1) takes for an end too
            data = file.read(CHUNK)

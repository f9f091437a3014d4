"""Read bzip2 block by block, from any block on: each is found by its mark and has its own checksum, so damage stays local.

A bzip2 stream is a string of bits: a header of four bytes, blocks of up to 900 kB of text, and an end.  Each block begins with
48 bits that hardly occur elsewhere (the digits of pi), at any bit of a byte, and with its checksum; the end has a mark too.
So a block becomes a stream of its own if a header is put before it and an end behind it, whatever became of its neighbours.  Only
damage to the mark behind a block, six bytes in some hundred thousand, costs that block too, as it hides where the block ends.

    BZh9 | pi, sum, block | pi, sum, block | root of pi, sum | BZh9 | pi, sum, block | root of pi, sum
"""

from __future__ import annotations

import bz2
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, NamedTuple

import numpy as np

from ...io.files import is_local, open_file, size
from ...io.process import cores

__all__ = ["CHUNK", "MOST", "DecompressedBlock", "Damage", "block_starts", "blocks", "next_block_start"]

CHUNK = 1 << 18  # compressed bytes read at a time
MOST = 1 << 16  # bytes a decompressor may give at a time: a bomb is read in small steps
_BLOCK, _END, _NONE = 0x314159265359, 0x177245385090, 0  # marks: pi and its root, digit by digit
_MARK_BITS, _MARK_BYTES = 48, 7  # a mark lies in six or seven bytes
_TRAILER_BITS = 80  # the mark of the end and the checksum of the stream
_HEADER = re.compile(rb"BZh[1-9]")
_HEADER_BYTES = 4
_LONGEST = 2_400_000  # bytes of a block: 18,001 groups of 50 symbols of 20 bits at most, and its tables
_HELD = 4 << 20  # bytes of a block's text kept until it is checked: a usual block has 0.9 MB, a bomb is decompressed twice
_NEAR = 1 << 20  # bytes in which a cut looks for the start of a stream before it takes that of a block
_SPAN = 4 << 20  # bytes that a thread searches for cuts at a time, at the least
_AT_ONCE = 16  # such threads, at the most; of a disk, one a core


class DecompressedBlock(NamedTuple):
    """Decompressed bytes, and where in the file the block (plain: the bytes) that they are of begins.

    A block of bzip2 begins in the byte in which its mark does; the first one of a stream where the stream does.
    """

    at: int
    data: bytes


class Damage(NamedTuple):
    """The bytes ``[start, end)`` of the file could not be decompressed.

    Reasons: ``truncated-stream``, ``damaged-stream``, and of `blocks` also ``decompression-bomb``.
    """

    start: int
    end: int
    reason: str

    @property
    def of_file(self) -> str:
        """The reason to reject a file that is not a dump: ``truncated``, ``damaged`` or ``decompression-bomb``."""
        return self.reason.removesuffix("-stream")


class _Segment(NamedTuple):
    """The bits from one mark to the next, or to the end of the file, or to where it is longer than any block.

    It begins at bit `shift` of `data`, has so many `bits`, and is all in `data`; `at` is where it begins in the file.
    """

    mark: int
    at: int
    data: bytes
    shift: int
    bits: int
    opens: bool  # a stream, whose header stands before it, at `at`
    last: bool


def blocks(file: IO[bytes], start: int = 0) -> Iterator[DecompressedBlock | Damage]:
    """Decompress block after block from the one at `start` on; what is broken is named and passed over.

    An empty DecompressedBlock comes before each block, so that a reader who has enough need not wait for its text.
    """
    broken: Damage | None = None  # from the first byte that could not be read since the last good block
    failed: _Segment | None = None  # the segment before, if it is a block that failed
    for segment in _segments(file, start):
        text = None
        # A block may hold the 48 bits of a mark by chance: it is cut in two there, both parts fail, and joined they do not.
        if failed and (text := _text(joined := _join(failed, segment))) is not None:
            segment, broken = joined, broken if broken and broken.start < joined.at else None
        elif segment.mark == _BLOCK:
            if not broken:
                yield DecompressedBlock(segment.at, b"")
            text = _text(segment)
        failed = segment if segment.mark == _BLOCK and text is None else None
        if text is None:
            broken = broken or _damage(segment)
            continue
        if broken:
            yield broken._replace(end=segment.at)
            broken = None
        for part in text:
            yield DecompressedBlock(segment.at, part)
    if broken:
        yield broken._replace(end=file.seek(0, os.SEEK_END))


def block_starts(path: str, target: int) -> list[int]:
    """Find blocks that can be decompressed, one for each multiple of `target` bytes, at starts of streams where those are near.

    Several threads search spans of the file at a time: on a disk they decompress on all cores, and of a store each waits for its
    own request.
    """
    end = size(path)
    spans = range(0, end, -(-_SPAN // target) * target)
    threads = max(1, min(len(spans), _AT_ONCE, cores() if is_local(path) else _AT_ONCE))

    def look(number: int) -> set[int]:
        with open_file(path, ahead=_NEAR) as file:
            return {start for at in spans[number::threads] for start in _starts(file, at, min(at + spans.step, end), target)}

    with ThreadPoolExecutor(threads) as pool:
        return sorted({0}.union(*pool.map(look, range(threads))))


def next_block_start(path: str, at: int, end: int) -> int:
    """Return where the next block at or after byte `at` begins that can be decompressed, or `end` if there is none before it."""
    with open_file(path, ahead=_NEAR) as file:
        found = _next_start(file, at, end)
    return end if found is None else min(found, end)


def _starts(file: IO[bytes], at: int, end: int, target: int) -> Iterator[int]:
    """Find the starts of a span `[at, end)`; the first of the file is known."""
    at = at or target
    while at < end and (start := _next_start(file, at, end)) is not None:
        yield start
        at = (start // target + 1) * target


def _next_start(file: IO[bytes], at: int, end: int) -> int | None:
    """Find the start of a stream, or the block nearest to `at` where no stream starts soon.

    A stream is known by its end: the checksum there is that of the checksums before its blocks.  A block is decompressed.
    """
    nearest: list[_Segment] = []
    stream, total = -1, 0  # where the stream that the segments are of begins, if that is near, and the checksum of its blocks
    for segment in _segments(file, max(0, at - _HEADER_BYTES)):
        if segment.at > max(at, stream) + _NEAR:
            if (start := _first_good(nearest)) is not None or segment.at >= end:
                return start
            nearest, stream = [], -1
        if segment.opens:
            stream, total = (segment.at if at <= segment.at <= at + _NEAR and segment.mark == _BLOCK else -1), 0
        if segment.mark == _END and stream >= 0 and _checksum(segment) == total:
            return stream
        total = _checksum(segment) ^ (total << 1 | total >> 31) & 0xFFFFFFFF
        if segment.mark == _BLOCK and segment.at >= at:
            nearest.append(segment)
    return _first_good(nearest)


def _checksum(segment: _Segment) -> int:
    """Read the 32 bits behind a mark."""
    return int.from_bytes(segment.data[:11].ljust(11, b"\0"), "big") >> 8 - segment.shift & 0xFFFFFFFF


def _first_good(segments: list[_Segment]) -> int | None:
    """Return where the first block begins that can be decompressed, one that opens a stream before others."""
    in_order = sorted(segments, key=lambda segment: not segment.opens)
    return next((segment.at for segment in in_order if _text(segment) is not None), None)


def _segments(file: IO[bytes], start: int) -> Iterator[_Segment]:
    """Cut a file into segments from `start` on, where a mark or the header of a stream should be.

    A segment is open from its mark until the next mark is found, which may be some chunks later.  Of the file only the bytes of
    the open segment are in memory.  A block that begins in bit 3 of byte 100, and ends before a mark in bit 5 of byte 900:

        data[0] is byte 100 = base, begin = 3        the next mark at bit 8 * 800 + 5 of data
        yields data[0:801], shift 3, 8 * 800 + 5 - 3 = 6402 bits        the next one: base 900, begin = 5
    """
    file.seek(start)
    data, base = b"", start  # the bytes from those of the open segment on, and where in the file they begin
    mark, at, begin, opens = _NONE, start, 0, False  # of the open segment; `begin` is its first bit in `data`
    while chunk := file.read(CHUNK):
        # A mark may lie across two chunks: its last byte is new, so its first is among the last six of the bytes seen before.
        known = max(0, len(data) - _MARK_BYTES + 1)
        data += chunk
        for bit, following in _marks(data, known):
            # These six bytes are searched again: a mark that was complete in them is the one of the open segment.
            if mark and bit <= begin:
                continue
            # The first mark of a stream stands behind its header, which is whole bytes, so at bit 0.  Such a segment counts from
            # the header on: `at` is where the stream begins, and the header is no part of the segment before it in `at`, ...
            header = _HEADER.fullmatch(data, max(0, bit // 8 - _HEADER_BYTES), bit // 8) if bit % 8 == 0 else None
            is_first = header is not None and header.end() - header.start() == _HEADER_BYTES
            end = bit // 8 - _HEADER_BYTES * is_first
            # ... but its bits are the last of the segment before, where `_damage` looks whether they are all that stands there.
            yield _Segment(mark, at, data[begin // 8 : (bit + 7) // 8], begin % 8, bit - begin, opens, False)
            mark, at, begin, opens = following, base + end, bit, is_first
        rest = len(data) - begin // 8
        # No block is so long: the mark at its end is damaged, or this is no bzip2.  Yield it, so that no more of the file
        # than this is ever in memory, and search on; the last six bytes stay, for a mark may begin there.
        if rest > _LONGEST:
            yield _Segment(mark, at, data[begin // 8 :], begin % 8, 8 * rest - begin % 8, opens, False)
            mark, begin, opens = _NONE, 8 * (len(data) - _MARK_BYTES + 1), False
            at = base + begin // 8
        data, base, begin = data[begin // 8 :], base + begin // 8, begin % 8  # forget the bytes before the open segment
    yield _Segment(mark, at, data, begin, 8 * len(data) - begin, opens, True)


def _inner_bytes() -> dict[bytes, tuple[int, int]]:
    """Map the five bytes that a mark fills, at each of the eight bits at which it may begin, to the mark and the bit."""
    marks = [(mark, shift) for mark in (_BLOCK, _END) for shift in range(8)]
    return {(mark << 8 - shift).to_bytes(_MARK_BYTES, "big")[1:6]: (mark, shift) for mark, shift in marks}


_INNER = _inner_bytes()
_PAIRS = np.zeros(1 << 16, bool)  # the pairs of bytes at an even offset one of which each mark has
_PAIRS[[np.frombuffer(inner[at : at + 2], np.uint16)[0] for inner in _INNER for at in (0, 1)]] = True


def _marks(data: bytes, known: int) -> Iterator[tuple[int, int]]:
    """Find marks that begin at or after the byte `known`: their first bit, and which they are."""
    even = known - known % 2
    pairs = np.frombuffer(data, np.uint16, (len(data) - even) // 2, even)
    for pair in (even + 2 * np.flatnonzero(_PAIRS.take(pairs))).tolist():
        for first in (pair - 1, pair - 2):
            mark, shift = _INNER.get(data[first + 1 : first + 6], (_NONE, 0))
            if mark and first >= known:
                bits = int.from_bytes(data[first : first + _MARK_BYTES].ljust(_MARK_BYTES, b"\0"), "big")
                if bits >> 8 - shift & (1 << _MARK_BITS) - 1 == mark and first + 6 + (shift > 0) <= len(data):
                    yield 8 * first + shift, mark


def _join(one: _Segment, two: _Segment) -> _Segment:
    """Put two segments together that follow each other."""
    overlap = (one.shift + one.bits) % 8 > 0  # the byte in which one ends and the other begins
    return one._replace(data=one.data[: len(one.data) - overlap] + two.data, bits=one.bits + two.bits, last=two.last)


def _text(segment: _Segment) -> Iterable[bytes] | None:
    """Decompress a block in steps; return None for what is none or fails its checksum."""
    if segment.mark != _BLOCK or segment.bits > 8 * _LONGEST:
        return None
    packed, held, size = _pack(segment), list[bytes](), 0
    try:
        for part in _steps(packed):
            size += len(part)
            if size <= _HELD:
                held.append(part)
    except (OSError, ValueError, EOFError):
        return None
    return held if size <= _HELD else _steps(packed)


def _steps(packed: bytes) -> Iterator[bytes]:
    decompressor = bz2.BZ2Decompressor()
    while not decompressor.eof:
        if decompressor.needs_input and not packed:
            raise EOFError
        out = decompressor.decompress(packed, MOST)
        packed = b""
        if out:
            yield out


def _pack(segment: _Segment) -> bytes:
    """Make a block a stream of its own: shift it to the first bit of a byte, and put a header and an end around it."""
    data = np.frombuffer(segment.data, np.uint8)
    if segment.shift:
        data = data << segment.shift | np.append(data[1:] >> 8 - segment.shift, np.uint8(0))
    whole, left = divmod(segment.bits, 8)
    block = data.tobytes()
    tail = block[whole] >> 8 - left if left else 0
    end = (tail << _TRAILER_BITS | _END << 32 | int.from_bytes(block[6:10], "big")) << -(left + _TRAILER_BITS) % 8
    return b"BZh9" + block[:whole] + end.to_bytes((left + _TRAILER_BITS + 7) // 8, "big")


def _damage(segment: _Segment) -> Damage | None:
    """Name a block, or what stands between two streams, as broken; return None where the latter is as it should be."""
    at, begun = segment.at, True
    used = (segment.shift + _TRAILER_BITS + 7) // 8 if segment.mark == _END else 0
    rest = segment.data[used : (segment.shift + segment.bits) // 8]
    if segment.mark != _BLOCK and len(segment.data) >= used:
        if not rest or (_HEADER.fullmatch(rest) and not segment.last):
            return None
        at, begun = at + used, _HEADER.match(rest + b"BZh9"[len(rest) :]) is not None
    return Damage(at, at, "truncated-stream" if segment.last and begun else "damaged-stream")

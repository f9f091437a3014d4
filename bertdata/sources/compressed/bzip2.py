"""Read bzip2 block by block, from any block on. Each block has a mark and a checksum, so damage stays local.

A bzip2 stream is a bit string: a header of four bytes, blocks of up to 900 kB of text, and an end.  A block can begin at any bit
of a byte. It begins with a mark (48 bits that rarely occur elsewhere: digits of pi) and its checksum. The end has a mark, too.
So a block with a header before it and an end after it is a valid stream, even if its neighbors are damaged.  A damaged mark also
loses the block before it, whose end can then not be found. Marks are six bytes of several hundred thousand.

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

from ...storage.files import is_local, open_file, size
from ...storage.process import cores

__all__ = ["CHUNK_BYTES", "MAX_OUTPUT_BYTES", "DecompressedBlock", "Damage", "block_starts", "blocks", "next_block_start"]

CHUNK_BYTES = 1 << 18  # compressed bytes read at a time
MAX_OUTPUT_BYTES = 1 << 16  # maximum bytes per decompressor call: a bomb is read in small steps
_BLOCK_MARK, _END_MARK, _NO_MARK = 0x314159265359, 0x177245385090, 0  # marks: pi and its root, digit by digit
_MARK_BITS, _MARK_BYTES = 48, 7  # a mark spans six or seven bytes
_TRAILER_BITS = 80  # the end mark and the checksum of the stream
_HEADER = re.compile(rb"BZh[1-9]")
_HEADER_BYTES = 4
_MAX_BLOCK_BYTES = 2_400_000  # maximum bytes of a block: 18,001 groups of 50 symbols of 20 bits, and its tables
# Text is buffered until its checksum is verified. A normal block has 0.9 MB; a bomb is decompressed twice.
_MAX_BUFFERED_BYTES = 4 << 20
_STREAM_SEARCH_BYTES = 1 << 20  # bytes in which a cut searches for a stream start before it accepts a block start
_MIN_SPAN_BYTES = 4 << 20  # minimum bytes that one thread searches for cuts
_MAX_THREADS = 16  # maximum number of such threads; on a disk, one per core


class DecompressedBlock(NamedTuple):
    """Decompressed bytes, and the offset in the file of their block. In a plain file it is the offset of `data`.

    A bzip2 block begins in the byte with the first bit of its mark. The first block of a stream begins where the stream does.
    """

    at: int
    data: bytes


class Damage(NamedTuple):
    """The bytes ``[start, end)`` of the file could not be decompressed.

    Reasons: ``truncated-stream``, ``damaged-stream``, and from `blocks` also ``decompression-bomb``.
    """

    start: int
    end: int
    reason: str

    @property
    def of_file(self) -> str:
        """The reject reason for files other than dumps: ``truncated``, ``damaged`` or ``decompression-bomb``."""
        return self.reason.removesuffix("-stream")


class _Segment(NamedTuple):
    """The bits from one mark to the next, to the end of the file, or to the maximum length of a block.

    It begins at bit `shift` of `data` and has `bits` bits, all in `data`; `at` is its offset in the file.
    """

    mark: int
    at: int
    data: bytes
    shift: int
    bits: int
    opens: bool  # the segment is the first of a stream, whose header is at `at`
    last: bool  # the file ends here


def blocks(file: IO[bytes], start: int = 0) -> Iterator[DecompressedBlock | Damage]:
    """Decompress the blocks from the one at `start` on. Report damaged blocks and skip them.

    Yield an empty DecompressedBlock before each block, except directly after damage. So a reader can stop without decompressing
    the block.
    """
    broken: Damage | None = None  # starts at the first unreadable byte since the last good block
    failed: _Segment | None = None  # the previous segment, if it is a block that failed
    # The loop sees the file as a series of segments, each from one mark to the next. Most are
    # blocks. Decompress each one separately, and keep a record of a failure until a block succeeds
    # again:
    #
    #   segments    block 1   block 2   block 3   end
    #   result      text      fails     text
    #   yields      text 1              Damage(start of block 2, start of block 3), text 3
    #
    # So one Damage covers all consecutive failures.
    for segment in _segments(file, start):
        text = None
        # A block can contain the 48 bits of a mark by chance. Then it is cut in two, both parts fail, and their join succeeds.
        if failed and (text := _text(joined := _join(failed, segment))) is not None:
            segment, broken = joined, broken if broken and broken.start < joined.at else None
        elif segment.mark == _BLOCK_MARK:
            if not broken:
                yield DecompressedBlock(segment.at, b"")
            text = _text(segment)
        failed = segment if segment.mark == _BLOCK_MARK and text is None else None
        if text is None:
            broken = broken or _damage(segment)
            continue
        if broken:
            yield broken._replace(end=segment.at)
            broken = None
        # The checksum was correct, so this text is safe to use.
        for part in text:
            yield DecompressedBlock(segment.at, part)
    # The file ends in damage.
    if broken:
        yield broken._replace(end=file.seek(0, os.SEEK_END))


def block_starts(path: str, target: int) -> list[int]:
    """Find decompressible blocks, one per multiple of `target` bytes; prefer blocks at a nearby stream start.

    Several threads search spans of the file in parallel: on a disk they use all cores, and on a store each waits for its own
    request.
    """
    end = size(path)
    # Each thread takes every `threads`-th span. Spans are multiples of `target`, so that every cut
    # is searched by exactly one thread, and the result doesn't depend on their number.
    spans = range(0, end, -(-_MIN_SPAN_BYTES // target) * target)
    threads = max(1, min(len(spans), _MAX_THREADS, cores() if is_local(path) else _MAX_THREADS))

    def look(number: int) -> set[int]:
        with open_file(path, ahead=_STREAM_SEARCH_BYTES) as file:
            return {start for at in spans[number::threads] for start in _starts(file, at, min(at + spans.step, end), target)}

    with ThreadPoolExecutor(threads) as pool:
        return sorted({0}.union(*pool.map(look, range(threads))))


def next_block_start(path: str, at: int, end: int) -> int:
    """Return the offset of the next decompressible block at or after byte `at`, or `end` if there is none before `end`."""
    with open_file(path, ahead=_STREAM_SEARCH_BYTES) as file:
        found = _next_start(file, at, end)
    return end if found is None else min(found, end)


def _starts(file: IO[bytes], at: int, end: int, target: int) -> Iterator[int]:
    """Find the starts in the span `[at, end)`; offset 0 needs no search."""
    at = at or target
    while at < end and (start := _next_start(file, at, end)) is not None:
        yield start
        # The next cut is in the next multiple of `target`.
        at = (start // target + 1) * target


def _next_start(file: IO[bytes], at: int, end: int) -> int | None:
    """Find the start of a stream, or the block nearest to `at` if no stream starts soon.

    A stream is verified by its end: its checksum combines the checksums of the blocks.  A block is verified by decompressing it.
    """
    # Multistream dumps are thousands of small streams of 100 pages, so a range is best cut where a
    # stream begins. Ordinary dumps are one stream, where any block will do. Until a stream is
    # confirmed, `nearest` collects the blocks after `at` as the second choice.
    #
    # A mark can occur by chance in compressed data: 48 bits, so once in 35 TB, but a dump can also
    # contain a compressed file. A stream is therefore confirmed by its checksum before it is used.
    nearest: list[_Segment] = []
    stream, total = -1, 0  # start of the current stream, if near, and the combined checksum of its blocks
    for segment in _segments(file, max(0, at - _HEADER_BYTES)):
        # Searched far enough without a confirmed stream: take a block.
        if segment.at > max(at, stream) + _STREAM_SEARCH_BYTES:
            if (start := _first_good(nearest)) is not None or segment.at >= end:
                return start
            nearest, stream = [], -1
        # A header: a new stream, and a new running checksum.
        if segment.opens:
            stream, total = (
                (segment.at if at <= segment.at <= at + _STREAM_SEARCH_BYTES and segment.mark == _BLOCK_MARK else -1),
                0,
            )
        if segment.mark == _END_MARK and stream >= 0 and _checksum(segment) == total:
            return stream
        # The checksum of a stream: rotate the total left by one bit, then XOR the checksum of the
        # block.
        total = _checksum(segment) ^ (total << 1 | total >> 31) & 0xFFFFFFFF
        if segment.mark == _BLOCK_MARK and segment.at >= at:
            nearest.append(segment)
    return _first_good(nearest)


def _checksum(segment: _Segment) -> int:
    """Read the 32-bit checksum after a mark."""
    return int.from_bytes(segment.data[:11].ljust(11, b"\0"), "big") >> 8 - segment.shift & 0xFFFFFFFF


def _first_good(segments: list[_Segment]) -> int | None:
    """Return the offset of the first decompressible block; prefer one that opens a stream."""
    # A stable sort: segments that open a stream first, otherwise in order of the file.
    in_order = sorted(segments, key=lambda segment: not segment.opens)
    return next((segment.at for segment in in_order if _text(segment) is not None), None)


def _segments(file: IO[bytes], start: int) -> Iterator[_Segment]:
    """Cut a file into segments from `start` on, where a mark or a stream header is expected.

    A segment is open from its mark until the next mark is found, possibly several chunks later.  Only the bytes of the open
    segment are in memory.  Example: a block begins in bit 3 of byte 100, and ends before a mark in bit 5 of byte 900:

        data[0] is byte 100 = base, begin = 3        the next mark at bit 8 * 800 + 5 of data
        yields data[0:801], shift 3, 8 * 800 + 5 - 3 = 6402 bits        the next one: base 900, begin = 5
    """
    file.seek(start)
    data, base = b"", start  # bytes from the open segment on, and their offset in the file
    mark, at, begin, opens = _NO_MARK, start, 0, False  # of the open segment; `begin` is its first bit in `data`
    while chunk := file.read(CHUNK_BYTES):
        # A mark can span two chunks: its last byte is new, so its first is among the last six bytes of the previous chunk.
        known = max(0, len(data) - _MARK_BYTES + 1)
        data += chunk
        for bit, following in _marks(data, known):
            # The last six bytes are searched again. Skip the open segment's own mark, which is found again.
            if mark and bit <= begin:
                continue
            # The first mark of a stream follows its header, which is a whole number of bytes, so it is at bit 0.  The header
            # belongs to the new segment: `at` points to it. Its bits stay at the end of the previous segment's data, and
            # `_damage` allows them there.
            header = _HEADER.fullmatch(data, max(0, bit // 8 - _HEADER_BYTES), bit // 8) if bit % 8 == 0 else None
            is_first = header is not None and header.end() - header.start() == _HEADER_BYTES
            end = bit // 8 - _HEADER_BYTES * is_first
            yield _Segment(mark, at, data[begin // 8 : (bit + 7) // 8], begin % 8, bit - begin, opens, False)
            mark, at, begin, opens = following, base + end, bit, is_first
        rest = len(data) - begin // 8
        # No block is this long: its end mark is damaged, or this is not bzip2.  Yield it to bound memory. Keep the last six
        # bytes, in which a mark may begin.
        if rest > _MAX_BLOCK_BYTES:
            yield _Segment(mark, at, data[begin // 8 :], begin % 8, 8 * rest - begin % 8, opens, False)
            mark, begin, opens = _NO_MARK, 8 * (len(data) - _MARK_BYTES + 1), False
            at = base + begin // 8
        data, base, begin = data[begin // 8 :], base + begin // 8, begin % 8  # drop the bytes before the open segment
    yield _Segment(mark, at, data, begin, 8 * len(data) - begin, opens, True)


def _inner_bytes() -> dict[bytes, tuple[int, int]]:
    """Map the five bytes that a mark fills completely, for each of its eight bit offsets, to the mark and the bit."""
    # Why five bytes: a mark of 6 bytes that begins at bit 3 covers 5 bits of the first byte, 5
    # whole bytes, and 3 bits of the seventh. The 5 whole bytes can be found by comparing bytes, and
    # for the 8 possible shifts and 2 marks there are 16 such patterns.
    #
    #   shift 0    314159265359              whole bytes: 31 41 59 26 53 59; the inner five: 41 59 26 53 59
    #   shift 4     314159265359             bytes: 03 14 15 92 65 35 90; the inner five: 14 15 92 65 35
    marks = [(mark, shift) for mark in (_BLOCK_MARK, _END_MARK) for shift in range(8)]
    return {(mark << 8 - shift).to_bytes(_MARK_BYTES, "big")[1:6]: (mark, shift) for mark, shift in marks}


_INNER_MARK_BYTES = _inner_bytes()
_MARK_PAIRS = np.zeros(1 << 16, bool)  # byte pairs at even offsets; each mark contains one of them
_MARK_PAIRS[[np.frombuffer(inner[at : at + 2], np.uint16)[0] for inner in _INNER_MARK_BYTES for at in (0, 1)]] = True


def _marks(data: bytes, known: int) -> Iterator[tuple[int, int]]:
    """Find marks that begin at or after byte `known`; yield their first bit and kind."""
    # The search goes through every byte of a dump of 20 GB, so it must be fast. Instead of looking
    # for 16 patterns, look up the bytes two by two in a table of 65,536 flags. Of the five inner
    # bytes, either the first two or the second and third are such a pair at an even offset, so
    # testing even offsets misses no mark. About 1 pair in 2,000 passes, and these are compared in
    # full.
    even = known - known % 2
    pairs = np.frombuffer(data, np.uint16, (len(data) - even) // 2, even)
    for pair in (even + 2 * np.flatnonzero(_MARK_PAIRS.take(pairs))).tolist():
        # The pair begins at the second or the third byte of the mark. Try both.
        for first in (pair - 1, pair - 2):
            mark, shift = _INNER_MARK_BYTES.get(data[first + 1 : first + 6], (_NO_MARK, 0))
            if mark and first >= known:
                bits = int.from_bytes(data[first : first + _MARK_BYTES].ljust(_MARK_BYTES, b"\0"), "big")
                if bits >> 8 - shift & (1 << _MARK_BITS) - 1 == mark and first + 6 + (shift > 0) <= len(data):
                    yield 8 * first + shift, mark


def _join(one: _Segment, two: _Segment) -> _Segment:
    """Join two consecutive segments."""
    # Segments are cut at bits. If the cut is inside a byte, both have a copy of this byte.
    overlap = (one.shift + one.bits) % 8 > 0
    return one._replace(data=one.data[: len(one.data) - overlap] + two.data, bits=one.bits + two.bits, last=two.last)


def _text(segment: _Segment) -> Iterable[bytes] | None:
    """Decompress a block in steps; return None if it is not a block or fails its checksum."""
    if segment.mark != _BLOCK_MARK or segment.bits > 8 * _MAX_BLOCK_BYTES:
        return None
    # A block of 900 kB can unpack to 46 MB, because 5 bytes can encode a run of 259. Hold the text
    # until the checksum is verified, but not more than 4 MB of it. A longer text is decompressed
    # again, step by step, after the first pass has verified it.
    packed, held, size = _pack(segment), list[bytes](), 0
    try:
        for part in _steps(packed):
            size += len(part)
            if size <= _MAX_BUFFERED_BYTES:
                held.append(part)
    except (OSError, ValueError, EOFError):
        return None
    return held if size <= _MAX_BUFFERED_BYTES else _steps(packed)


def _steps(packed: bytes) -> Iterator[bytes]:
    decompressor = bz2.BZ2Decompressor()
    while not decompressor.eof:
        if decompressor.needs_input and not packed:
            raise EOFError
        out = decompressor.decompress(packed, MAX_OUTPUT_BYTES)
        packed = b""
        if out:
            yield out


def _pack(segment: _Segment) -> bytes:
    """Make a block a complete stream: shift it to the first bit of a byte, and add a header and an end."""
    # In a stream, the first block begins at a byte, so shift it there:
    #
    #   bytes       00010111 01100...        the block begins at bit 3
    #   << 3        10111000                 the rest of the byte, and
    #   next >> 5   00000011                 the first three bits of the next byte
    #   together    10111011
    data = np.frombuffer(segment.data, np.uint8)
    if segment.shift:
        data = data << segment.shift | np.append(data[1:] >> 8 - segment.shift, np.uint8(0))
    # The block may end inside a byte: `tail` is its last `left` bits. Append the end mark and the
    # stream's checksum, which for a stream of one block is the checksum of the block, and fill up
    # the last byte with zeros.
    whole, left = divmod(segment.bits, 8)
    block = data.tobytes()
    tail = block[whole] >> 8 - left if left else 0
    end = (tail << _TRAILER_BITS | _END_MARK << 32 | int.from_bytes(block[6:10], "big")) << -(left + _TRAILER_BITS) % 8
    return b"BZh9" + block[:whole] + end.to_bytes((left + _TRAILER_BITS + 7) // 8, "big")


def _damage(segment: _Segment) -> Damage | None:
    """Report a block, or the bytes between two streams, as damaged; return None if the bytes between streams are valid."""
    at, begun = segment.at, True
    # Between two streams only the next header is allowed, and at the end of the file
    # nothing at all. Other bytes are damage, or a file that is not bzip2.
    used = (segment.shift + _TRAILER_BITS + 7) // 8 if segment.mark == _END_MARK else 0
    rest = segment.data[used : (segment.shift + segment.bits) // 8]
    if segment.mark != _BLOCK_MARK and len(segment.data) >= used:
        if not rest or (_HEADER.fullmatch(rest) and not segment.last):
            return None
        at, begun = at + used, _HEADER.match(rest + b"BZh9"[len(rest) :]) is not None
    return Damage(at, at, "truncated-stream" if segment.last and begun else "damaged-stream")

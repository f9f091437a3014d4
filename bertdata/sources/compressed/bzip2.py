"""Read bzip2 block by block, starting at any block. Each block has a mark and a checksum, so damage loses only a block or two.

A bzip2 stream is a bit string: a header of four bytes, blocks of up to 900 kB of text, and an end. A block can begin at any bit
of a byte. It begins with a mark, the first 48 bits of pi in decimal digits, and its checksum. The end also has a mark. Put
between a header and an end, one block is a valid stream, even if the blocks around it are damaged. If a mark is damaged, the end
of the block before it cannot be found, so both blocks are lost.

    BZh9 | pi, sum, block | pi, sum, block | root of pi, sum | BZh9 | pi, sum, block | root of pi, sum
"""

from __future__ import annotations

import bz2
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import IO, NamedTuple

import numpy as np

from ...storage.files import is_local, open_file, size
from ...storage.process import cores

__all__ = ["CHUNK_BYTES", "MAX_OUTPUT_BYTES", "DecompressedBlock", "Damage", "block_starts", "blocks", "next_block_start"]

CHUNK_BYTES = 1 << 18  # compressed bytes read at a time
MAX_OUTPUT_BYTES = 1 << 16  # maximum bytes per decompressor call, so that a decompression bomb is read in small steps
_BLOCK_MARK, _END_MARK, _NO_MARK = 0x314159265359, 0x177245385090, 0  # the decimal digits of pi and of its square root
_MARK_BITS, _MARK_BYTES = 48, 7  # a mark spans six bytes, or seven if it does not begin at a byte
_TRAILER_BITS = 80  # the end mark and the checksum of the stream
_HEADER = re.compile(rb"BZh[1-9]")
_HEADER_BYTES = 4
_MAX_BLOCK_BYTES = 2_400_000  # maximum bytes of a block: 18,001 groups of 50 symbols of 20 bits, and its tables
# Text is buffered until its checksum is verified. A normal block has 0.9 MB. A larger one is decompressed twice.
_MAX_BUFFERED_BYTES = 4 << 20
# One process plans a run of small files and does its tasks, so it reads a file several times: for its header, its templates and
# its pages. It keeps blocks of files up to this size: this number of blocks, each of at most 1 MB packed and 16 parts of 64 kB
# unpacked, so at most 128 MB.
_SMALL_FILE_BYTES, _KEPT_BLOCKS, _MAX_KEPT_BYTES, _MAX_KEPT_PARTS = 8 << 20, 64, 1 << 20, 16
_STREAM_SEARCH_BYTES = 1 << 20  # bytes to search for the start of a stream before the start of a block is used
_MIN_SPAN_BYTES = 4 << 20  # minimum bytes that one thread searches for cuts
_MAX_THREADS = 16  # maximum number of such threads; on a disk, one per core


class DecompressedBlock(NamedTuple):
    """Decompressed bytes, and the offset of their block in the file. For an uncompressed file, the offset of `data`.

    The offset of a bzip2 block is the byte with the first bit of its mark, or the start of the stream for its first block.
    """

    at: int
    data: bytes


class Damage(NamedTuple):
    """Bytes ``[start, end)`` of the file that could not be decompressed.

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

    It has `bits` bits and begins at bit `shift` of `data`. `at` is its offset in the file.
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

    Before each block, except directly after damage, yield an empty DecompressedBlock with its offset. A reader that has enough
    can stop there, before the block is decompressed.
    """
    is_small_file = file.seek(0, os.SEEK_END) <= _SMALL_FILE_BYTES
    broken: Damage | None = None  # the damage since the last good block
    failed: _Segment | None = None  # the previous segment, if it is a block that failed
    # The file is a series of segments, each from one mark to the next. Most are blocks. Decompress each one separately, and
    # extend the damage until a block succeeds again:
    #
    #   segments    block 1   block 2   block 3   end
    #   result      text      fails     text
    #   yields      text 1              Damage(start of block 2, start of block 3), text 3
    #
    # So one Damage covers all consecutive failures.
    for segment in _segments(file, start):
        text = None
        # A block can contain the 48 bits of a mark by chance. Then it is cut in two: both parts fail, but joined they succeed.
        if failed and (text := _text(joined := _join(failed, segment))) is not None:
            segment, broken = joined, broken if broken and broken.start < joined.at else None
        elif segment.mark == _BLOCK_MARK:
            if not broken:
                yield DecompressedBlock(segment.at, b"")
            text = (_kept_text(segment) if is_small_file and len(segment.data) <= _MAX_KEPT_BYTES else None) or _text(segment)
        failed = segment if segment.mark == _BLOCK_MARK and text is None else None
        if text is None:
            broken = broken or _damage(segment)
            continue
        if broken:
            yield broken._replace(end=segment.at)
            broken = None
        # The checksum is correct, so yield the text.
        for part in text:
            yield DecompressedBlock(segment.at, part)
    # The file ends in damage.
    if broken:
        yield broken._replace(end=file.seek(0, os.SEEK_END))


def block_starts(path: str, target: int) -> list[int]:
    """Return the offsets at which to cut a file into ranges of about `target` bytes, sorted, starting with 0.

    Each offset is the start of a decompressible block. If a stream starts nearby, it is the start of that stream. Several threads
    search in parallel, so that a disk is read by all cores and the requests to a store overlap.
    """
    end = size(path)
    # Each thread searches every `threads`-th span. The size of a span is a multiple of `target`, so the result does not depend
    # on the number of threads.
    spans = range(0, end, -(-_MIN_SPAN_BYTES // target) * target)
    threads = max(1, min(len(spans), _MAX_THREADS, cores() if is_local(path) else _MAX_THREADS))

    def search(number: int) -> set[int]:
        with open_file(path, ahead=_STREAM_SEARCH_BYTES) as file:
            return {start for at in spans[number::threads] for start in _starts(file, at, min(at + spans.step, end), target)}

    with ThreadPoolExecutor(threads) as pool:
        return sorted({0}.union(*pool.map(search, range(threads))))


def next_block_start(path: str, at: int, end: int) -> int:
    """Return the offset of the next decompressible block at or after byte `at`, or `end` if there is none before `end`."""
    with open_file(path, ahead=_STREAM_SEARCH_BYTES) as file:
        found = _next_start(file, at, end)
    return end if found is None else min(found, end)


def _starts(file: IO[bytes], at: int, end: int, target: int) -> Iterator[int]:
    """Yield the starts in the span `[at, end)`, at most one per multiple of `target`, except for 0."""
    at = at or target
    while at < end and (start := _next_start(file, at, end)) is not None:
        yield start
        at = (start // target + 1) * target


def _next_start(file: IO[bytes], at: int, end: int) -> int | None:
    """Return the start of the first stream soon after `at`, otherwise of the first block, or None if there is none before `end`.

    A stream is verified by the checksum at its end, which combines those of its blocks. A block is verified by decompressing it.
    """
    # Multistream dumps are thousands of small streams of 100 pages, so it is best to cut where a stream begins. Ordinary dumps
    # are one stream, where any block is a good cut. `candidates` collects the blocks until a stream is confirmed.
    #
    # A mark of 48 bits occurs by chance once in 35 TB of compressed data, and a dump can also contain a compressed file. So do
    # not use a stream before its checksum is confirmed.
    candidates: list[_Segment] = []
    stream, total = -1, 0  # start of the current stream, if near, and the combined checksum of its blocks
    for segment in _segments(file, max(0, at - _HEADER_BYTES)):
        # No stream has been confirmed in the bytes to search: use a block.
        if segment.at > max(at, stream) + _STREAM_SEARCH_BYTES:
            if (start := _first_good(candidates)) is not None or segment.at >= end:
                return start
            candidates, stream = [], -1
        # A header starts a new stream and a new combined checksum.
        if segment.opens:
            is_near = at <= segment.at <= at + _STREAM_SEARCH_BYTES and segment.mark == _BLOCK_MARK
            stream, total = segment.at if is_near else -1, 0
        if segment.mark == _END_MARK and stream >= 0 and _checksum(segment) == total:
            return stream
        # The checksum of a stream: rotate the total left by one bit, then XOR the checksum of the block.
        total = _checksum(segment) ^ (total << 1 | total >> 31) & 0xFFFFFFFF
        if segment.mark == _BLOCK_MARK and segment.at >= at:
            candidates.append(segment)
    return _first_good(candidates)


def _checksum(segment: _Segment) -> int:
    """Read the 32-bit checksum after a mark."""
    return int.from_bytes(segment.data[:11].ljust(11, b"\0"), "big") >> 8 - segment.shift & 0xFFFFFFFF


def _first_good(segments: list[_Segment]) -> int | None:
    """Return the offset of the first decompressible block that opens a stream, or else of the first decompressible block."""
    # The sort is stable: segments that open a stream come first, otherwise in file order.
    in_order = sorted(segments, key=lambda segment: not segment.opens)
    return next((segment.at for segment in in_order if _text(segment) is not None), None)


def _segments(file: IO[bytes], start: int) -> Iterator[_Segment]:
    """Cut a file into segments, beginning at `start`, the offset of a mark or a stream header.

    A segment is open from its mark until the next mark is found, possibly several chunks later. Only the bytes of the open
    segment are in memory. Example: a block begins at bit 3 of byte 100, and the next mark at bit 5 of byte 900.

        open segment     base 100, data[0] is byte 100, begin = 3
        next mark        bit 8 * 800 + 5 of data
        yields           data[0:801], shift 3, 8 * 800 + 5 - 3 = 6402 bits
        new segment      base 900, begin = 5
    """
    file.seek(start)
    data, base = b"", start  # bytes from the open segment on, and their offset in the file
    mark, at, begin, opens = _NO_MARK, start, 0, False  # of the open segment; `begin` is its first bit in `data`
    while chunk := file.read(CHUNK_BYTES):
        # A mark can span two chunks, so search the last six bytes of the previous chunk again.
        known = max(0, len(data) - _MARK_BYTES + 1)
        data += chunk
        for bit, following in _marks(data, known):
            # These six bytes may contain the mark of the open segment. Skip it.
            if mark and bit <= begin:
                continue
            # The first mark of a stream follows the four bytes of the header, so it is at bit 0 of a byte. `at` of the new
            # segment points to the header. The bits of the header stay at the end of the previous segment's data, where
            # `_damage` allows them.
            header = _HEADER.fullmatch(data, max(0, bit // 8 - _HEADER_BYTES), bit // 8) if bit % 8 == 0 else None
            is_first = header is not None and header.end() - header.start() == _HEADER_BYTES
            end = bit // 8 - _HEADER_BYTES * is_first
            yield _Segment(mark, at, data[begin // 8 : (bit + 7) // 8], begin % 8, bit - begin, opens, False)
            mark, at, begin, opens = following, base + end, bit, is_first
        rest = len(data) - begin // 8
        # No block is this long, so a mark is damaged, or this is not bzip2. Yield the segment to bound memory. Keep the last
        # six bytes, in which a mark may begin.
        if rest > _MAX_BLOCK_BYTES:
            yield _Segment(mark, at, data[begin // 8 :], begin % 8, 8 * rest - begin % 8, opens, False)
            mark, begin, opens = _NO_MARK, 8 * (len(data) - _MARK_BYTES + 1), False
            at = base + begin // 8
        data, base, begin = data[begin // 8 :], base + begin // 8, begin % 8  # drop the bytes before the open segment
    yield _Segment(mark, at, data, begin, 8 * len(data) - begin, opens, True)


def _inner_bytes() -> dict[bytes, tuple[int, int]]:
    """Map the five inner bytes of each mark, at each of eight bit offsets, to the mark and the offset."""
    # A mark that begins at bit 3 covers 5 bits of the first byte, 5 complete bytes, and 3 bits of the seventh. A search can
    # compare these 5 complete bytes. There are 16 such patterns, for 2 marks and 8 offsets.
    #
    #   offset 0    314159265359              bytes: 31 41 59 26 53 59; the inner five: 41 59 26 53 59
    #   offset 4     314159265359             bytes: 03 14 15 92 65 35 90; the inner five: 14 15 92 65 35
    marks = [(mark, shift) for mark in (_BLOCK_MARK, _END_MARK) for shift in range(8)]
    return {(mark << 8 - shift).to_bytes(_MARK_BYTES, "big")[1:6]: (mark, shift) for mark, shift in marks}


_INNER_MARK_BYTES = _inner_bytes()
_MARK_PAIRS = np.zeros(1 << 16, bool)  # whether two bytes at an even offset may belong to a mark
_MARK_PAIRS[[np.frombuffer(inner[at : at + 2], np.uint16)[0] for inner in _INNER_MARK_BYTES for at in (0, 1)]] = True


def _marks(data: bytes, known: int) -> Iterator[tuple[int, int]]:
    """Yield the first bit and the kind of each mark that begins at or after byte `known`."""
    # This search reads every byte of a dump of 20 GB, so it must be fast. Instead of comparing 16 patterns, look up each pair of
    # bytes at an even offset in a table of 65,536 flags. Either the first two inner bytes of a mark or the second and third are
    # such a pair, so no mark is missed. About 1 pair in 2,000 passes, and is then compared in full.
    even = known - known % 2
    pairs = np.frombuffer(data, np.uint16, (len(data) - even) // 2, even)
    for pair in (even + 2 * np.flatnonzero(_MARK_PAIRS.take(pairs))).tolist():
        # The pair is at the second or the third byte of the mark.
        for first in (pair - 1, pair - 2):
            mark, shift = _INNER_MARK_BYTES.get(data[first + 1 : first + 6], (_NO_MARK, 0))
            if mark and first >= known:
                bits = int.from_bytes(data[first : first + _MARK_BYTES].ljust(_MARK_BYTES, b"\0"), "big")
                if bits >> 8 - shift & (1 << _MARK_BITS) - 1 == mark and first + 6 + (shift > 0) <= len(data):
                    yield 8 * first + shift, mark


def _join(one: _Segment, two: _Segment) -> _Segment:
    """Join two consecutive segments."""
    # If segments are cut inside a byte, both contain this byte.
    overlap = (one.shift + one.bits) % 8 > 0
    return one._replace(data=one.data[: len(one.data) - overlap] + two.data, bits=one.bits + two.bits, last=two.last)


def _text(segment: _Segment) -> Iterable[bytes] | None:
    """Decompress a block. Return the text in parts, or None if the segment is not a block or its checksum is wrong."""
    if segment.mark != _BLOCK_MARK or segment.bits > 8 * _MAX_BLOCK_BYTES:
        return None
    # A block of 900 kB can unpack to 46 MB, because 5 bytes can encode a run of 259. Buffer up to 4 MB until the checksum is
    # verified. A longer text is decompressed a second time, in steps, after the first pass has verified it.
    packed, held, size = _pack(segment), list[bytes](), 0
    try:
        for part in _steps(packed):
            size += len(part)
            if size <= _MAX_BUFFERED_BYTES:
                held.append(part)
    except (OSError, ValueError, EOFError):
        return None
    return held if size <= _MAX_BUFFERED_BYTES else _steps(packed)


@lru_cache(maxsize=_KEPT_BLOCKS)
def _kept_text(segment: _Segment) -> list[bytes] | None:
    """Decompress a block once per process. Return None for a large block, whose text is not kept."""
    text = _text(segment)
    return text if isinstance(text, list) and len(text) <= _MAX_KEPT_PARTS else None


def _steps(packed: bytes) -> Iterator[bytes]:
    """Decompress a stream in steps of `MAX_OUTPUT_BYTES`."""
    decompressor = bz2.BZ2Decompressor()
    while not decompressor.eof:
        if decompressor.needs_input and not packed:
            raise EOFError
        out = decompressor.decompress(packed, MAX_OUTPUT_BYTES)
        packed = b""
        if out:
            yield out


def _pack(segment: _Segment) -> bytes:
    """Convert a block to a complete stream: shift it to bit 0 of a byte, and add a header and an end."""
    # The block begins at bit 3 of these bytes. Its first byte after the shift:
    #
    #   bytes       00010111 01100...
    #   << 3        10111000                 the last five bits of the first byte
    #   next >> 5   00000011                 the first three bits of the next byte
    #   together    10111011
    data = np.frombuffer(segment.data, np.uint8)
    if segment.shift:
        data = data << segment.shift | np.append(data[1:] >> 8 - segment.shift, np.uint8(0))
    # If the block ends inside a byte, `tail` is its last `tail_bits` bits. Append the end mark and the checksum of the stream,
    # which is the checksum of its only block, and fill the last byte with zeros.
    full_bytes, tail_bits = divmod(segment.bits, 8)
    block = data.tobytes()
    tail = block[full_bytes] >> 8 - tail_bits if tail_bits else 0
    end = (tail << _TRAILER_BITS | _END_MARK << 32 | int.from_bytes(block[6:10], "big")) << -(tail_bits + _TRAILER_BITS) % 8
    return b"BZh9" + block[:full_bytes] + end.to_bytes((tail_bits + _TRAILER_BITS + 7) // 8, "big")


def _damage(segment: _Segment) -> Damage | None:
    """Return the damage of a segment without text. Return None for the valid end of a stream."""
    at, begun = segment.at, True
    # After the end of a stream, only the header of the next one or the end of the file is valid. Other bytes are damage, or the
    # file is not bzip2.
    used = (segment.shift + _TRAILER_BITS + 7) // 8 if segment.mark == _END_MARK else 0
    rest = segment.data[used : (segment.shift + segment.bits) // 8]
    if segment.mark != _BLOCK_MARK and len(segment.data) >= used:
        if not rest or (_HEADER.fullmatch(rest) and not segment.last):
            return None
        at, begun = at + used, _HEADER.match(rest + b"BZh9"[len(rest) :]) is not None
    return Damage(at, at, "truncated-stream" if segment.last and begun else "damaged-stream")

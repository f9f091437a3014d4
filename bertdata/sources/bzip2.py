"""Read bzip2 block by block, starting at any block. Each block has a mark and a checksum, so damage loses only a block or two.

A bzip2 stream is a bit string: a header of four bytes, blocks of up to 900 kB of text, and an end. A block can begin at any bit
of a byte. It begins with a mark, the first 48 bits of pi in decimal digits, and its checksum. The end also has a mark. Put
between a header and an end, one block is a valid stream, even if the blocks around it are damaged. If a mark is damaged, the end
of the block before it cannot be found, so both blocks are lost.

    BZh9 | pi, sum, block | pi, sum, block | root of pi, sum | BZh9 | pi, sum, block | root of pi, sum

A block can contain the 48 bits of a mark by chance, once in 35 TB of compressed data. This block is lost and reported.
"""

from __future__ import annotations

import bz2
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import IO, NamedTuple

import numpy as np

from ..storage.files import open_file, size

CHUNK_BYTES = 1 << 18  # compressed bytes read at a time
STEP_BYTES = 1 << 16  # maximum bytes per decompressor call, so that a decompression bomb is read in small steps
_BLOCK, _END, _NONE = 0x314159265359, 0x177245385090, 0  # the decimal digits of pi and of its square root
_MARK_BYTES = 7  # a mark has 48 bits: six bytes, or seven if it does not begin at a byte
_TRAILER_BITS = 80  # the end mark and the checksum of the stream
_HEADER_BYTES = 4
_MAX_BLOCK_BYTES = 2_400_000  # maximum bytes of a block: 18,001 groups of 50 symbols of 20 bits, and its tables
_MAX_BUFFERED_BYTES = 4 << 20  # a block normally has 0.9 MB of text, and 46 MB if all bytes are equal
# One process plans a run of small files and does its tasks, so it reads a file several times: for its header, its templates and
# its pages. It keeps blocks of files up to this size: this number of blocks, each of at most 1 MB packed and 16 parts of 64 kB
# unpacked, so at most 128 MB.
_SMALL_FILE_BYTES, _KEPT_BLOCKS, _MAX_KEPT_BYTES, _MAX_KEPT_PARTS = 8 << 20, 64, 1 << 20, 16
_SPAN_BYTES = 64 << 20  # bytes that one thread searches for cuts
_THREADS = 8  # requests to a store overlap


class Block(NamedTuple):
    """Decompressed bytes, and the offset of their block in the file: the byte with the first bit of its mark.

    For an uncompressed file, the offset of `data`.
    """

    at: int
    data: bytes


class Damage(NamedTuple):
    """Bytes ``[at, end)`` of the file that could not be decompressed, with a reason such as ``damaged-stream``."""

    at: int
    end: int
    reason: str


class _Segment(NamedTuple):
    """The `bits` bits from one mark to the next, or to the end of the file. They begin at bit `shift` of `data`."""

    mark: int
    at: int
    data: bytes
    shift: int
    bits: int


def blocks(file: IO[bytes], start: int = 0) -> Iterator[Block | Damage]:
    """Decompress the blocks from the one at `start` on. Report damaged blocks and skip them.

    Before each block, except directly after damage, yield an empty Block with its offset. A reader that has enough can stop
    there, before the block is decompressed. One Damage covers all consecutive failures:

        segments    block 1   block 2   block 3   end
        result      text      fails     text
        yields      text 1              Damage(start of block 2, start of block 3), text 3
    """
    is_small_file = file.seek(0, os.SEEK_END) <= _SMALL_FILE_BYTES
    broken = None  # offset of the first failure since the last good block
    last = _Segment(_END, start, b"", 0, _TRAILER_BITS)
    for last in _segments(file, start):
        if last.mark == _BLOCK:
            if broken is None:
                yield Block(last.at, b"")
            text = (_kept_text(last) if is_small_file and len(last.data) <= _MAX_KEPT_BYTES else None) or _text(last)
            if text is None:
                broken = last.at if broken is None else broken
                continue
            if broken is not None:
                yield Damage(broken, last.at, "damaged-stream")
                broken = None
            yield from (Block(last.at, part) for part in text)
        elif broken is None and _excess_bytes(last) > _HEADER_BYTES:
            # More than the header of the next stream follows the end of a stream.
            broken = last.at + (last.shift + last.bits) // 8 - _excess_bytes(last)
    end = file.seek(0, os.SEEK_END)
    excess = _excess_bytes(last)
    if broken is not None or excess:
        # A file that ends in a block, in the end of a stream or in the beginning of one was cut.
        rest = last.data[len(last.data) - max(0, excess) :]
        is_header = b"BZh91AY&SY".startswith(rest[:3] + b"9"[: len(rest[3:])] + rest[4:])
        is_cut = last.mark == _BLOCK or excess < 0 or (excess > 0 and is_header)
        if broken is None:  # from the end that is cut, or from what follows it
            broken = last.at if excess < 0 else end - len(rest)
        yield Damage(broken, end, "truncated-stream" if is_cut else "damaged-stream")


def block_starts(path: str, target: int) -> list[int]:
    """Return the offsets at which to cut a file into ranges of about `target` bytes, sorted, starting with 0.

    Each offset is that of the first block from a multiple of `target` on.
    """
    end = size(path)
    # The size of a span is a multiple of `target`, so the result does not depend on the number of threads.
    span = -(-_SPAN_BYTES // target) * target

    def search(begin: int) -> list[int]:
        found: list[int] = []
        with open_file(path, ahead=CHUNK_BYTES) as file:
            for at in range(begin or target, min(begin + span, end), target):
                if not found or at > found[-1]:
                    found += next(([each.at] for each in _segments(file, at) if each.mark == _BLOCK and each.at >= at), [end])
        return found

    with ThreadPoolExecutor(_THREADS) as pool:
        return sorted({0}.union(*pool.map(search, range(0, end, span))) - {end})


def _excess_bytes(segment: _Segment) -> int:
    """Return the number of bytes after the end of a stream, negative if the end is cut; for other segments, all bytes."""
    end_bytes = (segment.shift + _TRAILER_BITS + 7) // 8 if segment.mark == _END else 0
    return (segment.shift + segment.bits) // 8 - end_bytes


def _segments(file: IO[bytes], start: int) -> Iterator[_Segment]:
    """Cut a file into segments, beginning at `start`. Bytes before the first mark are a segment without a mark.

    A segment is open from its mark until the next mark is found, possibly several chunks later. Only the bytes of the open
    segment are in memory. Example: a block begins at bit 3 of byte 100, and the next mark at bit 5 of byte 900.

        open segment     base 100, data[0] is byte 100, begin = 3
        next mark        bit 8 * 800 + 5 of data
        yields           data[0:801], shift 3, 8 * 800 + 5 - 3 = 6402 bits
        new segment      base 900, begin = 5
    """
    file.seek(start)
    data, base = b"", start  # bytes from the open segment on, and their offset in the file
    mark, begin = _NONE, 0  # of the open segment; `begin` is its first bit in `data`
    while chunk := file.read(CHUNK_BYTES):
        known = max(0, len(data) - _MARK_BYTES + 1)  # a mark can span two chunks
        data += chunk
        for bit, following in _marks(data, known):
            if mark and bit <= begin:  # the mark of the open segment
                continue
            yield _Segment(mark, base + begin // 8, data[begin // 8 : (bit + 7) // 8], begin % 8, bit - begin)
            mark, begin = following, bit
        # No block is this long, so a mark is damaged, or this is not bzip2. Yield the segment to bound memory. Keep the last
        # six bytes, in which a mark may begin.
        if len(data) - begin // 8 > _MAX_BLOCK_BYTES:
            yield _Segment(mark, base + begin // 8, data[begin // 8 :], begin % 8, 8 * len(data) - begin)
            mark, begin = _NONE, 8 * (len(data) - _MARK_BYTES + 1)
        data, base, begin = data[begin // 8 :], base + begin // 8, begin % 8  # drop the bytes before the open segment
    yield _Segment(mark, base, data, begin, 8 * len(data) - begin)


# The five inner bytes of each mark, at each of eight bit offsets. A mark that begins at bit 3 covers 5 bits of the first byte,
# 5 complete bytes, and 3 bits of the seventh. A search can compare these 5 complete bytes.
#
#   offset 0    314159265359              bytes: 31 41 59 26 53 59; the inner five: 41 59 26 53 59
#   offset 4     314159265359             bytes: 03 14 15 92 65 35 90; the inner five: 14 15 92 65 35
_INNER_MARK_BYTES = {
    (mark << 8 - shift).to_bytes(_MARK_BYTES, "big")[1:6]: (mark, shift) for mark in (_BLOCK, _END) for shift in range(8)
}
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
            mark, shift = _INNER_MARK_BYTES.get(data[first + 1 : first + 6], (_NONE, 0))
            if mark and first >= known:
                bits = int.from_bytes(data[first : first + _MARK_BYTES].ljust(_MARK_BYTES, b"\0"), "big")
                if bits >> 8 - shift & (1 << 48) - 1 == mark and first + 6 + (shift > 0) <= len(data):
                    yield 8 * first + shift, mark


def _text(segment: _Segment) -> Iterator[bytes] | list[bytes] | None:
    """Decompress a block. Return the text in parts, or None if its checksum is wrong."""
    if segment.bits > 8 * _MAX_BLOCK_BYTES:
        return None
    # A text of more than 4 MB is decompressed a second time, in steps, after the first pass has verified its checksum.
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
    """Decompress a stream in steps of `STEP_BYTES`."""
    decompressor = bz2.BZ2Decompressor()
    while not decompressor.eof:
        if decompressor.needs_input and not packed:
            raise EOFError
        yield decompressor.decompress(packed, STEP_BYTES)
        packed = b""


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
    end = (tail << _TRAILER_BITS | _END << 32 | int.from_bytes(block[6:10], "big")) << -(tail_bits + _TRAILER_BITS) % 8
    return b"BZh9" + block[:full_bytes] + end.to_bytes((tail_bits + _TRAILER_BITS + 7) // 8, "big")

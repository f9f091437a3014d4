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
# A run of small files reads a file several times: for its header, its templates and its pages. Each process keeps the text of so
# many blocks of files up to this size. A block has 0.9 MB of text; one of equal bytes, which has up to 46 MB, is not kept.
_SMALL_FILE_BYTES, _KEPT_BLOCKS, _MAX_KEPT_PARTS = 8 << 20, 64, 16


class Block(NamedTuple):
    """Decompressed bytes, and the offset of their block: the byte with the first bit of its mark. Uncompressed: of `data`."""

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

    @property
    def excess(self) -> int:
        """The number of bytes after the end of a stream, negative if the end is cut; for other segments, all bytes."""
        end_bytes = (self.shift + _TRAILER_BITS + 7) // 8 if self.mark == _END else 0
        return (self.shift + self.bits) // 8 - end_bytes


def blocks(file: IO[bytes], start: int = 0) -> Iterator[Block | Damage]:
    """Decompress the blocks from the one at `start` on. Report damaged blocks and skip them.

    Before each block, except directly after damage, yield an empty Block with its offset. A reader that has enough can stop
    there, before the block is decompressed. One Damage covers all consecutive failures, up to the start of a good block.
    """
    end = file.seek(0, os.SEEK_END)
    broken = None  # offset of the first failure since the last good block
    last = _Segment(_END, start, b"", 0, _TRAILER_BITS)
    for last in _segments(file, start):
        if last.mark == _BLOCK:
            if broken is None:
                yield Block(last.at, b"")
            text = (_kept_text(last) if end <= _SMALL_FILE_BYTES else None) or _text(last)
            if text is None:
                broken = last.at if broken is None else broken
                continue
            if broken is not None:
                yield Damage(broken, last.at, "damaged-stream")
                broken = None
            yield from (Block(last.at, part) for part in text)
        elif broken is None and last.excess > _HEADER_BYTES:
            # More than the header of the next stream follows the end of a stream.
            broken = last.at + (last.shift + last.bits) // 8 - last.excess
    if broken is not None or last.excess:
        # A file that ends in a block, in the end of a stream or in the beginning of one was cut.
        rest = last.data[len(last.data) - max(0, last.excess) :]
        is_header = b"BZh91AY&SY".startswith(rest[:3] + b"9"[: len(rest[3:])] + rest[4:])
        is_cut = last.mark == _BLOCK or last.excess < 0 or (last.excess > 0 and is_header)
        if broken is None:  # from the end that is cut, or from what follows it
            broken = last.at if last.excess < 0 else end - len(rest)
        yield Damage(broken, end, "truncated-stream" if is_cut else "damaged-stream")


def block_starts(path: str, target: int) -> list[int]:
    """Return the offsets at which to cut a file into ranges of about `target` bytes, sorted, starting with 0.

    Each offset is that of the first block from a multiple of `target` on.
    """
    found, end = [0], size(path)
    with open_file(path, ahead=CHUNK_BYTES) as file:
        for at in range(target, end, target):
            if at > found[-1]:
                found += next(([each.at] for each in _segments(file, at) if each.mark == _BLOCK and each.at >= at), [end])
    return [at for at in found if at < end]


def _segments(file: IO[bytes], start: int) -> Iterator[_Segment]:
    """Cut a file into segments, beginning at `start`. Bytes before the first mark are a segment without a mark.

    A segment is open from its mark until the next mark is found, possibly several chunks later. Only its bytes are in memory.
    Example: a block begins at bit 3 of byte 100, and the next mark at bit 5 of byte 900. `base` is 100, and `begin` is 3. The
    next mark is bit 8 * 800 + 5 of `data`, so the segment has 8 * 800 + 5 - 3 bits. Then `base` is 900, and `begin` is 5.
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


# The five inner bytes of each mark, at each of eight bit offsets. A mark that begins at bit 4 is in seven bytes, such as
# 03 14 15 92 65 35 90. A search can compare the five complete bytes, 14 15 92 65 35.
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


def _text(segment: _Segment) -> list[bytes] | None:
    """Decompress a block. Return the text in parts, or None if its checksum is wrong."""
    if not _TRAILER_BITS <= segment.bits <= 8 * _MAX_BLOCK_BYTES:
        return None
    packed, decompressor, parts = _pack(segment), bz2.BZ2Decompressor(), list[bytes]()
    try:
        while not decompressor.eof:
            if decompressor.needs_input and not packed:
                return None
            parts.append(decompressor.decompress(packed, STEP_BYTES))
            packed = b""
    except (OSError, ValueError):
        return None
    return parts


@lru_cache(maxsize=_KEPT_BLOCKS)
def _kept_text(segment: _Segment) -> list[bytes] | None:
    """Decompress a block once per process. Return None for a large block, whose text is not kept."""
    text = _text(segment)
    return text if text and len(text) <= _MAX_KEPT_PARTS else None


def _pack(segment: _Segment) -> bytes:
    """Convert a block to a complete stream: shift it to the first bit of a byte, and add a header and an end.

    The checksum of a stream with one block is that of the block, which follows its mark.
    """
    block = int.from_bytes(segment.data, "big") >> 8 * len(segment.data) - segment.shift - segment.bits
    block &= (1 << segment.bits) - 1
    checksum = block >> segment.bits - _TRAILER_BITS & 0xFFFFFFFF
    stream = block << _TRAILER_BITS | _END << 32 | checksum
    unused_bits = -(segment.bits + _TRAILER_BITS) % 8
    return b"BZh9" + (stream << unused_bits).to_bytes((segment.bits + _TRAILER_BITS + 7) // 8, "big")

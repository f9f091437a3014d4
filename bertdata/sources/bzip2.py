"""Read bzip2 block by block, starting at any block. Each block has a mark and a checksum, so damage loses only a block or two.

A bzip2 stream is a bit string: a header of four bytes, blocks of up to 900 kB of text, and an end. A block can begin at any bit
of a byte. It begins with a mark, the first 48 bits of pi in decimal digits, and its checksum. Put between a header and an end,
one block is a valid stream. A block contains the 48 bits of a mark by chance once in 35 TB. It is lost and reported.

    BZh9 | pi, sum, block | pi, sum, block | root of pi, sum | BZh9 | pi, sum, block | root of pi, sum
"""

from __future__ import annotations

import bz2
import contextlib
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
_HEADER_BYTES, _HEADER_AND_MARK_BYTES = 4, 10
# A small dump is read for its header, its templates and its pages. Each process keeps so many blocks of files up to this size,
# except blocks of more than 16 steps. Without this, a run on 12 small dumps takes a quarter more CPU time.
_SMALL_FILE_BYTES, _KEPT_BLOCKS, _MAX_KEPT_STEPS = 8 << 20, 64, 16
_MAX_BLOCK_BYTES = 2_400_000  # maximum bytes of a block: 18,001 groups of 50 symbols of 20 bits, and its tables

# The five inner bytes of each mark, at each of eight bit offsets. A mark that begins at bit 4 is in seven bytes, such as
# 03 14 15 92 65 35 90. A search can compare the five complete bytes, 14 15 92 65 35.
_INNER_MARK_BYTES = {
    (mark << 8 - shift).to_bytes(_MARK_BYTES, "big")[1:6]: (mark, shift) for mark in (_BLOCK, _END) for shift in range(8)
}
_MARK_PAIRS = np.zeros(1 << 16, bool)  # whether two bytes at an even offset may belong to a mark
_MARK_PAIRS[[np.frombuffer(inner[at : at + 2], np.uint16)[0] for inner in _INNER_MARK_BYTES for at in (0, 1)]] = True


class Block(NamedTuple):
    """Decompressed bytes, and the offset of their block: the byte with the first bit of its mark. Uncompressed: of `data`."""

    at: int
    data: bytes


class Damage(NamedTuple):
    """Bytes ``[at, end)`` of the file that could not be decompressed, with a reason such as ``damaged-stream``."""

    at: int
    end: int
    reason: str


def blocks(file: IO[bytes], start: int = 0) -> Iterator[Block | Damage]:
    """Decompress the blocks from the one at `start` on. One Damage covers all failures up to the start of a good block.

    Before each block, except directly after damage, yield an empty Block with its offset, where a reader may stop.
    """
    end = broken = file.seek(0, os.SEEK_END)  # `broken`: offset of the first failure since the last good block
    is_cut, at, extra = False, 0, 0
    for mark, first, last, data in _segments(file, start):
        at = first // 8
        # The bytes after the end of a stream are the header of the next one. A negative number means that the end is cut.
        extra = last // 8 - ((first + _TRAILER_BITS + 7) // 8 if mark == _END else at)
        is_cut = mark == _BLOCK or extra < 0 or 0 < extra < _HEADER_AND_MARK_BYTES
        if mark == _BLOCK:
            if broken == end:
                yield Block(at, b"")
            text = None
            if _TRAILER_BITS <= last - first <= 8 * _MAX_BLOCK_BYTES:
                block = data, first % 8, last - first
                text = (_kept(*block) if end <= _SMALL_FILE_BYTES else None) or _decompress(*block)
            if text is None:
                broken = min(broken, at)
                continue
            if broken < end:
                yield Damage(broken, at, "damaged-stream")
            broken = end
            yield from (Block(at, part) for part in text)
        elif extra > _HEADER_BYTES:
            broken = min(broken, last // 8 - extra)
    if broken < end or is_cut:  # a file that does not end with the end of a stream was cut
        broken = min(broken, at if extra < 0 else end - extra)
        yield Damage(broken, end, "truncated-stream" if is_cut else "damaged-stream")


def block_starts(path: str, target: int) -> list[int]:
    """Return 0 and the offset of the first block from each multiple of `target` on, at which to cut a file into ranges."""
    found, end = [0], size(path)
    with open_file(path, ahead=CHUNK_BYTES) as file:
        for least in range(target, end, target):
            if least > found[-1]:
                found += next(([first // 8] for mark, first, *_ in _segments(file, least) if mark == _BLOCK), [end])
    return [at for at in found if at < end]


def _segments(file: IO[bytes], start: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield each mark from byte `start` on, the bits at which it and the next one begin, and the bytes of both and in between.

    Bytes before the first mark come with no mark, and a segment that is longer than a block without all of its bytes.
    """
    # Every byte of a dump of 20 GB is searched, so look up each pair of bytes at an even offset in a table of 65,536 flags: one
    # such pair is the first two inner bytes of a mark, or the second and third. About 1 pair in 2,000 passes, and is compared.
    file.seek(start)
    data, base = b"", start  # the last bytes of the file, from the open segment on, and their offset
    mark, first = _NONE, 8 * start  # of the open segment
    while chunk := file.read(CHUNK_BYTES):
        even = max(0, len(data) - _MARK_BYTES) // 2 * 2  # a mark can span two chunks
        data += chunk
        pairs = np.frombuffer(data, np.uint16, (len(data) - even) // 2, even)
        for pair in (even + 2 * np.flatnonzero(_MARK_PAIRS.take(pairs))).tolist():
            for at in (pair - 1, pair - 2):  # the pair is at the second or the third byte of the mark
                following, shift = _INNER_MARK_BYTES.get(data[at + 1 : at + 6], (_NONE, 0))
                bits, last = int.from_bytes(data[max(0, at) : at + _MARK_BYTES], "big"), 8 * (base + at) + shift
                is_new = 0 <= at <= len(data) - _MARK_BYTES and (last > first or not mark)
                if following and is_new and bits >> 8 - shift & (1 << 48) - 1 == following:
                    yield mark, first, last, data[first // 8 - base : (last + 7) // 8 - base]
                    mark, first = following, last
        dropped = max(first // 8 - base, len(data) - _MAX_BLOCK_BYTES - CHUNK_BYTES)
        data, base = data[dropped:], base + dropped
    yield mark, first, 8 * (base + len(data)), data


def _decompress(data: bytes, shift: int, bits: int) -> list[bytes] | None:
    """Decompress a block of `bits` bits that begins at bit `shift`. Return the text in parts, or None for a wrong checksum."""
    # Shift the block to the first bit of a byte, and put it between a header and an end. The checksum of a stream with one block
    # is that of the block, which follows its mark.
    block = int.from_bytes(data, "big") >> 8 * len(data) - shift - bits & (1 << bits) - 1
    stream = block << _TRAILER_BITS | _END << 32 | (block >> bits - _TRAILER_BITS & 0xFFFFFFFF)
    length = (bits + _TRAILER_BITS + 7) // 8
    packed = b"BZh9" + (stream << 8 * length - bits - _TRAILER_BITS).to_bytes(length, "big")
    decompressor, parts = bz2.BZ2Decompressor(), list[bytes]()
    with contextlib.suppress(OSError, ValueError):
        while packed or not decompressor.needs_input:
            parts.append(decompressor.decompress(packed, STEP_BYTES))
            packed = b""
            if decompressor.eof:
                return parts
    return None


@lru_cache(maxsize=_KEPT_BLOCKS)
def _kept(data: bytes, shift: int, bits: int) -> list[bytes] | None:
    """Decompress a block once per process. Return None for a large block, whose text is not kept."""
    text = _decompress(data, shift, bits)
    return text if text and len(text) <= _MAX_KEPT_STEPS else None

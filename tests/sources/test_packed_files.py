"""Compressed input: every byte or a named damage, bzip2 from any block on, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import subprocess
import sys
import zlib
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertdata.errors import UsageError
from bertdata.sources import bzip2
from bertdata.sources.bzip2 import CHUNK_BYTES, STEP_BYTES, Block, Damage, block_starts
from bertdata.sources.packed import blocks

LAW = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
CHECKED = {zstd.CompressionParameter.checksum_flag: 1}
PACK: dict[str, Any] = {
    "gz": partial(gzip.compress, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": partial(zstd.compress, options=CHECKED),
}
TEXT = b"".join(b"%d %s\n" % (i, random.Random(i).randbytes(40).hex().encode()) for i in range(6000))  # five blocks of 100 kB
STREAM = bz2.compress(TEXT, 1)
PARTS = [random.Random(seed).randbytes(300) for seed in range(4)]


def read(path: Path, start: int = 0) -> tuple[dict[int, bytes], list[Damage]]:
    """Read a file: the text of each block by its offset, and the damage."""
    texts: dict[int, bytes] = {}
    found = list(blocks(str(path), start))
    for block in found:
        if isinstance(block, Block):
            assert len(block.data) <= STEP_BYTES
            texts[block.at] = texts.get(block.at, b"") + block.data
    return texts, [item for item in found if isinstance(item, Damage)]


def text(path: Path) -> bytes:
    return b"".join(read(path)[0].values())


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


# --- every format ---


@pytest.mark.parametrize("kind", PACK)
def test_members_are_read_whole_and_garbage_is_named(tmp_path: Path, kind: str) -> None:
    parts = [
        b"x",
        *(random.Random(size).randbytes(size) for size in (STEP_BYTES, STEP_BYTES + 1, 3 * STEP_BYTES)),
        b"tea " * 99999,
    ]
    data = b"".join(map(PACK[kind], (*parts, b"", b"last")))
    path = write(tmp_path / f"a.{kind}", data)
    assert text(path) == b"".join(parts) + b"last" and not read(path)[1]
    path = write(tmp_path / f"a.{kind}", data + b"garbage and garbage")
    ((damage,), found) = (read(path)[1], text(path))
    assert found == b"".join(parts) + b"last" and (damage.end, damage.reason) == (len(data) + 19, "damaged-stream")
    empty = [Damage(0, 0, "truncated-stream")] if kind == "zst" else []
    assert read(write(tmp_path / f"a.{kind}", b""))[1] == empty
    assert read(write(tmp_path / f"a.{kind}", b"<mediawiki></mediawiki>"))[1] == [Damage(0, 23, "damaged-stream")]


@pytest.mark.parametrize("kind", PACK)
def test_a_cut_or_flipped_file_keeps_what_came_before(tmp_path: Path, kind: str) -> None:
    whole, first = b"".join(map(PACK[kind], PARTS[:2])), len(PACK[kind](PARTS[0]))
    for size in {*range(2, len(whole), 7), first - 1, first}:
        path = write(tmp_path / f"a.{kind}", whole[:size])
        assert (PARTS[0] + PARTS[1]).startswith(text(path))
        reasons = [damage.reason for damage in read(path)[1]]
        assert reasons == ([] if size == first else ["truncated-stream"]) or size - first in (1, 2, 3)
    for at in range(first + 30, len(whole) - 20, 31):
        path = write(tmp_path / f"a.{kind}", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        assert text(path).startswith(PARTS[0]) and [damage.end for damage in read(path)[1]] == [len(whole)]


def test_zeros_may_follow_a_member(tmp_path: Path) -> None:
    for kind in ("gz", "xz"):
        first, second = map(PACK[kind], PARTS[:2])
        path = write(tmp_path / f"a.{kind}", first + bytes(3 * CHUNK_BYTES) + second + bytes(512))
        assert text(path) == PARTS[0] + PARTS[1] and not read(path)[1]


def test_a_plain_file_is_read_from_a_byte_and_no_block_crosses_the_end(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(2 * CHUNK_BYTES + 100)
    found = list(blocks(str(write(tmp_path / "a.xml", data)), 50, CHUNK_BYTES + 60))
    assert b"".join(block.data for block in found if isinstance(block, Block)) == data[50:]
    assert [block.at for block in found] == [50, CHUNK_BYTES + 50, CHUNK_BYTES + 60, 2 * CHUNK_BYTES + 60]


def test_files_that_take_much_memory_are_refused(tmp_path: Path) -> None:
    """The size of an xz dictionary is in the header of a block, before the header's checksum; zstd's is a window."""
    small = lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    data = bytearray(small.compress(b"small") + small.flush())
    data[data.index(bytes([lzma.FILTER_LZMA2, 1])) + 2] = 36  # 2 << (36 // 2 + 11) bytes, 512 MB
    end = 12 + 4 * data[12]
    data[end : end + 4] = zlib.crc32(data[12:end]).to_bytes(4, "little")
    with pytest.raises(UsageError, match=r"more than 128 MB of memory. Recompress it as \.bz2"):
        read(write(tmp_path / "a.xml.xz", bytes(data)))
    for log in (27, 28):
        packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: log})
        path = write(tmp_path / "a.xml.zst", packer.compress(b"small") + packer.flush())
        if log == 27:
            assert text(path) == b"small"
    with pytest.raises(UsageError, match=r"more than 128 MB of memory"):
        read(path)


def test_zstd_without_its_package_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(UsageError, match=r"a\.xml\.zst: .*pip install backports.zstd"):
        read(write(tmp_path / "a.xml.zst", b"anything"))


MEASURE = """
import resource, sys
from bertdata.sources.bzip2 import Block, block_starts
from bertdata.sources.packed import blocks
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
block_starts(sys.argv[1], 1)
total = sum(len(b.data) for b in blocks(sys.argv[1]) if isinstance(b, Block))
print(total, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.nightly
def test_a_bomb_is_read_in_bounded_memory(tmp_path: Path, kind: str) -> None:
    data = PACK[kind](bytes(64 << 20))
    assert len(data) < 80_000
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(write(tmp_path / f"a.{kind}", data))], capture_output=True, check=True
    )
    total, megabytes = map(int, done.stdout.split())
    assert total == 64 << 20
    assert megabytes < (80 if kind == "bz2" else 40)  # a block of bzip2 has up to 46 MB


# --- bzip2 from any block on ---


@pytest.mark.slow
def test_every_block_of_a_single_stream_can_be_read_from(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bz2", STREAM)
    texts, damages = read(path)
    assert damages == [] and b"".join(texts.values()) == TEXT
    starts = sorted(texts)
    assert len(starts) == 6
    for number, start in enumerate(starts):
        assert read(path, start) == ({at: texts[at] for at in starts[number:]}, [])
    for target in (1, 1000, 50_000, 120_000, len(STREAM)):
        firsts = [[start for start in starts if start >= at][:1] for at in range(target, len(STREAM), target)]
        assert block_starts(str(path), target) == sorted({0, *chain(*firsts)})
    with open(path, "rb") as file:  # an empty block comes before its text, so that a reader can stop there
        assert next(iter(bzip2.blocks(file))) == Block(4, b"") and file.tell() <= 2 * CHUNK_BYTES


@pytest.mark.parametrize("step", [-9, -5, -4, -3, -1, 0, 1, 4])
def test_a_header_across_the_offset_where_a_search_begins(tmp_path: Path, step: int) -> None:
    """The offset of a block must not depend on where the search for it began: two tasks would read it, or none."""
    small = bz2.compress(b"small")
    starts = block_starts(str(write(tmp_path / "a.bz2", small * 3)), len(small) + step)
    first = len(small) + 4  # a mark
    assert set(starts) <= {0, first, first + len(small)} and starts[1] == first


@pytest.mark.slow
def test_damaged_blocks_cost_themselves(tmp_path: Path) -> None:
    whole, _ = read(write(tmp_path / "a.bz2", STREAM))
    starts = [*whole, len(STREAM)]
    for number, (start, end) in enumerate(zip(starts, starts[1:], strict=False)):
        at = [start + 10, start + 1000, end - 1000, end - 20][number % 4]
        data = STREAM[:at] + bytes([STREAM[at] ^ 0x21]) + STREAM[at + 1 :]
        assert read(write(tmp_path / "a.bz2", data)) == ({**whole, start: b""}, [Damage(start, end, "damaged-stream")])
    data = STREAM[: starts[1] + 100] + bytes(starts[3] - starts[1]) + STREAM[starts[3] + 100 :]
    texts, damages = read(write(tmp_path / "a.bz2", data))
    assert damages == [Damage(starts[1], starts[4], "damaged-stream")], "neighbours are one damage"
    assert {at: text for at, text in texts.items() if text} == {at: whole[at] for at in (4, starts[4], starts[5])}
    texts, damages = read(write(tmp_path / "a.bz2", STREAM[: starts[3] + 1000]))
    assert damages == [Damage(starts[3], starts[3] + 1000, "truncated-stream")]
    assert b"".join(texts.values()) == b"".join(whole[at] for at in starts[:3])


@pytest.mark.parametrize("garbage", [b"garbage, 20 bytes ok", bytes(3_000_000), b"BZh9" * 900_000])
def test_garbage_of_any_length_is_passed_over(tmp_path: Path, garbage: bytes) -> None:
    small = bz2.compress(b"small")
    texts, damages = read(write(tmp_path / "a.bz2", small + garbage + small))
    assert [text for text in texts.values() if text] == [b"small", b"small"]
    assert damages == [Damage(len(small), len(small) + len(garbage) + 4, "damaged-stream")]


@LAW
@given(
    parts=st.lists(st.binary(max_size=300), min_size=1, max_size=5),
    flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), max_size=3),
    cut=st.integers(0, 2000),
)
def test_what_is_not_named_is_right(tmp_path: Path, parts: list[bytes], flips: list[tuple[int, int]], cut: int) -> None:
    """Each text that is read is one of those that were packed, in order; the rest is named."""
    data = bytearray(b"".join(map(bz2.compress, parts)))
    del data[max(1, len(data) - cut) if cut < 1000 else len(data) :]
    for at, change in flips:
        data[at % len(data)] ^= change
    texts, damages = read(write(tmp_path / "a.bz2", bytes(data)))
    left = iter(part for part in parts if part)
    assert all(text in left for text in texts.values() if text)
    assert damages or b"".join(texts.values()) == b"".join(parts) or cut < 1000
    assert all(one.end <= two.at for one, two in zip(damages, damages[1:], strict=False))

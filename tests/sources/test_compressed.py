"""Compressed input: every byte or a named damage, from any stream on, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertdata.sources.compressed import CHUNK, MOST, Block, Damage, blocks, stream_starts

LAW = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
STREAMS = st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=6)


def _read(path: Path, start: int = 0, end: int = 0) -> tuple[bytes, list[Damage]]:
    found = list(blocks(str(path), start, end))
    assert all(len(block.data) <= MOST for block in found if isinstance(block, Block))
    return b"".join(b.data for b in found if isinstance(b, Block)), [d for d in found if isinstance(d, Damage)]


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _starts(streams: list[bytes]) -> list[int]:
    return [sum(map(len, streams[:i])) for i in range(len(streams))]


def _noise(size: int, seed: int = 1) -> bytes:
    """Bytes that do not compress."""
    import random

    return random.Random(seed).randbytes(size)


@LAW
@given(parts=STREAMS, end=st.sampled_from([".xml", ".xml.gz", ".xml.bz2"]))
def test_all_bytes_of_all_streams(tmp_path: Path, parts: list[bytes], end: str) -> None:
    pack = {".xml": bytes, ".xml.gz": gzip.compress, ".xml.bz2": bz2.compress}[end]
    path = _write(tmp_path / f"a{end}", b"".join(map(pack, parts)))
    assert _read(path) == (b"".join(parts), [])


@LAW
@given(parts=STREAMS, index=st.integers(0, 5))
def test_bzip2_from_any_stream_on(tmp_path: Path, parts: list[bytes], index: int) -> None:
    streams = list(map(bz2.compress, parts))
    index %= len(parts)
    path = _write(tmp_path / "a.bz2", b"".join(streams))
    starts = _starts(streams)
    assert _read(path, starts[index]) == (b"".join(parts[index:]), [])
    assert [block.at for block in blocks(str(path)) if isinstance(block, Block)] == starts


@LAW
@given(parts=STREAMS, target=st.integers(1, 400))
def test_stream_starts_are_starts_and_target_apart(tmp_path: Path, parts: list[bytes], target: int) -> None:
    streams = list(map(bz2.compress, parts))
    path = _write(tmp_path / "a.bz2", b"".join(streams))
    starts, real = stream_starts(str(path), target), _starts(streams)
    assert starts[0] == 0 and set(starts) <= set(real)
    assert all(b - a >= target for a, b in zip(starts[:-1], starts[1:], strict=True))
    for a, b in zip(starts[:-1], starts[1:], strict=True):
        assert b == min(s for s in real if s >= a + target)
    assert not [s for s in real if s >= starts[-1] + target]


def test_stream_starts_across_reads(tmp_path: Path) -> None:
    """A header that lies across the border of two reads is found as well."""
    first = bz2.compress(_noise(CHUNK // 2))
    for shift in range(-12, 3):
        filler = b"\x00" * (CHUNK + 7 + shift - len(first))
        path = _write(tmp_path / "a.bz2", first + filler + bz2.compress(b"second"))
        assert stream_starts(str(path), 7) == [0, CHUNK + 7 + shift]


def test_a_header_in_the_data_is_no_stream(tmp_path: Path) -> None:
    """The ten bytes that begin a stream may stand in compressed noise by chance."""
    fake = b"BZh91AY&SY" + _noise(1000)
    path = _write(tmp_path / "a.bz2", bz2.compress(b"one") + fake + bz2.compress(b"two"))
    assert stream_starts(str(path), 1) == [0, len(bz2.compress(b"one")) + len(fake)]


def test_one_stream_gives_one_start(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.bz2", bz2.compress(_noise(3 * CHUNK)))
    assert stream_starts(str(path), 1000) == [0]


def test_an_empty_stream_and_an_empty_file(tmp_path: Path) -> None:
    assert _read(_write(tmp_path / "a.bz2", bz2.compress(b"x") + bz2.compress(b"") + bz2.compress(b"y"))) == (b"xy", [])
    for name in ("e.bz2", "e.gz", "e.xml"):
        assert _read(_write(tmp_path / name, b"")) == (b"", [])


def test_a_plain_file_is_read_from_a_byte_and_no_block_lies_across_the_end(tmp_path: Path) -> None:
    data = _noise(2 * CHUNK + 100)
    path = _write(tmp_path / "a.xml", data)
    found = [block for block in blocks(str(path), 50, CHUNK + 60) if isinstance(block, Block)]
    assert b"".join(block.data for block in found) == data[50:]
    assert [block.at for block in found] == [50, CHUNK + 50, CHUNK + 60, 2 * CHUNK + 60]


# --- damage ---

PARTS = [_noise(300, seed) for seed in range(4)]
PACKED = list(map(bz2.compress, PARTS))


@pytest.mark.parametrize("index", range(4))
def test_flipped_bytes_cost_their_stream_only(tmp_path: Path, index: int) -> None:
    starts = [*_starts(PACKED), sum(map(len, PACKED))]
    whole = b"".join(PACKED)
    for at in range(starts[index], starts[index + 1], 7):
        data = bytearray(whole)
        data[at] ^= 0x55
        read, damages = _read(_write(tmp_path / "a.bz2", bytes(data)))
        (damage,) = damages
        assert (damage.start, damage.end) == (starts[index], starts[index + 1])
        assert damage.reason in ("damaged-stream", "truncated-stream")
        assert read.startswith(b"".join(PARTS[:index]))
        assert read.endswith(b"".join(PARTS[index + 1 :]))


def test_a_cut_in_a_stream_is_named_and_a_cut_between_streams_is_an_end(tmp_path: Path) -> None:
    whole, starts = b"".join(PACKED), [*_starts(PACKED), sum(map(len, PACKED))]
    for size in sorted({*range(1, len(whole), 9), *(s + d for s in starts[1:-1] for d in (-1, 0, 1, 4, 10))}):
        before = max(s for s in starts if s <= size)
        read, damages = _read(_write(tmp_path / "a.bz2", whole[:size]))
        whole_parts = b"".join(PARTS[: starts.index(before)])
        assert read.startswith(whole_parts)
        if size in starts:
            assert read == whole_parts and damages == []
        else:
            assert damages == [Damage(before, size, "truncated-stream")]


def test_rubbish_after_a_stream_is_named(tmp_path: Path) -> None:
    read, damages = _read(_write(tmp_path / "a.bz2", PACKED[0] + b"rubbish, 20 bytes ok" + PACKED[1]))
    assert read == PARTS[0] + PARTS[1]
    assert damages == [Damage(len(PACKED[0]), len(PACKED[0]) + 20, "damaged-stream")]


def test_a_file_that_is_no_bzip2_is_one_damage(tmp_path: Path) -> None:
    assert _read(_write(tmp_path / "a.bz2", b"<mediawiki>plain</mediawiki>")) == (b"", [Damage(0, 28, "damaged-stream")])


def test_gzip_damage(tmp_path: Path) -> None:
    whole = gzip.compress(PARTS[0]) + gzip.compress(PARTS[1])
    first = len(gzip.compress(PARTS[0]))
    for size in {*range(1, len(whole), 5), first - 1, first, first + 1}:
        read, damages = _read(_write(tmp_path / "a.gz", whole[:size]))
        assert (PARTS[0] + PARTS[1]).startswith(read)
        assert damages == ([] if size == first else [Damage(0, size, "truncated-stream")])
    data = bytearray(whole)
    data[first + 50] ^= 0xFF
    read, damages = _read(_write(tmp_path / "a.gz", bytes(data)))
    assert read.startswith(PARTS[0]) and len(damages) == 1 and damages[0].end == len(whole)
    assert 0 <= damages[0].start <= first + 50  # what is named holds what is damaged


def test_gzip_with_zeros_behind_it(tmp_path: Path) -> None:
    """gzip(1) and Python's gzip take zero bytes after a member for padding, as tapes leave it."""
    path = _write(tmp_path / "a.gz", gzip.compress(PARTS[0]) + bytes(512))
    assert gzip.decompress(path.read_bytes()) == PARTS[0]
    assert _read(path) == (PARTS[0], [])


# --- bombs ---

MEASURE = """
import resource, sys
from bertdata.sources.compressed import Block, blocks, stream_starts
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
stream_starts(sys.argv[1], 1)
total = sum(len(b.data) for b in blocks(sys.argv[1]) if isinstance(b, Block))
print(total, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def _bomb(kind: str, size: int) -> bytes:
    packer = bz2.BZ2Compressor() if kind == "bz2" else zlib.compressobj(9, zlib.DEFLATED, 31)
    out = [packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*out, packer.flush()])


@pytest.mark.parametrize(("kind", "most"), [("bz2", 200), ("gz", 70_000)])
def test_a_bomb_is_read_in_bounded_memory(tmp_path: Path, kind: str, most: int) -> None:
    data = _bomb(kind, 64 << 20)
    assert len(data) < most
    path = _write(tmp_path / f"bomb.{kind}", data)
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    total, megabytes = map(int, done.stdout.split())
    assert total == 64 << 20
    assert megabytes < 24  # bzip2's own tables take 4; the text would take 64

"""Compressed input: every byte or a named damage, from any stream on, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertdata.errors import UsageError
from bertdata.sources.bzip2 import CHUNK_BYTES, STEP_BYTES, Block, Damage, block_starts
from bertdata.sources.packed import blocks

LAW = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
STREAMS = st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=6)


def _read(path: Path, start: int = 0, end: int = 0) -> tuple[bytes, list[Damage]]:
    found = list(blocks(str(path), start, end))
    assert all(len(block.data) <= STEP_BYTES for block in found if isinstance(block, Block))
    return b"".join(b.data for b in found if isinstance(b, Block)), [d for d in found if isinstance(d, Damage)]


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _starts(streams: list[bytes]) -> list[int]:
    """Return the offset of the first mark of each stream."""
    return [4 + sum(map(len, streams[:i])) for i in range(len(streams))]


def _noise(size: int, seed: int = 1) -> bytes:
    """Bytes that do not compress."""
    import random

    return random.Random(seed).randbytes(size)


@LAW
@given(parts=STREAMS, end=st.sampled_from([".xml", ".xml.gz", ".xml.bz2", ".xml.xz"]))
def test_all_bytes_of_all_streams(tmp_path: Path, parts: list[bytes], end: str) -> None:
    pack = {".xml": bytes, ".xml.gz": gzip.compress, ".xml.bz2": bz2.compress, ".xml.xz": lzma.compress}[end]
    path = _write(tmp_path / f"a{end}", b"".join(map(pack, parts)))
    assert _read(path) == (b"".join(parts), [])


@pytest.mark.parametrize("kind", ["bz2", "gz", "xz", "zst"])
def test_members_that_a_decompressor_gives_in_several_steps(tmp_path: Path, kind: str) -> None:
    parts = [_noise(size, size) for size in (STEP_BYTES, STEP_BYTES + 1, 3 * STEP_BYTES, 5)]
    data = b"".join(_pack(kind, part) for part in parts)
    assert _read(_write(tmp_path / f"a.{kind}", data)) == (b"".join(parts), [])
    text, (damage,) = _read(_write(tmp_path / f"a.{kind}", data + b"garbage"))
    assert text == b"".join(parts)
    assert damage.end == len(data) + 7


@LAW
@given(parts=STREAMS, index=st.integers(0, 5))
def test_bzip2_from_any_stream_on(tmp_path: Path, parts: list[bytes], index: int) -> None:
    streams = list(map(bz2.compress, parts))
    index %= len(parts)
    path = _write(tmp_path / "a.bz2", b"".join(streams))
    starts = _starts(streams)
    assert _read(path, starts[index]) == (b"".join(parts[index:]), [])
    assert sorted({block.at for block in blocks(str(path)) if isinstance(block, Block)}) == starts


@LAW
@given(parts=STREAMS, target=st.integers(1, 400))
@pytest.mark.slow
def test_block_starts_are_the_starts_next_to_multiples_of_target(tmp_path: Path, parts: list[bytes], target: int) -> None:
    streams = list(map(bz2.compress, parts))
    path = _write(tmp_path / "a.bz2", b"".join(streams))
    starts, real = block_starts(str(path), target), _starts(streams)
    multiples = range(0, path.stat().st_size, target)
    assert starts == sorted({0} | {min(s for s in real if s >= at) for at in multiples if 0 < at <= real[-1]})


def test_block_starts_across_reads(tmp_path: Path) -> None:
    """A header that lies across the border of two reads is found as well."""
    first = bz2.compress(_noise(CHUNK_BYTES // 2))
    for shift in range(-12, 3):
        filler = b"\x00" * (CHUNK_BYTES + 7 + shift - len(first))
        path = _write(tmp_path / "a.bz2", first + filler + bz2.compress(b"second"))
        assert block_starts(str(path), 5) == [0, CHUNK_BYTES + 11 + shift]


def test_one_block_gives_one_start(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.bz2", bz2.compress(_noise(3 * CHUNK_BYTES)))
    assert block_starts(str(path), 1000) == [0]


def test_an_empty_stream_and_an_empty_file(tmp_path: Path) -> None:
    assert _read(_write(tmp_path / "a.bz2", bz2.compress(b"x") + bz2.compress(b"") + bz2.compress(b"y"))) == (b"xy", [])
    for name in ("e.bz2", "e.gz", "e.xz", "e.xml"):
        assert _read(_write(tmp_path / name, b"")) == (b"", [])


def test_a_plain_file_is_read_from_a_byte_and_no_block_lies_across_the_end(tmp_path: Path) -> None:
    data = _noise(2 * CHUNK_BYTES + 100)
    path = _write(tmp_path / "a.xml", data)
    found = [block for block in blocks(str(path), 50, CHUNK_BYTES + 60) if isinstance(block, Block)]
    assert b"".join(block.data for block in found) == data[50:]
    assert [block.at for block in found] == [50, CHUNK_BYTES + 50, CHUNK_BYTES + 60, 2 * CHUNK_BYTES + 60]


# --- damage ---

PARTS = [_noise(300, seed) for seed in range(4)]
PACKED = list(map(bz2.compress, PARTS))


@pytest.mark.parametrize("index", range(4))
def test_flipped_bytes_cost_their_stream_only(tmp_path: Path, index: int) -> None:
    """In a block they cost it, in a header they are named, in the checksum of a stream of sound blocks they cost nothing."""
    starts = [*_starts(PACKED), sum(map(len, PACKED)) + 4]
    whole = b"".join(PACKED)
    for at in range(starts[index], min(starts[index + 1], len(whole)), 3):
        data = bytearray(whole)
        data[at] ^= 0x55
        read, damages = _read(_write(tmp_path / "a.bz2", bytes(data)))
        assert read.startswith(b"".join(PARTS[:index]))
        assert read.endswith(b"".join(PARTS[index + 1 :]))
        if at < starts[index + 1] - 15:  # the last bytes may be of the end and the next header alone
            assert PARTS[index] not in read
            assert [(d.at - starts[index] in (-4, 0), d.end - starts[index + 1] in (-4, 0)) for d in damages] == [(True, True)]
            assert damages[0].reason in ("damaged-stream", "truncated-stream")
        else:
            assert read == b"".join(PARTS) or len(damages) == 1


@pytest.mark.slow
def test_a_cut_in_a_stream_is_named_and_a_cut_between_streams_is_an_end(tmp_path: Path) -> None:
    whole, ends = b"".join(PACKED), [sum(map(len, PACKED[:i])) for i in range(5)]
    for size in range(1, len(whole)):
        streams = sum(end <= size for end in ends) - 1
        read, damages = _read(_write(tmp_path / "a.bz2", whole[:size]))
        assert read in (b"".join(PARTS[:streams]), b"".join(PARTS[: streams + 1]))
        assert [(each.end, each.reason) for each in damages] == [] if size in ends else [(size, "truncated-stream")]


def test_rubbish_after_a_stream_is_named(tmp_path: Path) -> None:
    read, damages = _read(_write(tmp_path / "a.bz2", PACKED[0] + b"rubbish, 20 bytes ok" + PACKED[1]))
    assert read == PARTS[0] + PARTS[1]
    assert damages == [Damage(len(PACKED[0]), len(PACKED[0]) + 24, "damaged-stream")]


def test_a_file_that_is_no_bzip2_is_one_damage(tmp_path: Path) -> None:
    assert _read(_write(tmp_path / "a.bz2", b"<mediawiki>plain</mediawiki>")) == (b"", [Damage(0, 28, "damaged-stream")])


def test_gzip_damage(tmp_path: Path) -> None:
    whole = gzip.compress(PARTS[0]) + gzip.compress(PARTS[1])
    first = len(gzip.compress(PARTS[0]))
    for size in {*range(1, len(whole), 5), first - 1, first, first + 1}:
        read, damages = _read(_write(tmp_path / "a.gz", whole[:size]))
        assert (PARTS[0] + PARTS[1]).startswith(read)
        assert [each.reason for each in damages] == ([] if size == first else ["truncated-stream"]) or size in (1, first + 1)
    data = bytearray(whole)
    data[first + 50] ^= 0xFF
    read, damages = _read(_write(tmp_path / "a.gz", bytes(data)))
    assert read.startswith(PARTS[0]) and len(damages) == 1 and damages[0].end == len(whole)


XZ = [lzma.compress(part, check=lzma.CHECK_CRC64) for part in PARTS]


def test_xz_damage(tmp_path: Path) -> None:
    whole, first = XZ[0] + XZ[1], len(XZ[0])
    for size in {*range(1, len(whole), 7), first - 1, first, first + 1}:
        read, damages = _read(_write(tmp_path / "a.xz", whole[:size]))
        assert (PARTS[0] + PARTS[1]).startswith(read)
        assert [each.reason for each in damages] == ([] if size == first else ["truncated-stream"]) or size in (1, first + 1)
    data = bytearray(whole)
    data[first + 50] ^= 0xFF
    read, damages = _read(_write(tmp_path / "a.xz", bytes(data)))
    assert read.startswith(PARTS[0]) and [(each.end, each.reason) for each in damages] == [(len(whole), "damaged-stream")]


def test_xz_that_takes_much_memory_is_refused(tmp_path: Path) -> None:
    """The size of the dictionary stands in the header of a block, before the header's checksum."""
    small = lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    data = bytearray(small.compress(b"small") + small.flush())
    at = data.index(bytes([lzma.FILTER_LZMA2, 1]))  # id and size of the filter's properties; the dictionary's size follows
    data[at + 2] = 36  # 2 << (36 // 2 + 11) bytes, 512 MB
    end = 12 + 4 * data[12]
    data[end : end + 4] = zlib.crc32(data[12:end]).to_bytes(4, "little")
    with pytest.raises(UsageError, match="more than 128 MB of memory.*xz -dc"):
        _read(_write(tmp_path / "a.xml.xz", bytes(data)))


# --- zstd ---


@pytest.fixture
def zstd() -> Any:
    return pytest.importorskip("zstandard", reason="reads .zst: pip install zstandard")


def test_zstd_frames_of_any_kind(tmp_path: Path, zstd: Any) -> None:
    """Frames end to end, empty ones and those to be skipped, with and without their size and checksum."""
    packers = [zstd.ZstdCompressor(write_checksum=sum_, write_content_size=size) for sum_ in (0, 1) for size in (0, 1)]
    frames = [packer.compress(part) for packer, part in zip(packers, PARTS, strict=True)]
    skipped = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"skip!"
    path = _write(tmp_path / "a.zst", b"".join([skipped, *frames, skipped, packers[0].compress(b"")]))
    assert _read(path) == (b"".join(PARTS), [])
    long = _noise(400_000) + b"text " * 400_000
    assert _read(_write(tmp_path / "b.zst", zstd.ZstdCompressor().compress(long) * 2)) == (long * 2, [])


def test_zstd_damage(tmp_path: Path, zstd: Any) -> None:
    packer = zstd.ZstdCompressor(write_checksum=True)
    frames = [packer.compress(part) for part in PARTS]
    whole, first = frames[0] + frames[1], len(frames[0])
    for size in {*range(1, len(whole), 7), first - 1, first, first + 1}:
        read, damages = _read(_write(tmp_path / "a.zst", whole[:size]))
        assert (PARTS[0] + PARTS[1]).startswith(read)
        assert [each.reason for each in damages] == ([] if size == first else ["truncated-stream"]) or size in (1, first + 1)
    data = bytearray(whole)
    data[first + 50] ^= 0xFF
    read, damages = _read(_write(tmp_path / "a.zst", bytes(data)))
    assert read.startswith(PARTS[0]) and [(each.end, each.reason) for each in damages] == [(len(whole), "damaged-stream")]
    assert _read(_write(tmp_path / "a.zst", b"<mediawiki>"))[1] == [Damage(0, 11, "damaged-stream")]


def test_a_zstd_window_over_128_megabytes_is_refused(tmp_path: Path, zstd: Any) -> None:
    for log, fine in ((27, True), (28, False)):
        packer = zstd.ZstdCompressor(compression_params=zstd.ZstdCompressionParameters(window_log=log)).compressobj()
        path = _write(tmp_path / "a.xml.zst", packer.compress(b"small") + packer.flush())
        if fine:
            assert _read(path) == (b"small", [])
        else:
            with pytest.raises(UsageError, match="more than 128 MB of memory.*zstd -dc --long=31 a.xml.zst"):
                _read(path)


def test_zstd_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(UsageError, match=r"a\.xml\.zst: .*pip install backports.zstd"):
        _read(_write(tmp_path / "a.xml.zst", b"anything"))


def test_gzip_with_zeros_behind_it(tmp_path: Path) -> None:
    """gzip(1) and Python's gzip take zero bytes after a member for padding, as tapes leave it."""
    path = _write(tmp_path / "a.gz", gzip.compress(PARTS[0]) + bytes(512))
    assert gzip.decompress(path.read_bytes()) == PARTS[0]
    assert _read(path) == (PARTS[0], [])


# --- bombs ---

MEASURE = """
import resource, sys
from bertdata.sources.bzip2 import Block, block_starts
from bertdata.sources.packed import blocks
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
block_starts(sys.argv[1], 1)
total = sum(len(b.data) for b in blocks(sys.argv[1]) if isinstance(b, Block))
print(total, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def _packer(kind: str) -> Any:
    if kind == "zst":
        return pytest.importorskip("zstandard").ZstdCompressor().compressobj()
    return {"bz2": bz2.BZ2Compressor, "gz": partial(zlib.compressobj, wbits=31), "xz": partial(lzma.LZMACompressor, preset=0)}[
        kind
    ]()


def _pack(kind: str, data: bytes) -> bytes:
    packer = _packer(kind)
    return bytes(packer.compress(data) + packer.flush())


def _bomb(kind: str, size: int) -> bytes:
    packer = _packer(kind)
    out = [packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*out, packer.flush()])


@pytest.mark.parametrize(("kind", "most"), [("bz2", 200), ("gz", 70_000), ("xz", 11_000), ("zst", 4_000)])
@pytest.mark.slow
def test_a_bomb_is_read_in_bounded_memory(tmp_path: Path, kind: str, most: int) -> None:
    data = _bomb(kind, 64 << 20)
    assert len(data) < most
    path = _write(tmp_path / f"bomb.{kind}", data)
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    total, megabytes = map(int, done.stdout.split())
    assert total == 64 << 20
    assert megabytes < (40 if kind == "zst" else 24)  # bzip2's own tables take 4; the text would take 64

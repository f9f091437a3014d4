"""Bzip2 block by block: each block of a single stream can be read from, checked and lost alone."""

from __future__ import annotations

import bz2
import random
import re
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertdata.sources import bzip2
from bertdata.sources.bzip2 import CHUNK_BYTES, STEP_BYTES, Block, Damage, block_starts, blocks

LAW = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = b"".join(b"%d %s\n" % (i, random.Random(i).randbytes(40).hex().encode()) for i in range(6000))  # five blocks of 100 kB
STREAM = bz2.compress(TEXT, 1)
MARKS = {True: 0x314159265359, False: 0x177245385090}


def _read(path: Path, start: int = 0) -> tuple[dict[int, bytes], list[Damage]]:
    """Read a file: the text of each block by where it begins, and the damage."""
    texts: dict[int, bytes] = {}
    damages: list[Damage] = []
    with open(path, "rb") as file:
        for item in blocks(file, start):
            if isinstance(item, Damage):
                damages.append(item)
            else:
                assert len(item.data) <= STEP_BYTES
                texts[item.at] = texts.get(item.at, b"") + item.data
    return texts, damages


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _marks_at(data: bytes, opens: bool = True) -> list[int]:
    """Find the bits at which marks stand, as text in a text of noughts and ones."""
    return [found.start() for found in re.finditer(f"(?={MARKS[opens]:048b})", "".join(f"{byte:08b}" for byte in data))]


@pytest.fixture
def single(tmp_path: Path) -> Path:
    return _write(tmp_path / "single.bz2", STREAM)


MARKED = st.lists(st.one_of(st.binary(max_size=20), st.sampled_from([mark.to_bytes(6, "big") for mark in MARKS.values()])))


@LAW
@given(parts=MARKED, shift=st.integers(0, 7), known=st.integers(0, 9))
def test_marks_are_found_at_any_bit(parts: list[bytes], shift: int, known: int) -> None:
    data = (int.from_bytes(b"".join(parts), "big") << shift).to_bytes(len(b"".join(parts)) + 1, "big")
    expected = sorted(chain(*([(bit, MARKS[opens]) for bit in _marks_at(data, opens)] for opens in (True, False))))
    known = min(known, len(data))
    found = list(bzip2._marks(data, known))
    assert found == [mark for mark in expected if mark[0] >= 8 * known]


@LAW
@given(parts=MARKED, shift=st.integers(0, 7), chunk=st.integers(1, 40))
@pytest.mark.slow
def test_how_much_is_read_at_a_time_does_not_matter(tmp_path: Path, parts: list[bytes], shift: int, chunk: int) -> None:
    data = (int.from_bytes(b"".join(parts), "big") << shift).to_bytes(len(b"".join(parts)) + 1, "big")
    path = _write(tmp_path / "a.bz2", data)
    with open(path, "rb") as file, pytest.MonkeyPatch.context() as patch:
        whole = list(bzip2._segments(file, 0))
        patch.setattr(bzip2, "CHUNK_BYTES", chunk)
        assert list(bzip2._segments(file, 0)) == whole
    assert sum(segment.bits for segment in whole) == 8 * len(data)


@pytest.mark.slow
def test_every_block_of_a_single_stream_can_be_read_from(single: Path) -> None:
    texts, damages = _read(single)
    assert damages == [] and b"".join(texts.values()) == TEXT
    starts = sorted(texts)
    bits = _marks_at(STREAM)
    assert starts == [bit // 8 for bit in bits] and len(starts) == 6
    assert {bit % 8 for bit in bits} != {0}, "blocks begin anywhere in a byte"
    for number, start in enumerate(starts):
        assert _read(single, start) == ({at: texts[at] for at in starts[number:]}, [])


@pytest.mark.slow
def test_cuts_are_at_blocks_about_target_apart(single: Path) -> None:
    starts = sorted(_read(single)[0])
    for target in (1000, 50_000, 70_000, 120_000, len(STREAM)):
        firsts = [[start for start in starts if start >= at][:1] for at in range(0, len(STREAM), target)]
        assert block_starts(str(single), target) == sorted({0} | {start for first in firsts[1:] for start in first})
    assert block_starts(str(single), 1) == [0, *starts]


@pytest.mark.parametrize("step", [-9, -5, -4, -3, -1, 0, 1, 4])
def test_a_header_across_the_offset_where_a_search_begins(tmp_path: Path, step: int) -> None:
    """The offset of a block must not depend on where the search for it began: two tasks would read it, or none."""
    small = bz2.compress(b"small")
    path = _write(tmp_path / "a.bz2", small + small + small)
    starts = block_starts(str(path), len(small) + step)
    first, second = len(small) + 4, 2 * len(small) + 4  # the marks
    assert set(starts) <= {0, first, second} and starts[1] == first


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("offset", [10, 1000, -1000, -20])
def test_a_damaged_block_costs_itself(tmp_path: Path, single: Path, number: int, offset: int) -> None:
    whole, _ = _read(single)
    starts = [*whole, len(STREAM)]
    start, end = starts[number], starts[number + 1]
    data = bytearray(STREAM)
    data[start + offset if offset > 0 else end + offset] ^= 0x21
    texts, damages = _read(_write(tmp_path / "a.bz2", bytes(data)))
    assert [damage[:2] for damage in damages] == [(start, end)]
    assert texts == {**whole, start: b""}


def test_damaged_neighbours_are_one_damage(tmp_path: Path, single: Path) -> None:
    whole, _ = _read(single)
    starts = list(whole)
    data = bytearray(STREAM)
    data[starts[1] + 100 : starts[3] + 100] = bytes(starts[3] - starts[1])
    texts, damages = _read(_write(tmp_path / "a.bz2", bytes(data)))
    assert damages == [Damage(starts[1], starts[4], "damaged-stream")]
    assert {at: text for at, text in texts.items() if text} == {at: whole[at] for at in (4, starts[4], starts[5])}


def test_a_single_stream_cut_short(tmp_path: Path, single: Path) -> None:
    whole, _ = _read(single)
    starts = list(whole)
    texts, damages = _read(_write(tmp_path / "a.bz2", STREAM[: starts[3] + 1000]))
    assert damages == [Damage(starts[3], starts[3] + 1000, "truncated-stream")]
    assert b"".join(texts.values()) == b"".join(whole[at] for at in starts[:3])


@pytest.mark.parametrize("rubbish", [bytes(3_000_000), b"BZh9" * 900_000, MARKS[True].to_bytes(6, "big") * 2000])
def test_rubbish_of_any_length_is_passed_over(tmp_path: Path, rubbish: bytes) -> None:
    small = bz2.compress(b"small")
    texts, damages = _read(_write(tmp_path / "a.bz2", small + rubbish + small))
    assert [text for text in texts.values() if text] == [b"small", b"small"]
    assert damages == [Damage(len(small), len(small) + len(rubbish) + 4, "damaged-stream")]


@LAW
@given(
    parts=st.lists(st.binary(max_size=300), min_size=1, max_size=5),
    flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), max_size=3),
    cut=st.integers(0, 2000),
)
@pytest.mark.slow
def test_what_is_not_named_is_right(tmp_path: Path, parts: list[bytes], flips: list[tuple[int, int]], cut: int) -> None:
    """Whatever happens to a file: each text that comes is one of those that went in, in order; the rest is named."""
    data = bytearray(b"".join(map(bz2.compress, parts)))
    del data[max(1, len(data) - cut) if cut < 1000 else len(data) :]
    for at, change in flips:
        data[at % len(data)] ^= change
    texts, damages = _read(_write(tmp_path / "a.bz2", bytes(data)))
    left = iter(part for part in parts if part)
    assert all(text in left for text in texts.values() if text)
    assert damages or b"".join(texts.values()) == b"".join(parts) or cut < 1000
    assert all(one.end <= two.at for one, two in zip(damages, damages[1:], strict=False))


def test_the_empty_block_comes_before_its_text(single: Path) -> None:
    with open(single, "rb") as file:
        first = next(iter(blocks(file)))
        assert first == Block(4, b"")
        assert file.tell() <= 2 * CHUNK_BYTES

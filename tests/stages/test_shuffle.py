"""Shuffles: by files and through an engine a partition gets the same pieces, in order of tasks, each once."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.errors import VerificationError
from bertdata.stages import shuffle
from bertdata.stages.shuffle import EngineShuffle, FileShuffle, Receive, Shuffle

TASKS, PARTITIONS = 4, 5
PIECES: list[list[tuple[int, bytes]]] = [
    [(0, b"a"), (3, b"bb")],
    [],
    [(3, b""), (4, b"ccc" * 1000)],
    [(0, b"d"), (1, b"e"), (3, b"f"), (4, b"g")],
]
EXPECTED = [[(0, b"a"), (3, b"d")], [(3, b"e")], [], [(0, b"bb"), (3, b"f")], [(2, b"ccc" * 1000), (3, b"g")]]


def moved(found: Shuffle) -> dict[int, list[tuple[int, bytes]]]:
    """Put all pieces, let them come in any order and twice, and get each partition."""
    elements = [element for task, pieces in enumerate(PIECES) for element in found.put(task, pieces)] * 2
    random.Random(1).shuffle(elements)
    groups: dict[int, list[Any]] = defaultdict(list)
    for key, value in elements:
        groups[key].append(value)
    if isinstance(found, FileShuffle):
        groups = {partition: [value] for partition, value in found.each_partition((0, groups[0]))}  # type: ignore[assignment]
    read = Receive(found, lambda partition, pieces, context: (list(pieces), list(pieces)))  # more than one pass is possible
    results = {partition: read((partition, iter(members))) for partition, members in groups.items()}
    assert all(first == second for first, second in results.values())
    return {partition: first for partition, (first, _) in results.items()}


@pytest.mark.parametrize("limit", [1 << 20, 16])
def test_both_deliver_the_same_pieces_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """What an engine delivers goes to a temporary file if it is larger than a limit."""
    monkeypatch.setattr(shuffle, "_IN_MEMORY", limit)
    for found in (FileShuffle(tmp_path, "claims", TASKS, PARTITIONS), EngineShuffle(PARTITIONS)):
        assert moved(found) == dict(enumerate(EXPECTED)), "each partition is there, also one without pieces"


def test_pieces_out_of_order_are_refused(tmp_path: Path) -> None:
    for wrong in ([(1, b"a"), (0, b"b")], [(1, b"a"), (1, b"b")]):
        with pytest.raises(AssertionError, match="in order of partitions"):
            FileShuffle(tmp_path, "claims", 1, 2).write(0, wrong)


@given(st.lists(st.dictionaries(st.integers(0, 6), st.binary(max_size=9)), min_size=1, max_size=5))
def test_any_pieces_come_back(tmp_path_factory: pytest.TempPathFactory, made: list[dict[int, bytes]]) -> None:
    found = FileShuffle(tmp_path_factory.mktemp("any"), "a", len(made), 7)
    for task, pieces in enumerate(made):
        found.write(task, sorted(pieces.items()))
    for partition in range(7):
        with found.get(partition) as pieces:
            assert list(pieces) == [(task, own[partition]) for task, own in enumerate(made) if own.get(partition)]


def test_there_is_one_file_for_each_task(tmp_path: Path) -> None:
    moved(FileShuffle(tmp_path, "claims", TASKS, PARTITIONS))
    assert len(list((tmp_path / ".bertdata" / "work").iterdir())) == TASKS


@pytest.mark.parametrize("damage", ["changed", "cut", "missing", "moved", "end"])
def test_a_damaged_file_is_found(tmp_path: Path, damage: str) -> None:
    found = FileShuffle(tmp_path, "claims", TASKS, PARTITIONS)
    moved(found)
    path = tmp_path / found.file(3)
    data = bytearray(path.read_bytes())
    if damage == "changed":
        data[2] ^= 1  # in the piece for partition 3
    if damage == "end":  # of partition 3, in the index
        data[-2 * 16] ^= 0xFF
    path.write_bytes({"cut": data[:50], "moved": data[8:] + data[:8]}.get(damage, data))
    if damage == "missing":
        path.unlink()
    with found.get(3) as pieces, pytest.raises(VerificationError, match=r"00003\.pieces is missing or damaged: run the same"):
        list(pieces)


@pytest.mark.parametrize("size", [0, 7, 16, -1, -16, -32])
def test_a_truncated_file_is_found_in_every_partition(tmp_path: Path, size: int) -> None:
    """Also if it ends between two entries of the index, or has none."""
    found = FileShuffle(tmp_path, "claims", TASKS, PARTITIONS)
    moved(found)
    path = tmp_path / found.file(3)
    path.write_bytes(path.read_bytes()[:size])
    for partition in range(PARTITIONS):
        with found.get(partition) as pieces, pytest.raises(VerificationError, match="is missing or damaged"):
            list(pieces)


def test_a_task_that_has_not_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="of 4 tasks 3 have written their files"):
        FileShuffle(tmp_path, "claims", TASKS, PARTITIONS).each_partition((0, [0, 2, 2, 3]))


def test_what_crosses_does_not_grow_with_the_partitions(tmp_path: Path) -> None:
    """Of 4,000 tasks and 40,000 partitions there would be 160 million references."""
    pieces = [(number, np.int64(number).tobytes()) for number in range(0, 40_000, 7)]
    assert list(FileShuffle(tmp_path, "tokens", 1, 40_000).put(0, pieces)) == [(0, 0)]

"""A partition reads the pieces of all tasks in order, and a damaged file is never read as another piece."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.errors import VerificationError
from bertdata.stages.shuffle import FileShuffle

TASKS, PARTITIONS = 4, 5
PIECES = [
    [(0, b"a"), (3, b"bb")],
    [],
    [(3, b""), (4, b"ccc" * 1000)],
    [(0, b"d"), (1, b"e"), (3, b"f"), (4, b"g")],
]


def written(root: Path) -> FileShuffle:
    shuffle = FileShuffle(root, "tokens", TASKS, PARTITIONS)
    for task, pieces in enumerate(PIECES):
        shuffle.write(task, pieces)
    return shuffle


@given(st.lists(st.dictionaries(st.integers(0, 6), st.binary(max_size=9)), min_size=1, max_size=5))
def test_any_pieces_come_back_in_order_of_tasks(tmp_path_factory: pytest.TempPathFactory, tasks: list[dict[int, bytes]]) -> None:
    shuffle = FileShuffle(tmp_path_factory.mktemp("any"), "a", len(tasks), 7)
    for task, pieces in enumerate(tasks):
        shuffle.write(task, sorted(pieces.items()))
    for partition in range(7):
        expected = [(task, own[partition]) for task, own in enumerate(tasks) if own.get(partition)]
        assert list(shuffle.read(partition)) == expected


@pytest.mark.parametrize("damage", ["changed", "missing", "moved", "index", "empty", *range(7, 120, 16)])
def test_a_damaged_file_is_found(tmp_path: Path, damage: str | int) -> None:
    """A file that is cut is found in every partition."""
    shuffle = written(tmp_path)
    path = tmp_path / shuffle.file(3)
    data = bytearray(path.read_bytes())
    if damage == "changed":
        data[2] ^= 1  # in the piece for partition 3
    if damage == "index":  # the end of partition 3
        data[-2 * 16] ^= 0xFF
    path.write_bytes(
        {"moved": data[8:] + data[:8], "empty": b""}.get(str(damage), data[: -damage if isinstance(damage, int) else None])
    )
    if damage == "missing":
        path.unlink()
    for partition in range(PARTITIONS) if isinstance(damage, int) else [3]:
        with pytest.raises(VerificationError, match=r"00003\.pieces is missing or damaged: run the same"):
            list(shuffle.read(partition))

"""Steps that are made together have the arrays that each has alone."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import write_pairs

from bertdata import Shards
from bertdata.training import loader
from bertdata.training.batches import Batches
from bertdata.training.masks import MaskConfig


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    lengths = np.random.default_rng(1).integers(5, 64, 90).tolist()
    root: Path = write_pairs(tmp_path_factory.mktemp("ahead") / "pairs", {"train": [lengths]})
    return Shards(root)


def _calls(batches: Batches, steps: list[int], monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Read steps, compare each with the step alone, and return how many rows were gathered for each of them."""
    shards, gathered = batches.shards, list[list[int]]()
    gather = shards.gather

    def count(rows: np.ndarray[tuple[int], np.dtype[np.int64]], width: int) -> object:
        gathered[-1].append(len(rows))
        return gather(rows, width)

    monkeypatch.setattr(shards, "gather", count)
    for step in steps:
        gathered.append([])
        found = batches[step]
        sizes = gathered[-1]
        gathered.append([])
        alone = copy.copy(batches)[step]  # builds it again, as a worker does
        gathered.pop()
        assert gathered[-1] is sizes
        assert found.keys() == alone.keys()
        assert all(torch.equal(torch.as_tensor(found[name]), torch.as_tensor(alone[name])) for name in alone)
    return gathered


@pytest.mark.parametrize("unpadded", [False, True])
@pytest.mark.parametrize("options", [{}, {"rank": 1, "world_size": 2}, {"masks": MaskConfig(unit="word")}])
def test_steps_in_order_are_gathered_together(
    shards: Shards, unpadded: bool, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = loader.batches(shards, 8, widths=(64,), unpadded=unpadded, **options).dataset  # type: ignore[arg-type]
    each = 8 // int(str(options.get("world_size", 1)))
    assert batches.plan.batches == 11
    assert _calls(batches, list(range(13)), monkeypatch)[:12] == [[each], [10 * each], *[[]] * 9, [11 * each]]  # of one epoch


def test_steps_of_a_worker_are_gathered_together(shards: Shards, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = loader.batches(shards, 8, widths=(64,)).dataset
    assert _calls(batches, [1, 4, 7, 10, 2, 3], monkeypatch) == [[8], [8], [16], [], [8], [8]]


def test_batches_of_other_widths_are_not_gathered_with_them(shards: Shards, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = loader.batches(shards, 8).dataset
    assert len({batches.plan[step].width for step in range(11)}) > 1
    assert sum(map(sum, _calls(batches, list(range(11)), monkeypatch))) == 88

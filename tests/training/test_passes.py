"""A pass over the loader is an epoch, and the next pass is the next one; the state is a step, whatever reads ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny import write_pairs

from bertdata.dataset.rows import Shards
from bertdata.errors import UsageError

torch = pytest.importorskip("torch")
from bertdata.training import loader  # noqa: E402

LENGTHS = np.random.default_rng(7).integers(6, 65, 210).tolist()
EPOCH = 210 // 32


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    return Shards(write_pairs(tmp_path_factory.mktemp("pairs"), {"train": [LENGTHS], "validation": [LENGTHS[:53]]}))


@pytest.fixture(scope="module")
def number(shards: Shards) -> Any:
    """Return a function that finds the step of a batch by its masked ids."""
    steps = {_key(batch): step for step, batch in enumerate(loader.batches(shards, 32, steps=40))}
    assert len(steps) == 40
    return lambda batch: steps[_key(batch)]


def _key(batch: Any) -> tuple[int, ...]:
    return tuple(batch["input_ids"].flatten().tolist())


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_each_pass_is_the_next_epoch(shards: Shards, number: Any, workers: int) -> None:
    made = loader.batches(shards, 32, start_step=2, workers=workers)
    assert len(made) == EPOCH - 2
    assert [number(batch) for batch in made] == [2, 3, 4, 5]
    assert len(made) == EPOCH
    assert [number(batch) for _ in range(2) for batch in made] == [*range(6, 18)]


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_pass_that_is_left_continues_with_the_next_batch(shards: Shards, number: Any, workers: int) -> None:
    made = loader.batches(shards, 32, workers=workers)
    for _, batch in zip(range(3), made, strict=False):
        step = number(batch)
    assert step == 2
    assert [number(batch) for batch in made] == [3, 4, 5]
    assert [number(batch) for batch in made] == [*range(6, 12)]


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_state_is_the_next_step(shards: Shards, number: Any, workers: int) -> None:
    made, served = loader.batches(shards, 32, workers=workers), 0
    assert made.state_dict()["step"] == 0
    for _ in range(2):
        for batch in made:
            served = number(batch) + 1
            assert made.state_dict()["step"] == served
            if served == 8:
                break
    other = loader.batches(shards, 32, rank=1, world_size=2, workers=2 - workers)
    other.load_state_dict(made.state_dict())
    assert len(other) == EPOCH
    other.set_epoch(1)  # as trainers do, when they know the epoch and not the step
    expected = loader.batches(shards, 32, rank=1, world_size=2, start_step=8)
    assert [_key(batch) for batch in other] == [_key(batch) for batch in expected] != []
    with pytest.raises(UsageError, match=r"set_epoch\(0\): the loader begins at step 8, in epoch 1"):
        other.set_epoch(0)


def test_a_state_of_other_rows_is_refused(shards: Shards) -> None:
    made = loader.batches(shards, 32)
    for options, what in (
        ({"seed": 1}, "seed"),
        ({"widths": (64,)}, "widths"),
        ({"whole": True}, "whole"),
    ):
        with pytest.raises(UsageError, match=rf"of another loader \({what}\)"):
            made.load_state_dict(loader.batches(shards, 32, **options).state_dict())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"of another loader \(batch_size\)"):
        made.load_state_dict(loader.batches(shards, 16).state_dict())
    with pytest.raises(UsageError, match=r"of another loader \(rows\)"):
        made.load_state_dict(loader.batches(Shards(shards.paths, weights=[2.0]), 32).state_dict())
    with pytest.raises(UsageError, match="of another loader"):
        made.load_state_dict({})
    with pytest.raises(UsageError, match=r"step 13 is outside of the loader's steps, 0 to 10"):
        loader.batches(shards, 32, steps=10).load_state_dict({**made.state_dict(), "step": 13})


def test_a_fixed_number_of_steps_ends(shards: Shards, number: Any) -> None:
    made = loader.batches(shards, 32, start_step=4, steps=10)
    assert len(made) == 10
    for batch in made:
        if number(batch) == 7:
            break
    made.set_epoch(0)  # of no effect: such a loader is not in epochs
    assert [number(batch) for batch in made] == [*range(8, 14)]
    assert len(made) == 10
    assert list(made) == []
    finished = loader.batches(shards, 32, steps=10)
    finished.load_state_dict({**made.state_dict(), "step": 10})
    assert list(finished) == []


def test_an_epoch_can_begin_anew(shards: Shards, number: Any) -> None:
    made = loader.batches(shards, 32)
    next(iter(made))
    made.set_epoch(0)
    assert [number(batch) for batch in made] == [*range(6)]
    made.set_epoch(3)
    assert [number(batch) for batch in made] == [*range(18, 24)]


def test_evaluation_is_the_same_in_every_pass(shards: Shards) -> None:
    held_out = loader.batches(Shards(shards.paths, split="validation"), 8, whole=True)
    passes = []
    for epoch in range(3):
        held_out.set_epoch(epoch)
        passes.append([_key(batch) for batch in held_out])
    assert len(passes[0]) == len(held_out) == 7
    assert passes[0] == passes[1] == passes[2]


def test_the_dataset_has_the_rows_of_an_epoch(shards: Shards) -> None:
    assert len(loader.batches(shards, 32).dataset) == 6 * 32
    assert len(loader.batches(shards, 32, whole=True).dataset) == 210

"""The loader: any world, any number of workers and any start give the same batches; masks change with the epoch alone."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build
from tiny import CLS, FIRST, PIECES, SEP, row_of, write_pairs

from bertdata.dataset.rows import Shards
from bertdata.errors import UsageError
from bertdata.pieces import IGNORED

torch = pytest.importorskip("torch")
from bertdata.rows.masking import UNITS  # noqa: E402
from bertdata.training import loader  # noqa: E402

Batch = dict[str, Any]
MASK = PIECES.index("[MASK]")
SPARSE: dict[str, Any] = {"dense_labels": False}  # the masked positions and their labels
LENGTHS = np.random.default_rng(7).integers(6, 65, 210).tolist()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lengths = {"train": [LENGTHS[:90], LENGTHS[90:]], "validation": [LENGTHS[:53]]}
    return write_pairs(tmp_path_factory.mktemp("pairs"), lengths)


@pytest.fixture(scope="module")
def shards(pairs: Path) -> Shards:
    return Shards(pairs)


def _equal(one: Iterable[Batch], other: Iterable[Batch]) -> int:
    """Assert that all batches are equal, to the bit; return how many there are."""
    count = 0
    for a, b in zip(one, other, strict=True):
        assert list(a) == list(b)
        assert all(torch.equal(a[name], b[name]) and a[name].dtype == b[name].dtype == torch.int64 for name in a)
        count += 1
    return count


def _restored(batch: Batch) -> Any:
    """The ids before they were masked."""
    ids, used = batch["input_ids"].clone(), batch["masked_lm_labels"] != IGNORED
    rows = torch.arange(len(ids))[:, None].expand_as(used)[used]
    ids[rows, batch["masked_lm_positions"][used]] = batch["masked_lm_labels"][used]
    return ids


def test_a_batch_is_its_rows_masked(shards: Shards) -> None:
    made = loader.batches(shards, 16, seed=3, **SPARSE)
    assert len(made) == made.dataset.plan.batches == 210 // 16
    for step, batch in enumerate(made):
        told = made.dataset.plan[step]
        width, most = told.width, made.dataset.masks.predictions(told.width, made.dataset.plan.widths[-1])
        names = [
            "attention_mask",
            "input_ids",
            "token_type_ids",
            "next_sentence_label",
            "masked_lm_positions",
            "masked_lm_labels",
        ]
        assert list(batch) == names
        assert {name: tuple(values.shape) for name, values in batch.items()} == {
            **dict.fromkeys(names[:3], (16, width)),
            "next_sentence_label": (16,),
            **dict.fromkeys(names[-2:], (16, most)),
        }
        for number, ids, attention in zip(told.rows.tolist(), _restored(batch), batch["attention_mask"], strict=True):
            row = row_of(number, LENGTHS[number])
            assert ids.tolist() == row + [0] * (width - len(row))
            assert int(attention.sum()) == len(row)
        maskable = (batch["attention_mask"].sum(1) - 3).numpy()
        want = np.clip(np.rint(0.15 * maskable), 1, None)
        assert ((batch["masked_lm_labels"] != IGNORED).sum(1).numpy() == want).all()
        assert not set(batch["masked_lm_labels"].flatten().tolist()) & {CLS, SEP, MASK, 0}
        assert (batch["input_ids"] == MASK).any()


def test_widths_are_static_shapes(shards: Shards) -> None:
    found = {
        (b["input_ids"].shape[1], b["masked_lm_labels"].shape[1])
        for b in loader.batches(shards, 8, widths=(24, 40, 64), **SPARSE)
    }
    assert found == {(24, 3), (40, 6), (64, 9)}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("world", [2, 4, 8])
@pytest.mark.slow
def test_a_world_shares_each_global_batch(shards: Shards, world: int, unit: str) -> None:
    options: dict[str, Any] = {"steps": 30, "start_step": 3, "masks": loader.MaskConfig(unit=unit)}
    whole = list(loader.batches(shards, 16, **options))
    ranks = [loader.batches(shards, 16, rank=rank, world_size=world, **options) for rank in range(world)]
    joined = [{name: torch.cat([part[name] for part in parts]) for name in parts[0]} for parts in zip(*ranks, strict=True)]
    assert _equal(whole, joined) == 30


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.slow
def test_any_start_with_any_workers_goes_on_alike(shards: Shards, workers: int, dense: bool) -> None:
    through = list(loader.batches(shards, 32, steps=25, dense_labels=dense))
    for start in (0, 1, 5, 6, 7, 24):  # epochs are of six batches
        count = workers if start in (1, 6) else 0
        rest = loader.batches(shards, 32, start_step=start, steps=25 - start, workers=count, dense_labels=dense)
        assert _equal(through[start:], rest) == 25 - start


@pytest.mark.long
def test_workers_that_start_afresh(shards: Shards) -> None:
    """Where processes are spawned, the dataset is pickled: as its paths, not its rows."""
    made = loader.batches(shards, 32, steps=4, workers=1)
    made.multiprocessing_context = "spawn"
    assert len(pickle.dumps(made.dataset)) < 2000
    assert _equal(loader.batches(shards, 32, steps=4), made) == 4


def _masks(batches: Any) -> dict[int, tuple[int, ...]]:
    """Row -> its masked ids without padding, for the rows of an epoch."""
    found: dict[int, tuple[int, ...]] = {}
    first = batches.steps.start
    for step, batch in enumerate(batches, first):
        for number, ids, attention in zip(
            batches.dataset.plan[step].rows.tolist(), batch["input_ids"], batch["attention_mask"], strict=True
        ):
            found[number] = tuple(ids[attention == 1].tolist())
    return found


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.slow
def test_a_rows_mask_is_the_same_wherever_it_is_served(shards: Shards, unit: str) -> None:
    """Other batches, other widths and so other numbers of positions change no row's mask."""
    one = _masks(loader.batches(shards, 7, masks=loader.MaskConfig(unit=unit)))
    for size, widths in ((1, ()), (13, (64,)), (30, (24, 40, 64))):
        other = _masks(loader.batches(shards, size, widths=widths, masks=loader.MaskConfig(unit=unit)))
        both = one.keys() & other.keys()
        assert len(both) > 150
        assert all(one[row] == other[row] for row in both)


def test_masks_differ_between_epochs_and_seeds(shards: Shards) -> None:
    first, second = (_masks(loader.batches(shards, 10, start_step=21 * epoch)) for epoch in range(2))
    assert len(first) == len(second) == 210
    assert sum(first[row] == second[row] for row in first) < 10  # rows of a few words have few masks
    other = _masks(loader.batches(shards, 10, seed=2))
    assert sum(first[row] == other[row] for row in first) < 10


def test_copies_of_a_row_have_masks_of_their_own(pairs: Path) -> None:
    twice = loader.batches(Shards(pairs, weights=[2]), 30, widths=(64,))
    found: dict[int, list[tuple[int, ...]]] = {}
    for step, batch in enumerate(twice):
        for number, ids in zip(twice.dataset.plan[step].rows.tolist(), batch["input_ids"].tolist(), strict=True):
            found.setdefault(number, []).append(tuple(ids))
    assert [len(masks) for masks in found.values()] == [2] * 210
    assert sum(a == b for a, b in found.values()) < 10


def test_dense_labels_say_the_same(shards: Shards) -> None:
    for sparse, dense in zip(loader.batches(shards, 30, **SPARSE), loader.batches(shards, 30), strict=True):
        assert dense.keys() == {"attention_mask", "input_ids", "token_type_ids", "next_sentence_label", "labels"}
        assert torch.equal(sparse["input_ids"], dense["input_ids"])
        restored = torch.where(dense["labels"] == IGNORED, dense["input_ids"], dense["labels"])
        assert torch.equal(restored, _restored(sparse))
        assert int((dense["labels"] != IGNORED).sum()) == int((sparse["masked_lm_labels"] != IGNORED).sum())


@pytest.mark.parametrize("world", [1, 4])
def test_evaluation_has_every_row_once_with_fixed_masks(pairs: Path, world: int) -> None:
    """53 rows in batches of 8: the last has 5, of which some ranks get one and some two."""
    shards = Shards(pairs, split="validation")
    ranks = [loader.batches(shards, 8, whole=True, rank=rank, world_size=world, **SPARSE) for rank in range(world)]
    assert {len(rank) for rank in ranks} == {7}
    found = sorted(tuple(ids[ids != 0].tolist()) for rank in ranks for batch in rank for ids in _restored(batch))
    assert found == sorted(tuple(row_of(number, LENGTHS[number])) for number in range(53))
    again = loader.batches(shards, 8, whole=True, rank=0, world_size=world, **SPARSE)
    assert _equal(ranks[0], again) == 7


@pytest.mark.slow
def test_a_rank_may_have_no_row_of_the_last_batch(pairs: Path) -> None:
    parts = [
        list(
            loader.batches(
                Shards(pairs), 32, whole=True, rank=rank, world_size=32, masks=loader.MaskConfig(unit="word"), **SPARSE
            )
        )
        for rank in range(32)
    ]
    assert {len(part) for part in parts} == {7}
    assert sorted(len(part[-1]["input_ids"]) for part in parts) == [0] * 14 + [1] * 18
    assert {part[-1]["masked_lm_labels"].shape[1] for part in parts} == {parts[0][0]["masked_lm_labels"].shape[1]}


def test_static_masks_pass_unchanged(build: Build, tmp_path: Path, sample_corpus: Path, sample_vocab: Path) -> None:
    made = build("make-pairs", tmp_path / "static", sample_corpus, "--vocab", sample_vocab, "--masking", "static", "--shards", 2)
    shards = Shards(made)
    served = loader.batches(shards, 20, start_step=2, steps=3 * (len(shards) // 20), **SPARSE)
    for step, batch in enumerate(served, 2):
        told = served.dataset.plan[step]
        stored = shards.gather(told.rows, told.width)
        assert sorted(batch) == sorted(stored)
        assert all((batch[name].numpy() == stored[name]).all() for name in batch)
    with pytest.raises(UsageError, match="masked already, so `unit` word has no effect"):
        loader.batches(shards, 20, masks=loader.MaskConfig(unit="word"))


@pytest.mark.parametrize("objective", ["documents", "causal"])
def test_rows_without_pairs(build: Build, tmp_path: Path, sample_corpus: Path, sample_vocab: Path, objective: str) -> None:
    options = ["--vocab", sample_vocab, "--objective", objective, "--max-seq-length", 64]
    shards = Shards(build("make-pairs", tmp_path / "rows", sample_corpus, *options))
    for batch in loader.batches(shards, 20, whole=True, workers=1, **SPARSE):
        if objective == "causal":
            assert sorted(batch) == ["attention_mask", "input_ids", "labels"]
            seen = batch["attention_mask"] == 1
            assert torch.equal(batch["labels"][seen], batch["input_ids"][seen])
            assert (batch["labels"][~seen] == IGNORED).all()
        else:
            assert "next_sentence_label" not in batch
            assert (batch["masked_lm_labels"] != IGNORED).any(1).all()


def test_words_that_the_data_tells_of_are_masked_whole(tmp_path: Path) -> None:
    shards = Shards(write_pairs(tmp_path / "words", {"train": [LENGTHS]}, words=True))
    made = loader.batches(shards, 30, masks=loader.MaskConfig(unit="word"), **SPARSE)
    for step, batch in enumerate(made):
        told = made.dataset.plan[step]
        joined = torch.from_numpy(shards.gather(told.rows, told.width)["continues_word"])
        chosen = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        used = batch["masked_lm_labels"] != IGNORED
        rows = torch.arange(30)[:, None].expand_as(used)[used]
        chosen[rows, batch["masked_lm_positions"][used]] = True
        ids = _restored(batch)
        words = (ids >= FIRST)[:, 1:] & (ids >= FIRST)[:, :-1] & joined[:, 1:]
        assert torch.equal(chosen[:, 1:][words], chosen[:, :-1][words])
        assert "continues_word" not in batch


def test_torchs_own_numbers_are_left_alone(shards: Shards) -> None:
    """A run that was stopped and goes on must draw the same dropout."""
    state = torch.get_rng_state()
    for workers in (0, 1):
        list(loader.batches(shards, 32, workers=workers))
    assert torch.equal(state, torch.get_rng_state())


def test_refusals(shards: Shards) -> None:
    for options, said in (
        ({"world_size": 3}, "multiple of the ranks"),
        ({"rank": 1}, "rank 1 of 1"),
        ({"start_step": -1}, "0 or more"),
        ({"steps": -1}, "0 or more"),
        ({"masks": "80/10/10"}, "expected MaskConfig or None"),
        ({"widths": (32,)}, "the last of the widths"),
    ):
        with pytest.raises(UsageError, match=said):
            loader.batches(shards, 32, **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"`shards` is str. Pass bertdata.Shards\(DIRECTORY\)"):
        loader.batches("pairs", 32)  # type: ignore[arg-type]

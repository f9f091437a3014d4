"""Which steps serve a document, and what is in a step: found from the plan, as the loader serves them."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import Build
from hypothesis import given
from hypothesis import strategies as st

import bertdata
from bertdata.cli import cli
from bertdata.config.train import Phase, TrainConfig, read_training
from bertdata.errors import EmptyResultError, UsageError
from bertdata.labels import IGNORED
from bertdata.training.recipe import prepare
from bertdata.training.row_plan import BatchPlan

pytest.importorskip("torch")
from bertdata.training import loader  # noqa: E402

lengths_of = st.lists(st.integers(1, 64), min_size=40, max_size=200)


@pytest.mark.long
@given(
    lengths=lengths_of,
    batch_size=st.integers(1, 30),
    weights=st.tuples(st.floats(0.1, 3), st.floats(0.1, 3)),
    whole=st.booleans(),
    seed=st.integers(0, 9),
)
def test_find_inverts_the_plan(lengths: list[int], batch_size: int, weights: tuple[float, float], whole: bool, seed: int) -> None:
    half = len(lengths) // 2
    parts = [(half, weights[0]), (len(lengths) - half, weights[1])]
    try:
        plan = BatchPlan(np.array(lengths), batch_size, widths=[20, 64], seed=seed, parts=parts, whole=whole)
    except EmptyResultError:  # too few rows for a batch
        return
    wanted = np.array([0, 7, half, len(lengths) - 1])
    for epoch in (0, 3):
        expected = [
            (step, place, row, copy)
            for step in range(epoch * plan.batches, (epoch + 1) * plan.batches)
            for place, (row, copy) in enumerate(zip(plan[step].rows.tolist(), plan[step].copies.tolist(), strict=True))
            if row in wanted
        ]
        assert list(zip(*(each.tolist() for each in plan.find(plan.entries(wanted), epoch)), strict=True)) == expected


def test_a_million_steps_take_seconds() -> None:
    plan = BatchPlan(np.full(256_000, 64), 64, widths=[64], seed=1)  # 4,000 steps an epoch
    entries = plan.entries(np.array([3, 99]))
    begun = time.process_time()
    found = [plan.find(entries, epoch)[0] for epoch in range(250)]
    assert sum(map(len, found)) == 500
    assert 250 * plan.batches / (time.process_time() - begun) > 100_000


@pytest.fixture(scope="module")
def run(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two phases on rows of the sample, packed and by weight."""
    root = tmp_path_factory.mktemp("run")
    common = ("--vocab", sample_vocab, "--objective", "documents", "--provenance", "--max-seq-length", 96)
    packed = build("make-pairs", root / "packed", sample_corpus, *common, "--pack")
    plain = build("make-pairs", root / "plain", sample_corpus, *common, "--pack", "--seed", 3)
    (root / "run.toml").write_text(
        f"""batch_size = 8
labels = "next"
causal_share = 0.25
[[phases]]
shards = "{packed}"
steps = 100
[[phases]]
shards = ["{packed}", "{plain}"]
weights = [0.5, 2]
steps = 25
""",
        encoding="utf-8",
    )
    return root / "run.toml"


def test_steps_of_a_document_are_those_of_the_loader(run: Path) -> None:
    parts = prepare(read_training(run)).parts
    document = parts[0].shards[5]["documents"][0]
    expected = []
    for number, part in enumerate(parts):
        made = loader.batches(part.shards, 8, steps=part.phase.steps, masks=part.masks, **part.options)
        for step in range(part.phase.steps):
            planned = made.dataset.plan[step]
            for place, row in enumerate(planned.rows.tolist()):
                if document in part.shards[row]["documents"]:
                    directory, inside = divmod(row, part.shards.rows[0])
                    expected.append((part.first + step, number, planned.epoch, place // 4, place, directory > 0, inside))
    found = bertdata.steps_of(run, document, world_size=2)
    assert len(expected) > 8 and len({row.epoch for row in found}) > 1
    assert [(*row[:5], row.directory.endswith("plain"), row.row) for row in found] == expected


def test_traced_rows_are_the_batches_of_the_loader(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts, to = prepare(read_training(run)).parts, tmp_path / "rows.parquet"
    cli.main(["trace", "--steps", "96:106", "--run", str(run), "--to", str(to)], standalone_mode=False)
    assert "80 rows" in capsys.readouterr().out
    rows = iter(pq.read_table(to).to_pylist())
    for part, first, steps in ((parts[0], 96, 4), (parts[1], 0, 6)):
        for batch in loader.batches(part.shards, 8, start_step=first, steps=steps, masks=part.masks, **part.options):
            for place in range(8):
                row, used = next(rows), batch["masked_lm_labels"][place] != IGNORED
                assert row["input_ids"] == batch["input_ids"][place][batch["attention_mask"][place] == 1].tolist()
                assert row["positions"] == batch["masked_lm_positions"][place][used].tolist()
                assert row["labels"] == batch["masked_lm_labels"][place][used].tolist()
                assert row["documents"] and row["place"] == place
    assert next(rows, None) is None


def test_the_command_shows_the_steps_of_a_document(
    run: Path, sample_corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cli.main(["trace", str(sample_corpus), "sampleenwiki:107", "--run", str(run)], standalone_mode=False)
    said, found = capsys.readouterr().out, bertdata.steps_of(run, "sampleenwiki:107")
    assert found and f"{len(found)} rows in" in said and f"step {found[0].step}" in said
    for wrong in (["--steps", "9"], ["--steps", "0:3"], ["--steps", "100:199", "--to", str(tmp_path / "x")], []):
        with pytest.raises(UsageError):
            cli.main(["trace", *wrong, "--run", str(run)], standalone_mode=False)


def test_rows_without_documents_are_refused(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    pairs = build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", sample_vocab)
    run = TrainConfig(phases=(Phase(shards=(str(pairs),), steps=3),), batch_size=4)
    with pytest.raises(UsageError, match="make them with `provenance`"):
        bertdata.steps_of(run, "sampleenwiki:107")

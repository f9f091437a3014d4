"""The rows of a step, and the steps that serve a document: found from the plan, as the loader serves them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build

import bertdata
from bertdata.config.train import Phase, TrainConfig, read_training
from bertdata.errors import UsageError
from bertdata.training.recipe import prepare

pytest.importorskip("torch")
from bertdata.training import loader  # noqa: E402


@pytest.fixture(scope="module")
def run(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two phases on rows of the sample, packed and by weight."""
    root = tmp_path_factory.mktemp("run")
    common = ("--vocab", sample_vocab, "--objective", "documents", "--provenance", "--max-seq-length", 96)
    packed = build("make-pairs", root / "packed", sample_corpus, *common, "--pack")
    plain = build("make-pairs", root / "plain", sample_corpus, *common, "--pack", "--seed", 3)
    (root / "run.toml").write_text(
        f"""batch_size = 8
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
    for part in parts:
        made = loader.batches(part.shards, 8, steps=part.phase.steps, dense_labels=False, masks=part.masks, **part.options)
        for step in range(part.phase.steps):
            rows = made.dataset.plan[step].rows.tolist()
            served = bertdata.rows_of_step(run, part.first + step) if step % 20 == 0 else None
            for place, row in enumerate(rows):
                directory, inside = divmod(row, part.shards.rows[0])
                record = part.first + step, place, str(part.shards.paths[directory]), inside
                assert served is None or served[place] == record
                if document in part.shards[row]["documents"]:
                    expected.append(record)
    assert len(expected) > 8
    assert bertdata.steps_of(run, document) == expected


def test_no_such_step_and_rows_without_documents(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    pairs = build("make-pairs", tmp_path / "pairs", sample_corpus, "--vocab", sample_vocab)
    run = TrainConfig(phases=(Phase(shards=(str(pairs),), steps=3),), batch_size=4)
    assert len(bertdata.rows_of_step(run, 2)) == 4
    with pytest.raises(UsageError, match=r"step` 3: the run has no such step\. Use 0 to 2"):
        bertdata.rows_of_step(run, 3)
    with pytest.raises(UsageError, match="make them with `provenance`"):
        bertdata.steps_of(run, "sampleenwiki:107")

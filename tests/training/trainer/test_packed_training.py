"""Training on packed rows: without padding, and resumed to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Build
from small import STILL, differ, small
from test_training import After, metrics

from bertdata.errors import UsageError
from bertdata.training.trainer import train

torch.set_num_threads(1)
LENGTH = 64


@pytest.fixture(scope="module")
def data(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("packed")
    common = (sample_corpus, "--vocab", sample_vocab, "--pack", "--max-seq-length", LENGTH, "--validation-fraction", 0.2)
    return {name: build("make-pairs", root / name, *common, "--objective", name) for name in ("nsp", "documents", "causal")}


@pytest.mark.parametrize("objective", ["documents", "nsp"])
def test_resume_is_to_the_bit(data: dict[str, Path], tmp_path: Path, objective: str) -> None:
    """With dropout, masks of a schedule, and evaluations."""
    masks: dict[str, Any] = {"masked_lm_prob": 0.3, "evaluate_every": 3, "evaluate_batches": 2}
    config = small(data[objective], 8, **masks)
    whole = train(config, tmp_path / "whole")
    assert train(config, tmp_path / "parts", stop=After(3)).step == 3
    parts = train(config, tmp_path / "parts")
    assert parts.complete and differ(whole.checkpoint, parts.checkpoint) == 0
    assert metrics(tmp_path / "whole") == metrics(tmp_path / "parts")
    assert whole.evaluation is not None and ("nsp_loss" in whole.evaluation) == (objective == "nsp")


@pytest.fixture(scope="module", params=["nsp", "documents"])
def two_seeds(request: pytest.FixtureRequest, data: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The data of an objective, and what three steps from two seeds make of a model."""
    root, shards = tmp_path_factory.mktemp("seeds"), data[request.param]
    return [shards, *(train(small(shards, 3, STILL, **more), root / str(len(more))).checkpoint for more in ({}, {"seed": 2}))]


@pytest.mark.parametrize("change", [{"accumulation": 4}, {"accumulation": 2, "gradient_checkpointing": True}])
def test_the_gradient_is_the_same(two_seeds: list[Any], tmp_path: Path, change: dict[str, Any]) -> None:
    """However rows are laid out and cut; micro-batches have other numbers of words and of pairs."""
    shards, one, other = two_seeds
    changed = train(small(shards, 3, STILL, **change), tmp_path / "changed").checkpoint
    assert differ(one, changed) < 1e-6
    assert differ(other, changed) > 1e-3


def test_what_cannot_be_is_named(data: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="causal, but encoders see the next token"):
        train(small(data["causal"], 1), tmp_path / "run")

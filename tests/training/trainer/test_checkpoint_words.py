"""Models are saved by words seen: at the right step, again where a run goes on, and refused where pairs do not tell words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from conftest import read_manifest
from safetensors.torch import load_file
from small import pairs, small

from bertdata.config.train import Phase, milestones
from bertdata.dataset import manifest
from bertdata.errors import UsageError
from bertdata.training.trainer import train

torch.set_num_threads(1)
WORDS = "100,200,600,3K"


def telling(root: Path, words: int, dropped: int = 0) -> Path:
    """Pairs that tell how many words their corpus has, and how many of its tokens came to no row."""
    made = read_manifest(pairs(root))
    text = made["statistics"]["tokens"] - 2 * made["rows"]
    about = {"documents": 1, "text_bytes": 9, "share": 1.0, "words": words}
    made["corpus"] = {"rows": 1, "counts": [], "sources": {"text": about}, "inputs": [], "further_inputs": 0}
    stage = {"stage": "tokens", "in": text + dropped, "out": text, "dropped": {"x": dropped} if dropped else {}, "rejected": {}}
    made["counts"].append(stage)
    manifest.store(root, made, "# Pairs\n")
    return root


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return telling(tmp_path_factory.mktemp("telling"), 1000)


def saved(run: Path) -> dict[str, torch.Tensor]:
    return {path.parent.name: load_file(path)["cls.predictions.bias"] for path in run.glob("chck_*/model.safetensors")}


def test_names_and_numbers() -> None:
    told = milestones("babylm")
    assert len(told) == 28 and list(told)[:2] == ["chck_1M", "chck_2M"] and told["chck_1000M"] == 10**9
    assert milestones("") == {} and list(milestones("2M, 3K").values()) == [3000, 2_000_000]
    for wrong in ("1M,", "x", "0", "-1", "1.5M", "BabyLM"):
        with pytest.raises(UsageError, match="checkpoint_words"):
            milestones(wrong)


@pytest.mark.slow
def test_a_model_is_saved_at_the_step_that_brings_the_words_and_again_by_a_resumed_run(data: Path, tmp_path: Path) -> None:
    phases = (Phase(shards=(str(data),), steps=8), Phase(shards=(str(data),), steps=6, widths=(64,)))
    config = small(data, phases=phases, save_every=1, keep=99, checkpoint_words=WORDS)
    done = train(config, tmp_path / "whole")
    whole, words, before = saved(tmp_path / "whole"), 1000 / read_manifest(data)["statistics"]["tokens"], 0.0
    assert set(whole) == {"chck_100", "chck_200", "chck_600"} and not (tmp_path / "whole" / "chck_600" / "state.json").exists()
    for step in range(1, done.step + 1):
        checkpoint = tmp_path / "whole" / f"checkpoint-{step}"
        seen = sum(json.loads((checkpoint / "state.json").read_text())["tokens"]) * words
        weights = load_file(checkpoint / "model.safetensors")["cls.predictions.bias"]
        reached = [name for name, number in milestones(WORDS).items() if before < number <= seen]
        assert all(torch.equal(whole[name], weights) for name in reached)
        before = seen
    half = train(config, tmp_path / "parts", stop=lambda step, _: step == 1)
    assert half.step == 2
    (tmp_path / "parts" / "chck_600").mkdir()  # of a run that was killed before its next checkpoint
    train(config, tmp_path / "parts")
    parts = saved(tmp_path / "parts")
    assert set(parts) == set(whole) and all(torch.equal(parts[name], whole[name]) for name in whole)


def test_tokens_that_came_to_no_row_bring_no_words(tmp_path: Path) -> None:
    data = telling(tmp_path / "p", 3000, dropped=10**6)  # fewer words for each token
    train(small(data, 4, checkpoint_words="100"), tmp_path / "run")
    assert not saved(tmp_path / "run")


def test_pairs_that_tell_no_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not store the number of words"):
        train(small(pairs(tmp_path / "p"), 2, checkpoint_words="babylm"), tmp_path / "run")

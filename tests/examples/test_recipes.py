"""Each recipe trains on rows of the sample, with its sizes cut, and each of its numbers has a source."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from conftest import REPOSITORY, Build

from bertdata import Shards
from bertdata.config.train import ModelConfig, TrainConfig, read_training

pytestmark = pytest.mark.nightly

RECIPES = sorted((REPOSITORY / "examples" / "recipes").glob("*.toml"))


SIZE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def modernbert(rows: Path, directory: Path) -> str:
    """Save a small ModernBERT with the tokenizer of the rows."""
    transformers, shards = pytest.importorskip("transformers"), Shards(rows)
    special = {f"{role}_token_id": getattr(shards.special, role) for role in ("pad", "cls", "sep")}
    config = transformers.ModernBertConfig(vocab_size=shards.vocab_size, max_position_embeddings=64, **SIZE, **special)
    transformers.ModernBertForMaskedLM(config).save_pretrained(directory)
    for name in shards.vocabulary_files:
        shutil.copy(rows / name, directory)
    return str(directory)


def small(config: TrainConfig, rows: Path, directory: Path) -> TrainConfig:
    """Cut the model, the rows of a step, and the steps. The optimizer, schedules, masks and phases stay."""
    model: ModelConfig | str = ModelConfig(**SIZE, max_position_embeddings=64)
    if config.init_from or isinstance(config.model, str):
        model = modernbert(rows, directory)
    phases = tuple(
        dataclasses.replace(phase, shards=(str(rows),), steps=2, batch_size=8 if phase.batch_size else 0, accumulation=2)
        for phase in config.phases
    )
    optimizer = dataclasses.replace(config.optimizer, warmup_steps=1)
    started = {"init_from": model, "model": ModelConfig()} if config.init_from else {"model": model}
    cut = {"phases": phases, **started, "optimizer": optimizer, "batch_size": 8, "workers": 0}
    return dataclasses.replace(config, **cut, log_every=1, checkpoint_words="", precision="fp32")


@pytest.mark.long
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_trains(recipe: Path, build: Build, tmp_path: Path, sample_corpus: Path, sample_vocab: Path) -> None:
    pytest.importorskip("torch")
    from bertdata.training.trainer import train

    options = ["--vocab", sample_vocab, "--objective", "documents", "--pack", "--max-seq-length", 64]
    rows = build("make-pairs", tmp_path / "rows", sample_corpus, *options)
    done = train(small(read_training(recipe), rows, tmp_path / "model"), tmp_path / "run")
    assert done.complete and done.step == 2 * len(read_training(recipe).phases)


def test_the_pages_list_the_recipes() -> None:
    names = {"cramming-24h", "mosaicbert", "modernbert-1024-8192", "continue-domain"}
    assert {path.stem for path in RECIPES} == names
    for page in ("docs/how-to/training.md", "docs/zh/training.md"):
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        assert all(f"examples/recipes/{name}.toml)" in text for name in names), page


def test_rows_of_a_recipe_divide_into_micro_batches() -> None:
    for recipe in RECIPES:
        config = read_training(recipe)
        assert all(config.rows_of(phase) % phase.accumulation == 0 for phase in config.phases), recipe.name

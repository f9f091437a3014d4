"""Configurations: the paper's numbers in the examples, and a clear word on whatever is wrong."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from conftest import REPOSITORY

from bertdata.config.train import OptimizerConfig, Phase, TrainConfig, read_training
from bertdata.errors import UsageError

EXAMPLES = REPOSITORY / "examples"
PHASE = '[[phases]]\nshards = "pairs"\nsteps = 10\n'


def test_the_papers_recipe() -> None:
    config = read_training(EXAMPLES / "bert-base.toml")
    assert (config.batch_size, config.total_steps, config.masked_lm_prob) == (256, 1_000_000, 0.15)
    assert [(phase.shards, phase.steps) for phase in config.phases] == [(("pairs-128",), 900_000), (("pairs-512",), 100_000)]
    assert config.optimizer == OptimizerConfig(
        learning_rate=1e-4,
        warmup_steps=10_000,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        weight_decay=0.01,
        clip_norm=1.0,
    )
    assert config.model == {
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "initializer_range": 0.02,
        "layer_norm_eps": 1e-12,
    }


def test_size() -> None:
    """110 million parameters by section 3; of the released vocabulary, with the heads for pretraining."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    config = read_training(EXAMPLES / "bert-base.toml")
    assert isinstance(config.model, dict)
    with torch.device("meta"):
        model = transformers.BertForPreTraining(transformers.BertConfig(vocab_size=30522, **config.model))
    assert model.num_parameters() == 110_106_428


def test_every_number_of_the_paper_has_its_source() -> None:
    text = (EXAMPLES / "bert-base.toml").read_text(encoding="utf-8")
    numbers = [line for line in text[text.index("[optimizer]") : text.index("[[phases]]")].splitlines() if " = " in line]
    assert len(numbers) == 7
    assert all("# section" in line or "optimization.py" in line for line in numbers)


def test_tiny() -> None:
    config = read_training(EXAMPLES / "bert-tiny.toml")
    assert (config.model["num_hidden_layers"], config.model["hidden_size"]) == (2, 128)  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch = 3\n" + PHASE, "unknown key batch: did you mean 'batch_size'?"),
        ("[[phases]]\nsteps = 1\nshards = 'p'\nstep = 1", "phases[0]: unknown key step: did you mean 'steps'?"),
        ("batch_size = 1.5\n" + PHASE, "`batch_size` is 1.5: expected an integer"),
        ("batch_size = 0\n" + PHASE, "`batch_size` is 0: expected an integer >= 1"),
        ('precision = "fp8"\n' + PHASE, "`precision` is 'fp8': use one of fp32, bf16, fp16"),
        ('[optimizer]\nlearning_rate = "1e-4"\n' + PHASE, "optimizer: `learning_rate` is '1e-4': expected a number"),
        ("[optimizer]\nlearning_rate = inf\n" + PHASE, "optimizer: `learning_rate` is inf: expected a number"),
        ("[optimizer]\nclip_norm = nan\n" + PHASE, "optimizer: `clip_norm` is nan: expected a number"),
        ("masked_lm_prob = nan\n" + PHASE, "`masked_lm_prob` is nan: expected a number"),
        ('mask_shares = "nan/50/50"\n' + PHASE, "`mask_shares` nan/50/50: use three shares that add up to 100"),
        ("model = 3\n" + PHASE, "`model` is 3: expected text or a table"),
        ("phases = []", "`phases` is []: expected a list of length >= 1"),
        ("batch_size = 8", "phases is missing"),
        (PHASE + "accumulation = 3", "accumulation must divide batch_size"),
        ("phases = [", "is not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(UsageError, match=re.escape(f"run.toml{'' if 'TOML' in message else ': '}") + ".*" + re.escape(message)):
        read_training(tmp_path / "run.toml")


def test_a_run_has_at_most_forty_keys() -> None:
    keys = [field.name for kind in (TrainConfig, OptimizerConfig, Phase) for field in dataclasses.fields(kind)]
    assert len(keys) <= 40


def test_one_directory_or_several(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(PHASE)
    one = read_training(tmp_path / "run.toml")
    (tmp_path / "run.toml").write_text('phases = [{ shards = ["a", "b"], weights = [1, 0.5], steps = 3, widths = [32, 64] }]')
    two = read_training(tmp_path / "run.toml")
    assert one.phases[0].shards == ("pairs",)
    assert (two.phases[0].shards, two.phases[0].weights, two.phases[0].widths) == (("a", "b"), (1.0, 0.5), (32, 64))
    assert one.total_steps == 10

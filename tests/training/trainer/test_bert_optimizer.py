"""The optimizer: worked by hand, against torch's AdamW, and the schedule of Google's code."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bertdata.config.train import ModelConfig, OptimizerConfig, Phase, TrainConfig
from bertdata.training.trainer.model import BertForPreTraining
from bertdata.training.trainer.optimizer import Optimizer

torch.set_num_threads(1)


class Two(nn.Module):
    """A weight that shrinks, and a bias and a LayerNorm that do not."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(3, 2)
        self.LayerNorm = nn.LayerNorm(2)


def test_worked_by_hand() -> None:
    """Two updates of one number, as AdamWeightDecayOptimizer.apply_gradients has them."""
    model = Two()
    optimizer = Optimizer(model, OptimizerConfig(weight_decay=0.01))
    with torch.no_grad():
        model.dense.weight.fill_(2.0)
        model.dense.bias.fill_(2.0)
    value = {"weight": 2.0, "bias": 2.0}
    m = v = 0.0
    for gradient in (0.5, -1.0):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        update = m / (v**0.5 + 1e-6)
        value = {"weight": value["weight"] - 0.1 * (update + 0.01 * value["weight"]), "bias": value["bias"] - 0.1 * update}
        for name in value:
            getattr(model.dense, name).grad = torch.full_like(getattr(model.dense, name), gradient)
        optimizer.step(0.1)
    for name, wanted in value.items():
        assert torch.allclose(getattr(model.dense, name), torch.tensor(wanted), atol=1e-6)
    assert torch.equal(model.LayerNorm.weight, torch.ones(2))  # it had no gradient


def test_adamw_is_torchs() -> None:
    torch.manual_seed(0)
    one, two = Two(), Two()
    two.load_state_dict(one.state_dict())
    groups = [
        {"params": [two.dense.weight], "weight_decay": 0.1},
        {"params": [two.dense.bias, *two.LayerNorm.parameters()], "weight_decay": 0.0},
    ]
    ours = Optimizer(one, OptimizerConfig(weight_decay=0.1, algorithm="adamw"))
    theirs = torch.optim.AdamW(groups, lr=0.01, eps=1e-6, fused=True)
    for _ in range(30):
        x = torch.randn(5, 3)
        for model in (one, two):
            model.zero_grad()
            model.LayerNorm(model.dense(x)).pow(3).sum().backward()
        ours.step(0.01)
        theirs.step()
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_muon_takes_the_matrices_of_the_layers() -> None:
    """Embeddings, the head, norms and biases stay with AdamW, and its update is as large as Adam's: 0.2 to 0.4 times the rate."""
    model = BertForPreTraining(ModelConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2))
    optimizer = Optimizer(model, OptimizerConfig(algorithm="muon", weight_decay=0.0))
    before = {name: values.detach().clone() for name, values in model.named_parameters()}
    for values in model.parameters():
        values.grad = torch.randn_like(values)
    optimizer.step(0.01)
    kinds: dict[str, set[str]] = {}
    for key in optimizer.state_dict():
        kind, _, name = key.partition(".")
        kinds.setdefault(name, set()).add(kind)
    hidden = {name for name, each in kinds.items() if each == {"momentum_buffer"}}
    assert hidden == {name for name in before if ".layer." in name and before[name].ndim == 2} and len(hidden) == 12
    assert all(kinds[name] == {"step", "exp_avg", "exp_avg_sq"} for name in before.keys() - hidden)
    for name in hidden:
        size = (model.get_parameter(name) - before[name]).square().mean().sqrt() / 0.01
        assert 0.1 < size < 0.4


@pytest.mark.parametrize("algorithm", ("bert", "adamw", "muon"))
def test_a_restored_state_continues_to_the_bit(algorithm: str) -> None:
    torch.manual_seed(0)
    model = BertForPreTraining(ModelConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2))
    config = OptimizerConfig(algorithm=algorithm)
    gradients = [[torch.randn_like(values) for values in model.parameters()] for _ in range(4)]

    def steps(optimizer: Optimizer, some: list[list[torch.Tensor]]) -> None:
        for step in some:
            for values, gradient in zip(model.parameters(), step, strict=True):
                values.grad = gradient.clone()
            optimizer.step(0.01)

    one = Optimizer(model, config)
    steps(one, gradients[:2])
    middle = {name: values.clone() for name, values in model.state_dict().items()}
    kept = {name: values.clone() for name, values in one.state_dict().items()}
    steps(one, gradients[2:])
    through = {name: values.clone() for name, values in model.state_dict().items()}
    model.load_state_dict(middle)
    other = Optimizer(model, config)
    other.load_state_dict(kept)
    steps(other, gradients[2:])
    assert all(torch.equal(values, through[name]) for name, values in model.state_dict().items())


def test_first_updates_are_larger_without_correction() -> None:
    """sqrt(1 - 0.999) / (1 - 0.9) of the gradient's sign: 0.1 / 0.0316 = 3.16 times Adam's first update."""
    model = Two()
    optimizer = Optimizer(model, OptimizerConfig(weight_decay=0.0))
    before = model.dense.bias.detach().clone()
    model.dense.bias.grad = torch.ones(2)
    optimizer.step(1.0)
    assert torch.allclose(before - model.dense.bias, torch.tensor(0.1 / 0.001**0.5), atol=1e-3)


def test_rate() -> None:
    config = OptimizerConfig()
    total = 1_000_000
    assert config.rate(0, total) == 0
    assert config.rate(5000, total) == pytest.approx(5e-5)
    assert config.rate(9999, total) == pytest.approx(1e-4, rel=2e-4)
    assert config.rate(10000, total) == pytest.approx(0.99e-4)  # the falling line begins at step 0
    assert config.rate(999_999, total) == pytest.approx(1e-10)
    assert OptimizerConfig(warmup_steps=0).rate(0, 10) == 1e-4


def test_phases_have_their_own_rates() -> None:
    wsd = OptimizerConfig(learning_rate=1.0, schedule="wsd", warmup_steps=2, decay_share=0.0)
    config = TrainConfig(
        phases=(
            Phase(shards=("a",), steps=4),
            Phase(shards=("b",), steps=2, learning_rate=0.5),
            Phase(shards=("b",), steps=4, schedule="decay"),
        ),
        optimizer=wsd,
    )
    assert [config.rate(step) for step in range(8)] == [0, 0.5, 1, 1, 0.5, 0.5, 1, 0.5]
    cosine = OptimizerConfig(learning_rate=1.0, schedule="cosine", warmup_steps=2)
    assert [round(cosine.rate(step, 10), 3) for step in (1, 2, 6, 9)] == [0.5, 1, 0.5, 0.038]

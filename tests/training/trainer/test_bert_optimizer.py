"""The optimizer: worked by hand, against torch's AdamW, and the schedule of Google's code."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bertdata.config.train import OptimizerConfig
from bertdata.training.trainer.optimizer import AdamWeightDecay

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
    optimizer = AdamWeightDecay(model, OptimizerConfig(weight_decay=0.01))
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
    assert optimizer.updates == 2


def test_bias_correction_is_adamw() -> None:
    torch.manual_seed(0)
    one, two = Two(), Two()
    two.load_state_dict(one.state_dict())
    config = OptimizerConfig(weight_decay=0.1, bias_correction=True)
    groups = [
        {"params": [two.dense.weight], "weight_decay": 0.1},
        {"params": [two.dense.bias, *two.LayerNorm.parameters()], "weight_decay": 0.0},
    ]
    ours, theirs = AdamWeightDecay(one, config), torch.optim.AdamW(groups, lr=0.01, eps=1e-6)
    for _ in range(30):
        x = torch.randn(5, 3)
        for model in (one, two):
            model.zero_grad()
            model.LayerNorm(model.dense(x)).pow(3).sum().backward()
        ours.step(0.01)
        theirs.step()
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_first_updates_are_larger_without_correction() -> None:
    """sqrt(1 - 0.999) / (1 - 0.9) of the gradient's sign: 0.1 / 0.0316 = 3.16 times Adam's first update."""
    model = Two()
    optimizer = AdamWeightDecay(model, OptimizerConfig(weight_decay=0.0))
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

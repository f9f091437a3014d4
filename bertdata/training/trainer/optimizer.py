"""Implement the Adam variant of BERT's code, and its learning rate schedule.

Google's AdamWeightDecayOptimizer (optimization.py) is not torch's AdamW: the means of gradient and square are not corrected for
starting at zero, which makes the first updates up to 6.5 times Adam's, and the thousandth 1.26 times (the warm-up hides it).
With `bias_correction` the update equals AdamW's to the last digits.  In both, weights decay by rate * decay, except LayerNorms
and biases.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from ...config.train import OptimizerConfig

__all__ = ["AdamWeightDecay"]


class AdamWeightDecay:
    """Adam with weight decay. `updates` is the number of updates, `moments` are the running means by parameter name."""

    def __init__(self, model: nn.Module, config: OptimizerConfig) -> None:
        named = {name: values for name, values in model.named_parameters() if values.requires_grad}
        self.config, self.updates = config, 0
        self.moments = {f"{kind}.{name}": torch.zeros_like(values) for name, values in named.items() for kind in "mv"}
        self.param_groups = [{"params": list(named.values())}]  # GradScaler reads it
        free = {name: named[name] for name in named if "LayerNorm" in name or name.endswith("bias")}
        self._groups = [(0.0, free), (config.weight_decay, {name: named[name] for name in named if name not in free})]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Update every parameter that has a gradient."""
        config, self.updates, scale = self.config, self.updates + 1, 1.0
        for decay, group in self._groups:
            if not (names := [name for name, each in group.items() if each.grad is not None]):
                continue
            values: list[Tensor] = [group[name] for name in names]
            gradients = [cast(Tensor, each.grad) for each in values]
            means, squares = ([self.moments[f"{kind}.{name}"] for name in names] for kind in "mv")
            torch._foreach_lerp_(means, gradients, 1 - config.beta_1)
            torch._foreach_mul_(squares, config.beta_2)
            torch._foreach_addcmul_(squares, gradients, gradients, 1 - config.beta_2)
            below = torch._foreach_sqrt(squares)
            if config.bias_correction:
                scale = 1 / (1 - config.beta_1**self.updates)
                torch._foreach_div_(below, (1 - config.beta_2**self.updates) ** 0.5)
            torch._foreach_add_(below, config.epsilon)
            torch._foreach_mul_(values, 1 - rate * decay)
            torch._foreach_addcdiv_(values, means, below, -rate * scale)

"""Combine optimizers: BERT's Adam, torch's AdamW, or Muon for the matrices of the layers and AdamW for the rest.

Google's AdamWeightDecayOptimizer (optimization.py) is not torch's AdamW: the means of gradient and square are not corrected for
starting at zero, which makes the first updates up to 6.5 times Adam's, and the thousandth 1.26 times (the warm-up hides it).
In all of them, weights decay by rate * decay, except norms and biases, which are vectors.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn

from ...config.train import OptimizerConfig

__all__ = ["Optimizer"]


class _BertAdam(torch.optim.Optimizer):
    """Adam as in BERT's code. The state of a parameter is its running means `m` and `v`."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            if not (values := [each for each in group["params"] if each.grad is not None]):
                continue
            for each in values:
                self.state[each] = self.state[each] or {"m": torch.zeros_like(each), "v": torch.zeros_like(each)}
            gradients = [cast(Tensor, each.grad) for each in values]
            means, squares = ([self.state[each][kind] for each in values] for kind in "mv")
            # For each parameter w with gradient g:
            #
            #   m = beta_1 m + (1 - beta_1) g               running mean of the gradient
            #   v = beta_2 v + (1 - beta_2) g²              running mean of its square
            #   w = (1 - rate decay) w - rate m / (sqrt(v) + eps)
            #
            # The _foreach functions do each line for all parameters at once, in a few GPU kernels.
            (beta_1, beta_2), rate = group["betas"], group["lr"]
            torch._foreach_lerp_(means, gradients, 1 - beta_1)
            torch._foreach_mul_(squares, beta_2)
            torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta_2)
            below = torch._foreach_sqrt(squares)
            torch._foreach_add_(below, group["eps"])
            torch._foreach_mul_(values, 1 - rate * group["weight_decay"])
            torch._foreach_addcdiv_(values, means, below, -rate)


class Optimizer:
    """The optimizers of a run. `param_groups` has all parameters, because GradScaler reads it."""

    def __init__(self, model: nn.Module, config: OptimizerConfig) -> None:
        self._named = {name: values for name, values in model.named_parameters() if values.requires_grad}
        adam: dict[str, Any] = {"lr": 0.0, "betas": (config.beta_1, config.beta_2), "eps": config.epsilon}
        matrices: set[Tensor] = set()
        if config.algorithm == "muon":  # torch's Muon is for hidden layers: embeddings and heads stay with AdamW
            layers = (each for each in model.modules() if isinstance(each, nn.ModuleList))
            matrices = {values for each in layers for values in each.parameters() if values.ndim == 2 and values.requires_grad}
        rest = [values for values in self._named.values() if values not in matrices]
        # Weight decay pulls matrices towards zero. Norm weights and biases have one dimension and
        # no decay.
        groups = [
            {"params": [values for values in rest if values.ndim > 1], "weight_decay": config.weight_decay},
            {"params": [values for values in rest if values.ndim < 2], "weight_decay": 0.0},
        ]
        self._parts: list[torch.optim.Optimizer]
        if config.algorithm == "bert":
            self._parts = [_BertAdam(groups, adam)]
        else:
            self._parts = [torch.optim.AdamW(groups, **adam, fused=True)]
        if matrices:  # "match_rms_adamw" scales updates to the size of Adam's, so both take the same rate (Liu et al. 2025)
            hidden = [values for values in self._named.values() if values in matrices]
            self._parts += [torch.optim.Muon(hidden, 0.0, config.weight_decay, config.momentum, adjust_lr_fn="match_rms_adamw")]
        self.param_groups = [group for part in self._parts for group in part.param_groups]

    def step(self, rate: float) -> None:
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            group["lr"] = rate
        for part in self._parts:
            part.step()

    def state_dict(self) -> dict[str, Tensor]:
        """Return the tensors of the state, named `kind.parameter`."""
        kept = [(name, part.state[each]) for name, each in self._named.items() for part in self._parts if each in part.state]
        return {f"{kind}.{name}": values for name, state in kept for kind, values in state.items()}

    def load_state_dict(self, tensors: dict[str, Tensor]) -> None:
        """Restore the state. Raise KeyError for the name of a parameter that the model does not have."""
        part_of = {each: part for part in self._parts for group in part.param_groups for each in group["params"]}
        for key, values in tensors.items():
            kind, _, name = key.partition(".")
            parameter = self._named[name]
            part_of[parameter].state[parameter][kind] = values.to(parameter.device)

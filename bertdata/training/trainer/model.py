"""Compute the logits of a model of `transformers` at the masked positions only, and the losses."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...labels import IGNORED


class MaskedModel(nn.Module):
    """A model of `transformers` that computes the logits of words at given positions, and those of pairs if it has this head."""

    # 15 % of the positions are predicted. Heads work position by position, so it is enough that they see the states
    # of these positions. With V = 30,522 this saves 85 % of the largest product of the model, and of its memory.

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.inner, self._positions = model, torch.empty(0)
        self._starts: Tensor | None = None
        model.base_model.register_forward_hook(self._select)

    def _select(self, module: Any, arguments: Any, output: Any) -> Any:
        hidden = output["last_hidden_state"]
        if self._starts is not None:  # packed pairs: the pooler reads the first token of each segment
            first = _at(hidden, self._starts)
            output["pooler_output"] = module.pooler(first.flatten(0, 1)[:, None]).view(first.shape)
        output["last_hidden_state"] = _at(hidden, self._positions)
        return output

    def forward(self, positions: Tensor, starts: Tensor | None = None, **arguments: Any) -> tuple[Tensor, Tensor | None]:
        """Return the logits of words at `positions` [B, P, V], and those of pairs [B, 2], or of `starts` [B, D, 2]."""
        self._positions, self._starts = positions, starts
        output = self.inner(**arguments)
        pairs = output.get("seq_relationship_logits", output.get("sop_logits"))
        return output["prediction_logits" if "prediction_logits" in output else "logits"], pairs


def _at(hidden: Tensor, positions: Tensor) -> Tensor:
    """Return the states [B, P, H] at positions [B, P]."""
    return hidden.gather(1, positions[:, :, None].expand(-1, -1, hidden.shape[2]))


def score(words: Tensor, relations: Tensor | None, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the summed losses of masked words and of pairs, and all sums that `reports.metrics.SUMS` names, in float64.

    words [B, P, V] and relations [B, (D,) 2] are logits. Without relations or ``next_sentence_label`` there
    is no pair loss.
    """
    labels, attention = batch["masked_lm_labels"], batch["attention_mask"]
    # Sums and not means, because the caller divides by the counts of the global batch. float()
    # because a softmax over the vocabulary needs more than 16 bits.
    logits = words.float().flatten(0, 1)
    mlm = functional.cross_entropy(logits, labels.flatten(), ignore_index=IGNORED, reduction="sum")
    sums = [mlm.detach(), (labels != IGNORED).sum(), (logits.detach().argmax(1) == labels.flatten()).sum()]
    nsp = none = torch.zeros((), device=labels.device)
    if relations is None or "next_sentence_label" not in batch:
        sums += [none, none, none]
    else:
        logits, truth = relations.float().flatten(0, -2), batch["next_sentence_label"].flatten()
        nsp = functional.cross_entropy(logits, truth, ignore_index=IGNORED, reduction="sum")
        sums += [nsp.detach(), (truth != IGNORED).sum(), (logits.detach().argmax(1) == truth).sum()]
    sums += [none + len(labels), attention.sum(), none + attention.numel()]
    return mlm, nsp, torch.stack([value.double() for value in sums])

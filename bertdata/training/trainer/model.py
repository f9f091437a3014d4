"""Define BERT and its losses, with Hugging Face's parameter names, so that each can load the other's weights.

Words are predicted only at the masked positions, with the embedding matrix.

    model(input_ids, token_type_ids, attention_mask, positions)   [B, L] x 3, [B, P]  ->  logits [B, P, V], [B, 2]
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from ...config.model import ACTIVATIONS, ModelConfig
from ...labels import IGNORED
from ..attention import attend

__all__ = ["BertForPreTraining", "MaskedModel", "score"]


class _Embeddings(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, ids: Tensor, types: Tensor, position_ids: Tensor | None) -> Tensor:
        embedded = self.word_embeddings(ids) + self.token_type_embeddings(types)
        # Positions 0 to L - 1 for plain rows. Those of packed rows restart in each segment.
        learnt = self.position_embeddings
        embedded = embedded + (learnt.weight[: ids.shape[1]] if position_ids is None else learnt(position_ids))
        return cast(Tensor, self.dropout(self.LayerNorm(embedded)))


class _SelfAttention(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.num_attention_heads, config.attention_probs_dropout_prob
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def forward(self, hidden: Tensor, allowed: Any) -> Tensor:
        # [B, L, D] -> [B, L, H, D / H] -> [B, H, L, D / H]: each head attends on its own slice.
        query, key, value = (
            part(hidden).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        return attend(query, key, value, allowed, self.dropout if self.training else 0.0).transpose(1, 2).flatten(2)


class _Output(nn.Module):
    """A linear layer with dropout and a residual connection."""

    def __init__(self, config: ModelConfig, size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden: Tensor, around: Tensor) -> Tensor:
        return cast(Tensor, self.LayerNorm(self.dropout(self.dense(hidden)) + around))


class _Layer(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.act = partial(functional.gelu, approximate=ACTIVATIONS[config.hidden_act])
        self.attention = nn.ModuleDict({"self": _SelfAttention(config), "output": _Output(config, config.hidden_size)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.intermediate_size)})
        self.output = _Output(config, config.intermediate_size)

    def forward(self, hidden: Tensor, allowed: Any) -> Tensor:
        # Post-norm, as in BERT: add the input, then normalize (`_Output`). Newer models are pre-norm.
        hidden = self.attention["output"](self.attention["self"](hidden, allowed), hidden)
        return cast(Tensor, self.output(self.act(self.intermediate["dense"](hidden)), hidden))


class _Predictions(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.transform: Any = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.hidden_size), "LayerNorm": norm})
        self.act = partial(functional.gelu, approximate=ACTIVATIONS[config.hidden_act])
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, hidden: Tensor, words: Tensor) -> Tensor:
        # `words` is the embedding matrix [V, D]: input and output share it, so a token's logit is
        # the dot product of the predicted vector with the token's embedding, plus a bias.
        hidden = self.transform.LayerNorm(self.act(self.transform.dense(hidden)))
        return functional.linear(hidden, words, self.bias)


class BertForPreTraining(nn.Module):
    """BERT with the masked-word head and the next-sentence head."""

    def __init__(self, config: ModelConfig, *, gradient_checkpointing: bool = False) -> None:
        super().__init__()
        self.gradient_checkpointing = gradient_checkpointing
        layers = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))
        pooler = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.hidden_size)})
        parts = {"embeddings": _Embeddings(config), "encoder": nn.ModuleDict({"layer": layers}), "pooler": pooler}
        self.bert: Any = nn.ModuleDict(parts)
        self.cls: Any = nn.ModuleDict({"predictions": _Predictions(config), "seq_relationship": nn.Linear(config.hidden_size, 2)})
        for name, values in self.named_parameters():
            if name.endswith("LayerNorm.weight"):
                nn.init.ones_(values)
            elif name.endswith("bias"):
                nn.init.zeros_(values)
            else:  # tf.truncated_normal_initializer, as in modeling.py: truncated at two standard deviations
                nn.init.trunc_normal_(values, std=(std := config.initializer_range), a=-2 * std, b=2 * std)

    def forward(
        self, ids: Tensor, types: Tensor, attention: Any, positions: Tensor | None = None, **packed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of words at `positions`, or at all positions, and those of (IsNext, NotNext).

        For packed rows, the arguments come from `attention.for_bert`, and the second logits are [B, D, 2].
        """
        hidden = self.bert.embeddings(ids, types, packed.get("position_ids"))
        # A plain attention mask [B, L] becomes [B, 1, 1, L]: every position attends to all tokens
        # of its row and to no padding. Packed rows come with a complete mask.
        allowed = attention[:, None, None, :].bool() if isinstance(attention, Tensor) and attention.ndim == 2 else attention
        for layer in self.bert.encoder.layer:
            if self.gradient_checkpointing and self.training:
                hidden = checkpoint(layer, hidden, allowed, use_reentrant=False)
            else:
                hidden = layer(hidden, allowed)
        # The pair head reads the first token, [CLS], of each row or segment of a packed row.
        first = _at(hidden, packed["document_starts"]) if "document_starts" in packed else hidden[:, 0]
        # 15 % of the positions are predicted. Select them before the product with the vocabulary,
        # the largest of the model: with V = 30,522 this saves 85 % of the logits and of their
        # memory.
        hidden = hidden if positions is None else _at(hidden, positions)
        words = self.cls.predictions(hidden, self.bert.embeddings.word_embeddings.weight)
        return words, self.cls.seq_relationship(torch.tanh(self.bert.pooler.dense(first)))


class MaskedModel(nn.Module):
    """A model of `transformers` that computes logits at the masked positions only."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.inner, self._masked = model, torch.empty(0)
        # Heads work position by position, so it is enough that they see the states of the masked positions.
        model.base_model.register_forward_hook(self._select)

    def _select(self, module: nn.Module, arguments: Any, output: Any) -> Any:
        output["last_hidden_state"] = _at(output["last_hidden_state"], self._masked)
        return output

    def forward(self, positions: Tensor, **arguments: Any) -> tuple[Tensor, None]:
        """Return the logits at `positions` [B, P], and nothing for pairs. The arguments are those of the model."""
        self._masked = positions
        return self.inner(**arguments).logits, None

    def load(self, directory: Path) -> None:
        """Load the weights of a checkpoint."""
        self.inner.load_state_dict(type(self.inner).from_pretrained(directory, dtype=torch.float32).state_dict())


def _at(hidden: Tensor, positions: Tensor) -> Tensor:
    """Return the states [B, P, D] at positions [B, P]."""
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

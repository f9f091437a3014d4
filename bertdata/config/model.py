"""Configure the size of this project's BERT, with the key names of bert_config.json."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .base import Config

__all__ = ["ACTIVATIONS", "ModelConfig"]

ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh"}  # Hugging Face's name -> torch's approximation


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """Model size and shape, with the key names of bert_config.json. The defaults are BERT-Base.

    `vocab_size` 0 means the vocabulary size of the shards.
    """

    vocab_size: int = 0
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings"):
            self._require(getattr(self, name) >= 1, f"model.{name}: use at least 1")
        self._require(self.type_vocab_size >= 2, "model.type_vocab_size: use at least 2, for A and B")
        self._require(self.hidden_size % self.num_attention_heads == 0, "model.num_attention_heads must divide model.hidden_size")
        self._require(self.hidden_act in ACTIVATIONS, f"model.hidden_act: use one of {', '.join(ACTIVATIONS)}")
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            self._require(0 <= getattr(self, name) < 1, f"model.{name}: use a value from 0 to below 1")
        for name in ("initializer_range", "layer_norm_eps"):
            self._require(0 < getattr(self, name) < math.inf, f"model.{name}: use a number over 0")

    @property
    def shape(self) -> str:
        """The size of the model in short."""
        return f"BERT L{self.num_hidden_layers} H{self.hidden_size} A{self.num_attention_heads}"

    @property
    def parameters(self) -> int:
        """The number of parameters. Weights shared by the decoder and the embeddings count once."""
        h, i = self.hidden_size, self.intermediate_size
        layer = 4 * h * (h + 1) + h * i + i + i * h + h + 4 * h
        rows = self.vocab_size + self.max_position_embeddings + self.type_vocab_size
        heads = h * (h + 1) + (h * (h + 1) + 2 * h + self.vocab_size) + 2 * (h + 1)
        return rows * h + 2 * h + self.num_hidden_layers * layer + heads

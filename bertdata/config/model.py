"""Configure the size of this project's BERT, with the key names of bert_config.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from .base import Config, Count, Positive, PositiveNumber

_Dropout = Annotated[float, Meta(ge=0, lt=1)]
ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh"}  # Hugging Face's name -> torch's approximation


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """Model size and shape, with the key names of bert_config.json. The defaults are BERT-Base.

    `vocab_size` 0 means the vocabulary size of the shards.
    """

    vocab_size: Count = 0
    hidden_size: Positive = 768
    num_hidden_layers: Positive = 12
    num_attention_heads: Positive = 12
    intermediate_size: Positive = 3072
    hidden_act: Literal["gelu", "gelu_new"] = "gelu"
    hidden_dropout_prob: _Dropout = 0.1
    attention_probs_dropout_prob: _Dropout = 0.1
    max_position_embeddings: Positive = 512
    type_vocab_size: Annotated[int, Meta(ge=2, le=1 << 20)] = 2  # A and B
    initializer_range: PositiveNumber = 0.02
    layer_norm_eps: PositiveNumber = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(
            self.hidden_size % self.num_attention_heads == 0,
            f"`num_attention_heads` is {self.num_attention_heads}: use a divisor of `hidden_size`, {self.hidden_size}",
            field="num_attention_heads",
        )

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

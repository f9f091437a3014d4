"""A training run of seconds: a tiny BERT on tiny pairs, in this process or in others."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import torch
from processes import Started
from safetensors.torch import load_file
from tiny import write_pairs

from bertdata.config.train import OptimizerConfig, Phase, TrainConfig

MODEL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
TOML = """
batch_size = {batch_size}
workers = 0
log_every = 5
save_every = 5
keep = 9
evaluate_every = 10
[optimizer]
learning_rate = 1e-3
warmup_steps = 4
[model]
hidden_size = 16
num_hidden_layers = 2
num_attention_heads = 2
intermediate_size = 32
max_position_embeddings = 64
hidden_dropout_prob = {dropout}
attention_probs_dropout_prob = {dropout}
[[phases]]
shards = "{shards}"
steps = {steps}
"""


def pairs(root: Path, **config: Any) -> Path:
    """A hundred rows of many lengths, and a few more to evaluate on."""
    lengths = [8 + number * 11 % 57 for number in range(100)]
    return write_pairs(root, {"train": [lengths[:60], lengths[60:]], "validation": [lengths[:24]]}, **config)


def small(shards: Path, steps: int = 20, model: dict[str, Any] | None = None, **more: Any) -> TrainConfig:
    """Return a configuration of a run of seconds."""
    optimizer = more.pop("optimizer", {})
    accumulation = more.pop("accumulation", 1)
    settings: dict[str, Any] = {"batch_size": 8, "log_every": 5, "save_every": 100, "evaluate_every": 10, "workers": 0, "keep": 9}
    return TrainConfig(
        phases=more.pop("phases", None) or (Phase(shards=(str(shards),), steps=steps, accumulation=accumulation),),
        model=MODEL | (model or {}),
        optimizer=OptimizerConfig(**{"learning_rate": 1e-3, "warmup_steps": 4, **optimizer}),
        **{**settings, **more},
    )


def weights(checkpoint: Path) -> dict[str, torch.Tensor]:
    """The tensors of a checkpoint: the model's and the optimizer's."""
    model, optimizer = (load_file(checkpoint / f"{name}.safetensors") for name in ("model", "optimizer"))
    return {**model, **{f"optimizer.{name}": values for name, values in optimizer.items()}}


def differ(first: Path, second: Path) -> float:
    """The largest difference between the tensors of two checkpoints; 0 means equal bits."""
    one, two = weights(first), weights(second)
    assert one.keys() == two.keys()
    return max(float((one[name] - two[name]).abs().max()) for name in one)


def started(*arguments: str, ranks: int = 1, code: str = "") -> list[Started]:
    """Start `bertdata train ARGUMENTS`, or `code`, in `ranks` processes with the variables of torchrun."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {**os.environ, "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks)}
    words = [*([] if code else ["train"]), *arguments]
    return [Started(words, Path.cwd(), {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}, code) for rank in range(ranks)]

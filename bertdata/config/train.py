"""Configure a training run: model, optimizer, phases and other settings, read from TOML. The defaults are the BERT paper's.

>>> config = TrainConfig(phases=(Phase(shards=("pairs-128",), steps=90),))
>>> config.total_steps, config.batch_size, config.optimizer.warmup_steps
(90, 256, 10000)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from msgspec import Meta

from .base import FREE, Config, Count, Number, Positive, PositiveNumber, Seed, Share, option
from .pairs import mask_shares
from .toml import from_table, read_toml

_Decay = Annotated[float, Meta(ge=0, lt=1)]


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(Config):
    """AdamW and the schedule of its learning rate. The defaults are those of section A.2 of the BERT paper.

    `epsilon` and `clip_norm` follow the paper's code, optimization.py. `clip_norm` 0 disables gradient clipping. `schedule` is
    ``linear``, ``cosine``, or ``wsd``: constant, then a decay over the last `decay_share` of the steps.
    """

    learning_rate: PositiveNumber = 1e-4
    schedule: Literal["linear", "cosine", "wsd"] = "linear"
    warmup_steps: Count = 10000
    decay_share: Share = 0.1
    beta_1: _Decay = 0.9
    beta_2: _Decay = 0.999
    epsilon: PositiveNumber = 1e-6
    weight_decay: Number = 0.01
    clip_norm: Number = 1.0

    def rate(self, step: int, total: int) -> float:
        """Return the learning rate of a step, counted from 0: linear warmup, then the schedule.

        ``linear`` decays from step 0 on, as `create_optimizer` in google-research/bert. ``wsd`` decays with 1 - sqrt (Hägele et
        al. 2024, "Scaling Laws and Compute-Optimal Training Beyond Fixed Training Durations").

        >>> [round(OptimizerConfig(warmup_steps=4).rate(step, 10) * 1e4, 6) for step in (0, 1, 2, 4, 9)]
        [0.0, 0.25, 0.5, 0.6, 0.1]
        >>> wsd = OptimizerConfig(schedule="wsd", warmup_steps=4, decay_share=0.4)
        >>> [round(wsd.rate(step, 10) * 1e4, 6) for step in (2, 4, 6, 7, 9)]
        [0.5, 1.0, 1.0, 0.5, 0.133975]
        """
        decay = total * self.decay_share
        if step < self.warmup_steps:
            share = step / self.warmup_steps
        elif self.schedule == "linear":
            share = 1 - step / total
        elif self.schedule == "cosine":
            share = (1 + math.cos(math.pi * (step - self.warmup_steps) / (total - self.warmup_steps))) / 2
        else:
            share = 1 - math.sqrt((step - total + decay) / decay) if step > total - decay else 1.0
        return self.learning_rate * share


@dataclass(frozen=True, kw_only=True)
class Phase(Config):
    """Training steps on one set of data.

    Attributes:
        shards: Directories of make-pairs.
        steps: Number of optimizer steps.
        weights: Sampling weight of each directory.
        widths: Lengths in tokens to which rows are padded.
        accumulation: Micro-batches per step.
        batch_size: Rows of a step, or 0 for the run's.
        masked_lm_prob: Share of masked tokens, or 0 for the run's.
    """

    shards: Annotated[tuple[str, ...], Meta(min_length=1)] = field(metadata=FREE)  # the identity of a run has their contents
    steps: Positive
    weights: tuple[Number, ...] = ()
    widths: tuple[Positive, ...] = ()
    accumulation: Positive = field(default=1, metadata=FREE)
    batch_size: Count = 0
    masked_lm_prob: Share = 0.0


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """Settings of a training run. A resumed run may change FREE fields, because they do not affect the result.

    `model` is a table of settings of a configuration of `transformers`, by default BERT's with BERT-Base's size; or a model of
    `transformers`, which gets new weights: a directory, or the name of a model of the Hugging Face Hub.
    """

    phases: Annotated[tuple[Phase, ...], Meta(min_length=1)]
    model: dict[str, Any] | str = field(default_factory=dict)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    batch_size: Positive = 256
    init_from: str = option(
        "",
        "Masked-language model of transformers to continue from: a directory, or a model of the Hugging Face Hub.",
        identity=False,  # the identity of a run has the model's contents
        metavar="DIR",
        unset="init_from in RUN.TOML",
        first=True,
    )
    seed: Seed = 12345
    masked_lm_prob: Annotated[float, Meta(gt=0, le=1)] = 0.15
    max_predictions: Count = 0
    unit: Literal["piece", "word"] = "piece"
    mask_shares: str = "80/10/10"
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    output: str = field(default="", metadata=FREE)
    compile: bool = field(default=False, metadata=FREE)
    gradient_checkpointing: bool = field(default=False, metadata=FREE)
    unpadded: bool = field(default=False, metadata=FREE)  # train without padding, with flash attention
    workers: Count = field(default=2, metadata=FREE)
    log_every: Positive = field(default=100, metadata=FREE)
    evaluate_every: Positive = field(default=10000, metadata=FREE)
    evaluate_batches: Positive = field(default=100, metadata=FREE)
    save_every: Positive = field(default=10000, metadata=FREE)
    evaluate: str = field(default="", metadata=FREE)  # module:function, called with the directory and step of each checkpoint
    keep: Positive = field(default=3, metadata=FREE)
    tensorboard: bool = field(default=False, metadata=FREE)

    def __post_init__(self) -> None:
        super().__post_init__()
        mask_shares(self.mask_shares)
        self._require(not self.evaluate or self.evaluate.count(":") == 1, "evaluate: name a function as module:function")
        self._require(
            not (self.init_from and self.model), "init_from: omit [model] and --model, because the directory has a model"
        )
        for phase in self.phases:
            self._require(self.rows_of(phase) % phase.accumulation == 0, "phases.accumulation must divide batch_size")

    @property
    def total_steps(self) -> int:
        """The number of steps of all phases, which is the length of the learning rate schedule."""
        return sum(phase.steps for phase in self.phases)

    def rows_of(self, phase: Phase) -> int:
        """Return the rows of a step of a phase."""
        return phase.batch_size or self.batch_size

    def rate(self, step: int) -> float:
        """Return the learning rate of a step of the run."""
        return self.optimizer.rate(step, self.total_steps)


def read_training(path: str | Path) -> TrainConfig:
    """Read a TOML file, or its table [train] if the file is for `bertdata run`.

    Raise UsageError, with the key's name, for an unknown key or a value of the wrong type.
    """
    table = read_toml(Path(path))
    return cast(TrainConfig, from_table(TrainConfig, table.get("train", table), str(path)))

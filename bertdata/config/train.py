"""Configure a training run: model, optimizer, phases and other settings, read from TOML. The defaults are the BERT paper's.

>>> config = parse_training("run.toml", 'phases = [{ shards = "pairs-128", steps = 90 }]')
>>> config.total_steps, config.batch_size, config.model.hidden_size, config.optimizer.warmup_steps
(90, 256, 768, 10000)
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ..errors import UsageError
from .base import FREE, Config, option
from .model import ACTIVATIONS, ModelConfig
from .pairs import mask_shares
from .toml import parse_toml, read_toml
from .toml_tables import from_table

__all__ = [
    "ACTIVATIONS",
    "ALGORITHMS",
    "PRECISIONS",
    "SCHEDULES",
    "ModelConfig",
    "OptimizerConfig",
    "Phase",
    "TrainConfig",
    "milestones",
    "parse_training",
    "read_training",
]

PRECISIONS = ("fp32", "bf16", "fp16")
ALGORITHMS = ("bert", "adamw", "muon")
SCHEDULES = ("linear", "cosine", "wsd")
_BABYLM = [*(size * power for power in (10**6, 10**7, 10**8) for size in range(1, 10)), 10**9]  # the challenge's rules of 2025
_UNITS = {"M": 10**6, "K": 1000, "": 1}
_WORDS = re.compile(r"([1-9][0-9]{0,17})([MK]?)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(Config):
    """The optimizer and the schedule of its learning rate. The defaults are those of section A.2 of the BERT paper.

    `epsilon` and `clip_norm` follow the paper's code, optimization.py. `clip_norm` 0 disables gradient clipping. `algorithm` is
    ``bert`` (Adam without bias correction, as in that file), ``adamw`` or ``muon`` (matrices of the layers, and AdamW for the
    rest). `schedule` is ``linear``, ``cosine``, or ``wsd``: constant, then a decay over the last `decay_share` of the steps.
    """

    algorithm: str = "bert"
    learning_rate: float = 1e-4
    schedule: str = "linear"
    warmup_steps: int = 10000
    decay_share: float = 0.1
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-6
    momentum: float = 0.95
    weight_decay: float = 0.01
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("learning_rate", "epsilon"):
            self._require(0 < getattr(self, name) < math.inf, f"optimizer.{name}: use a number over 0")
        for name in ("warmup_steps", "weight_decay", "clip_norm"):
            self._require(0 <= getattr(self, name) < math.inf, f"optimizer.{name}: use a number of 0 or more")
        for name in ("beta_1", "beta_2", "momentum"):
            self._require(0 <= getattr(self, name) < 1, f"optimizer.{name}: use 0 to below 1")
        self._require(0 <= self.decay_share <= 1, "optimizer.decay_share: use a value from 0 to 1")
        for name, choices in (("algorithm", ALGORITHMS), ("schedule", SCHEDULES)):
            self._require(getattr(self, name) in choices, f"optimizer.{name}: use one of {', '.join(choices)}")

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
        if step < self.warmup_steps:
            share = step / self.warmup_steps
        elif self.schedule == "linear":
            share = 1 - step / total
        elif self.schedule == "cosine":
            share = (1 + math.cos(math.pi * (step - self.warmup_steps) / (total - self.warmup_steps))) / 2
        else:
            share = decayed(step - total + total * self.decay_share, total * self.decay_share)
        return self.learning_rate * share


def decayed(step: float, steps: float) -> float:
    """Return the share of the learning rate at a step of a decay. Before the decay, it is 1."""
    return 1 - math.sqrt(step / steps) if step > 0 else 1.0


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
        learning_rate: Peak learning rate, or 0 for the optimizer's.
        schedule: ``constant`` or ``decay`` within this phase, or empty for the schedule of the run.
    """

    shards: tuple[str, ...] = field(metadata=FREE)  # the identity of a run has their contents, not their paths
    steps: int
    weights: tuple[float, ...] = ()
    widths: tuple[int, ...] = ()
    accumulation: int = field(default=1, metadata=FREE)
    batch_size: int = 0
    masked_lm_prob: float = 0.0
    learning_rate: float = 0.0
    schedule: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.batch_size >= 0, "phases.batch_size: use 1 or more, or 0 for batch_size of the run")
        self._require(0 <= self.masked_lm_prob <= 1, "phases.masked_lm_prob: use a value over 0, up to 1, or 0 for the run's")
        self._require(0 <= self.learning_rate < math.inf, "phases.learning_rate: use a number over 0, or 0 for the optimizer's")
        self._require(self.schedule in ("", "constant", "decay"), "phases.schedule: use constant, decay, or omit it")
        self._require(bool(self.shards), "phases.shards: name at least one directory of make-pairs")
        self._require(self.steps >= 1, "phases.steps: use at least 1")
        self._require(self.accumulation >= 1, "phases.accumulation: use at least 1")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """Settings of a training run. A resumed run may change FREE fields, because they do not affect the result.

    `model` is a `ModelConfig`, or a masked-language model of `transformers`, which gets new weights: a directory, or the name of
    a model of the Hugging Face Hub.
    """

    phases: tuple[Phase, ...]
    model: ModelConfig | str = field(default_factory=ModelConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    batch_size: int = 256
    init_from: str = option(
        "",
        "Masked-language model of transformers to continue from: a directory, or a model of the Hugging Face Hub.",
        identity=False,  # the identity of a run has the model's contents
        metavar="DIR",
    )
    new_vocabulary: bool = False
    seed: int = 12345
    masked_lm_prob: float = 0.15
    max_predictions: int = 0
    unit: str = "piece"
    mask_shares: str = "80/10/10"
    precision: str = "fp32"
    output: str = field(default="", metadata=FREE)
    compile: bool = field(default=False, metadata=FREE)
    gradient_checkpointing: bool = field(default=False, metadata=FREE)
    unpadded: bool = field(default=False, metadata=FREE)  # compute without padding, with all tokens concatenated
    workers: int = field(default=2, metadata=FREE)
    log_every: int = field(default=100, metadata=FREE)
    evaluate_every: int = field(default=10000, metadata=FREE)
    evaluate_batches: int = field(default=100, metadata=FREE)
    save_every: int = field(default=10000, metadata=FREE)
    evaluate: str = field(default="", metadata=FREE)  # module:function, called with the directory and step of each checkpoint
    keep: int = field(default=3, metadata=FREE)
    checkpoint_words: str = option(
        "",
        "Save the model after these numbers of words, as chck_1M, chck_2M and so on. Use a list such as 1M,2M,500K, or babylm "
        "for every 1M up to 10M, every 10M up to 100M and every 100M up to 1000M.",
        identity=False,
        metavar="WORDS",
    )
    tensorboard: bool = field(default=False, metadata=FREE)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(bool(self.phases), "phases: missing. Add at least one [[phases]] with shards and steps")
        for name in ("batch_size", "log_every", "evaluate_every", "evaluate_batches", "save_every", "keep"):
            self._require(getattr(self, name) >= 1, f"{name}: use at least 1")
        for name in ("workers", "max_predictions"):
            self._require(getattr(self, name) >= 0, f"{name}: use 0 or more")
        self._require(0 < self.masked_lm_prob <= 1, "masked_lm_prob: use a value over 0, up to 1")
        mask_shares(self.mask_shares)
        milestones(self.checkpoint_words)
        self._require(not self.evaluate or self.evaluate.count(":") == 1, "evaluate: name a function as module:function")
        self._require(
            not self.init_from or self.model == ModelConfig(),
            "init_from: omit [model] and --model, because the directory has a model",
        )
        self._require(
            bool(self.init_from) or not self.new_vocabulary, "new_vocabulary: set init_from, the model to continue from"
        )
        self._require(self.precision in PRECISIONS, f"precision: use one of {', '.join(PRECISIONS)}")
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
        ends = list(itertools.accumulate(phase.steps for phase in self.phases))
        phase, end = next((phase, end) for phase, end in zip(self.phases, ends, strict=True) if step < end)
        rate = self.optimizer.rate(step, self.total_steps)
        if phase.schedule:
            share = decayed(step - end + phase.steps, phase.steps) if phase.schedule == "decay" else 1.0
            return (phase.learning_rate or self.optimizer.learning_rate) * share
        return rate * phase.learning_rate / self.optimizer.learning_rate if phase.learning_rate else rate


def milestones(text: str) -> dict[str, int]:
    """Return the word counts at which a run saves its model, in ascending order, by directory name.

    >>> milestones("2M,500K"), list(milestones("babylm"))[9:12]
    ({'chck_500K': 500000, 'chck_2M': 2000000}, ['chck_10M', 'chck_20M', 'chck_30M'])
    """
    if text == "babylm":
        return {f"chck_{words // 10**6}M": words for words in _BABYLM}
    matches = [_WORDS.fullmatch(each.strip()) for each in text.split(",")] if text else []
    if not all(matches):
        raise UsageError(f"checkpoint_words {text!r}: use babylm, or numbers of words such as 1M,2M,500K")
    numbers = {f"chck_{each[0]}": int(each[1]) * _UNITS[each[2]] for each in matches if each}
    return dict(sorted(numbers.items(), key=lambda item: item[1]))


def read_training(path: str | Path) -> TrainConfig:
    """Read a TOML file, or its table [train] if the file is for `bertdata run`.

    Raise UsageError, with the key's name, for an unknown key or a value of the wrong type.
    """
    table = read_toml(Path(path))
    return cast(TrainConfig, from_table(TrainConfig, table.get("train", table), str(path)))


def parse_training(name: str, text: str) -> TrainConfig:
    """Read the text of a TOML file, as `read_training` does."""
    return cast(TrainConfig, from_table(TrainConfig, parse_toml(name, text), name))

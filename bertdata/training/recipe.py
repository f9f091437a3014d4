"""Prepare a training run: open its data, and check the data against its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import keys
from ..config import OBJECTIVES
from ..config.train import Phase, TrainConfig
from ..dataset.rows import Shards
from ..errors import UsageError
from ..storage.files import read_json, write_json
from .encoder import Encoder, plan_encoder
from .epoch_plan import EpochPlan, plan_of
from .masks import MaskConfig


class PhaseRows(NamedTuple):
    """A phase with its rows. `first` is its first step, counted over the run. `validation` is None without a validation split."""

    phase: Phase
    first: int
    shards: Shards
    validation: Shards | None
    options: dict[str, Any]
    batch_size: int
    masks: MaskConfig | None = None  # None for rows with static masks

    @property
    def end(self) -> int:
        """The first step after this phase."""
        return self.first + self.phase.steps

    def tokens_per_step(self) -> float:
        """Return the expected number of tokens in a step, from the tokens and rows that the manifests count."""
        tokens = [contents.splits[self.shards.split].tokens for contents in self.shards.manifests]
        return self.batch_size * float(np.dot(tokens, self.shards.weights) / np.dot(self.shards.rows, self.shards.weights))

    def plan(self) -> EpochPlan:
        """Return the batches of the phase."""
        return plan_of(self.shards, self.batch_size, **self.options)


class Recipe(NamedTuple):
    """The parts of a run. `identity` contains everything that its weights depend on, except the number of processes."""

    config: TrainConfig
    encoder: Encoder
    parts: list[PhaseRows]
    identity: dict[str, object]

    def write_tokenizer(self, directory: Path) -> None:
        """Write the rows' tokenizer to a checkpoint, with the model's length, to which it truncates texts."""
        rows = self.parts[0].shards
        for path in rows.vocabulary_files:
            (directory / path.name).write_bytes(path.read_bytes())
        settings = directory / "tokenizer_config.json"
        write_json(settings, {**(read_json(settings) or {}), "model_max_length": self.encoder.target.max_tokens})


def prepare(config: TrainConfig, processes: int = 1) -> Recipe:
    """Open the shards of all phases. Raise UsageError for data that do not fit together, or do not fit the model."""
    parts: list[PhaseRows] = []
    masks = MaskConfig()
    # Phases run one after another, such as 900,000 steps at 128 tokens, then 100,000 at 512. Each
    # has its own order of rows: the seed of a phase is derived from its index.
    for index, phase in enumerate(config.phases):
        shards = Shards(phase.shards, weights=phase.weights or None)
        options = {"seed": keys.key(config.seed, "phase", index), "widths": phase.widths}
        begin, rows = parts[-1].end if parts else 0, config.rows_of(phase)
        masks = MaskConfig(
            phase.masked_lm_prob or config.masked_lm_prob,
            max_predictions=config.max_predictions,
            unit=config.unit,
            mask_shares=config.mask_shares,
        )
        of_phase = masks if shards.masking == "none" else None
        parts.append(PhaseRows(phase, begin, shards, _validation(shards), options, rows, of_phase))
    if all(part.shards.masking == "static" for part in parts):
        masks.check(parts[0].shards)
    for part in parts:
        _check(part, parts[0].shards, processes)
    encoder = plan_encoder(config, parts[0].shards, packed=any(part.shards.packed for part in parts))
    longest = max(length for part in parts for length in (*part.phase.widths, part.shards.max_seq_length))
    if longest > encoder.target.max_tokens:
        most = encoder.target.max_tokens
        raise UsageError(f"rows of {longest} tokens are longer than max_position_embeddings of the model allows, {most}")
    identity = config.identity()
    identity["phases"] = {
        str(index): {**part.phase.identity(), "shards": part.shards.identity} for index, part in enumerate(parts)
    }
    return Recipe(config, encoder, parts, {**identity, "model": encoder.identity()})


def _validation(rows: Shards) -> Shards | None:
    have = all(any(shard.name.startswith("data/validation-") for shard in each.shards) for each in rows.manifests)
    return Shards(rows.paths, split="validation") if have else None


def _check(part: PhaseRows, first: Shards, processes: int) -> None:
    shards, where = part.shards, part.shards.paths[0]
    if not OBJECTIVES[objective := shards.objective].masks:
        raise UsageError(f"{where} is of the objective {objective}, but encoders see the next token. Use another `objective`")
    if (shards.pieces, shards.objective) != (first.pieces, first.objective):
        raise UsageError(f"{where} has another vocabulary or objective than {first.paths[0]}: make both alike")
    if part.batch_size % (processes * part.phase.accumulation):
        raise UsageError(
            f"batch_size {part.batch_size} is not a multiple of {processes} processes x accumulation {part.phase.accumulation}"
        )

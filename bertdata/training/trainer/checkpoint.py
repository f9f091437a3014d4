"""Write and read checkpoints: directories that `transformers` loads directly, and from which training resumes bit-exactly.

    run/checkpoint-1000/config.json, model.safetensors, tokenizer.json, tokenizer_config.json
                        optimizer.safetensors, state.json (the step, the run's identity, metrics not written yet)

A checkpoint is written under a temporary name, flushed to disk and renamed, so one with its final name is complete.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as packed

from ...codec import WrongValue, decode, encode, replace
from ...errors import VerificationError
from ...storage.files import TEMPORARY_PREFIX, read_json, replacing_directory, write_json
from ...storage.moves import remove
from ..recipe import Recipe
from ..resume import State, checkpoints
from .learner import Learner


def save(output: Path, learner: Learner, recipe: Recipe, state: State) -> None:
    """Write a checkpoint with the tokenizer's files, and remove old ones."""
    moments = {f"{kind}.{name}": v for name, p in learner.named.items() for kind, v in learner.optimizer.state.get(p, {}).items()}
    with replacing_directory(output / f"checkpoint-{state.step}") as path:
        _save_weights(learner.model.inner, path)
        recipe.write_tokenizer(path)
        (path / "optimizer.safetensors").write_bytes(packed(moments))
        write_json(path / "state.json", encode(replace(state, scaler=learner.scaler.state_dict())))
    # Only now, when the new checkpoint is safe, remove the old ones. The new name hides a partly removed one.
    for old in checkpoints(output)[: -recipe.config.keep]:
        remove(old.rename(old.with_name(f"{TEMPORARY_PREFIX}{old.name}")))


def _save_weights(model: Any, path: Path) -> None:
    """Save a model as `transformers` does. Raise OSError if the disk is full, or fails."""
    try:
        model.save_pretrained(path)
    except SafetensorError as error:
        if not (number := re.search(r"os error ([0-9]+)", str(error))):
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def restore(directory: Path, learner: Learner) -> State:
    """Restore a learner from a checkpoint. Return its state."""
    model = learner.model.inner
    try:
        state = decode(read_json(directory / "state.json"), State)
        model.load_state_dict(type(model).from_pretrained(directory, dtype=torch.float32).state_dict())
        for key, values in load_file(directory / "optimizer.safetensors").items():
            kind, _, name = key.partition(".")
            learner.optimizer.state[learner.named[name]][kind] = values.to(learner.named[name].device)
        learner.scaler.load_state_dict(state.scaler)
    except (WrongValue, SafetensorError, OSError, RuntimeError, KeyError, ValueError) as error:
        advice = "remove this checkpoint, and the run continues from the one before"
        raise VerificationError(f"{directory} is missing or damaged ({error}): {advice}") from error
    return state

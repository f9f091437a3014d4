"""Write and read checkpoints: directories that `transformers` loads directly, and from which training resumes bit-exactly.

    run/checkpoint-1000/config.json, model.safetensors, vocab.txt, tokenizer.json, tokenizer_config.json
                        optimizer.safetensors, state.json (the step, the run's identity, metrics not written yet)
    run/chck_1M/        the model after 1,000,000 words, without optimizer state

A checkpoint is written under a temporary name, flushed to disk and renamed, so one with its final name is complete.
"""

from __future__ import annotations

from pathlib import Path

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
from .model import BertForPreTraining, MaskedModel

__all__ = ["restore", "save"]


def save(output: Path, learner: Learner, recipe: Recipe, state: State, name: str = "") -> None:
    """Write a checkpoint with the tokenizer's files, and remove old ones. With a `name`, write the model only."""
    if name and (output / name).exists():  # written before the run was resumed from an earlier step
        _remove(output / name)
    # Write below a temporary name, then rename: a directory named checkpoint-N is always complete,
    # also after a power failure in the middle of a save.
    with replacing_directory(output / (name or f"checkpoint-{state.step}")) as path:
        _save_model(path, learner.model, recipe)
        recipe.write_tokenizer(path)
        if not name:
            (path / "optimizer.safetensors").write_bytes(packed(learner.optimizer.state_dict()))
            write_json(path / "state.json", encode(replace(state, scaler=learner.scaler.state_dict())))
    # Only now, when the new checkpoint is safe, remove the old ones.
    for old in checkpoints(output)[: -recipe.config.keep]:
        _remove(old)


def _save_model(path: Path, model: BertForPreTraining | MaskedModel, recipe: Recipe) -> None:
    if isinstance(model, MaskedModel):
        model.inner.save_pretrained(path)
        return
    settings = {"architectures": ["BertForPreTraining"], "model_type": "bert", "dtype": "float32"}
    (path / "model.safetensors").write_bytes(packed(model.state_dict(), {"format": "pt"}))
    write_json(path / "config.json", {**settings, "pad_token_id": recipe.parts[0].shards.special.pad, **recipe.model.identity()})


def _remove(directory: Path) -> None:
    remove(directory.rename(directory.with_name(f"{TEMPORARY_PREFIX}{directory.name}")))  # hides a partly removed checkpoint


def restore(directory: Path, learner: Learner) -> State:
    """Restore a learner from a checkpoint. Return its state."""
    try:
        state = decode(read_json(directory / "state.json"), State)
        if isinstance(learner.model, MaskedModel):
            learner.model.load(directory)
        else:
            learner.model.load_state_dict(load_file(directory / "model.safetensors"))
        learner.optimizer.load_state_dict(load_file(directory / "optimizer.safetensors"))
        learner.scaler.load_state_dict(state.scaler)
    except (WrongValue, SafetensorError, OSError, RuntimeError) as error:
        advice = "remove this checkpoint, and the run continues from the one before"
        raise VerificationError(f"{directory} is missing or damaged ({error}): {advice}") from error
    return state

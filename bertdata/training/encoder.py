"""Plan and build the model of a run, which `transformers` defines: from a table of settings, a configuration, or weights.

    encoder = plan_encoder(config, shards, packed=False)  # checks the model against the rows, without memory for weights
    model = encoder.build()

Rows with labels of pairs train `BertForPreTraining` or `AlbertForPreTraining`. All others train the masked-language model of the
configuration.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ..config import OBJECTIVES
from ..config.train import TrainConfig
from ..dataset.rows import Shards
from ..errors import UsageError, did_you_mean
from ..extras import missing_package
from ..storage.files import digest
from ..storage.model_directory import model_directory
from .models import Target, target_of

_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_PAIRS = {"bert": "BertForPreTraining", "albert": "AlbertForPreTraining"}  # classes with a head for pairs
_FLASH = "flash_attention_2"
_PASS = "Pass the directory of a model that save_pretrained wrote"


class Encoder(NamedTuple):
    """A model that is not built yet."""

    name: str  # its name or directory, or an empty string for a table of settings
    config: Any  # of `transformers`
    target: Target
    parameters: int  # their number
    weights: Path | None  # the directory of the weights to continue from, or None for new weights
    notes: tuple[str, ...]  # messages for the user

    @property
    def shape(self) -> str:
        """The class of the model, and where it comes from."""
        new = f"new weights, configuration of {self.name}" if self.name else "new weights"
        return f"{self.target.name}, {f'continued from {self.name}' if self.weights else new}"

    def identity(self) -> dict[str, object]:
        """Return the facts that determine the first weights, apart from the seed."""
        different = {k: v for k, v in self.config.to_diff_dict().items() if k not in ("transformers_version", "dtype")}
        weights = [digest(path) for path in _weights(self.weights)] if self.weights else []
        return {**json.loads(json.dumps(different)), "class": self.target.name, "weights": weights}

    def build(self) -> Any:
        """Return the model, in float32. Draw new weights from torch's global generator."""
        import torch

        cls = _class_of(self.config, self.target.name)
        options: dict[str, Any] = {"dtype": torch.float32, "attn_implementation": self.target.attention}
        if self.weights is None:
            return cls._from_config(self.config, **options)
        model = cls.from_pretrained(self.weights, trust_remote_code=False, **options)
        if self.config.vocab_size > model.config.vocab_size:
            model.resize_token_embeddings(self.config.vocab_size)
        return model


def plan_encoder(config: TrainConfig, shards: Shards, *, packed: bool) -> Encoder:
    """Read the configuration of the model, and check it against the rows."""
    try:
        import torch
        from transformers.utils import is_flash_attn_2_available, logging
    except ImportError as error:
        raise missing_package(f"training needs {error.name}", "train", error) from None
    logging.disable_progress_bar()  # of loading and saving, which would mix with the messages of a run
    name = config.init_from or (config.model if isinstance(config.model, str) else "")
    directory = model_directory(name, weights=bool(config.init_from)) if name else None
    settings = _read(name, directory, config) if directory else _from_table(dict(config.model))  # type: ignore[arg-type]
    notes, size = [], settings.vocab_size
    if config.init_from and directory:
        _check_vocabulary(name, directory, shards)
        size = max(size, shards.vocab_size)
    else:
        given = isinstance(config.model, dict) and "vocab_size" in config.model
        size = max(size, shards.vocab_size) if given else shards.vocab_size
        _set_special(settings, shards)
    if name and size != settings.vocab_size:
        notes.append(f"the embeddings are resized from {settings.vocab_size:,} to {size:,} tokens, the vocabulary of the rows")
    settings.vocab_size = size
    flash = config.unpadded and torch.cuda.is_available() and is_flash_attn_2_available()
    if flash:
        settings._attn_implementation = _FLASH
    elif config.unpadded:
        notes.append("rows are padded, because training without padding needs a GPU and the package flash-attn")
    pairs = bool(OBJECTIVES[shards.objective].labels)
    try:
        # On the "meta" device, a model has shapes and no memory. So a wrong model is found before the
        # training starts, without its weights.
        cls = _class_of(settings, _PAIRS.get(settings.model_type, "") if pairs else "")
        with torch.device("meta"):
            model = cls._from_config(settings, dtype=torch.float32)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{name or 'model'}: transformers cannot build the model ({error}). Correct its settings") from error
    target = target_of(model)
    if packed or flash:
        target.check_packed(flash)
    return Encoder(name, settings, target, model.num_parameters(), directory if config.init_from else None, tuple(notes))


def _read(name: str, directory: Path, config: TrainConfig) -> Any:
    """Read config.json of a model."""
    from transformers import AutoConfig

    if config.init_from and not _weights(directory):
        raise UsageError(f"{name}: no {' or '.join(_WEIGHTS)} found. {_PASS}")
    try:
        return AutoConfig.from_pretrained(directory, trust_remote_code=False)
    except (ValueError, OSError, KeyError) as error:
        raise UsageError(f"{name}: transformers cannot read config.json ({error}). {_PASS}") from error


def _from_table(table: dict[str, Any]) -> Any:
    """Return the configuration of the table [model], whose keys are those of the configuration of `model_type`."""
    from transformers import AutoConfig

    kind = table.pop("model_type", "bert")
    try:
        known = AutoConfig.for_model(kind).to_dict().keys() | {"attn_implementation"}
    except ValueError as error:
        raise UsageError(f"model.model_type: transformers has no model {kind!r}", field="model_type", value=kind) from error
    if unknown := sorted(table.keys() - known):
        raise UsageError(f"unknown key model.{unknown[0]}{did_you_mean(unknown[0], sorted(known))}", field=unknown[0])
    try:
        return AutoConfig.for_model(kind, **table)
    except Exception as error:  # the class of the error depends on the version
        problem = " ".join(str(error).split())
        raise UsageError(f"model: transformers rejects these settings of {kind!r} ({problem}). Correct them") from error


def _class_of(config: Any, name: str) -> Any:
    """Return a class of `transformers` by name, or the class of masked-language models for a configuration."""
    import transformers

    if name and hasattr(transformers, name):
        return getattr(transformers, name)
    try:
        return transformers.MODEL_FOR_MASKED_LM_MAPPING[type(config)]
    except KeyError as error:
        raise ValueError(f"no masked-language model of type {config.model_type}") from error


def _weights(directory: Path) -> list[Path]:
    return sorted({path for pattern in _WEIGHTS for path in directory.glob(pattern)})


def _set_special(config: Any, shards: Shards) -> None:
    """Set the ids of special tokens that a configuration has to those of the rows."""
    config.pad_token_id = shards.special.pad
    for role, ours in (("cls", "cls"), ("sep", "sep"), ("bos", "cls"), ("eos", "sep")):
        if getattr(config, f"{role}_token_id", None) is not None:
            setattr(config, f"{role}_token_id", getattr(shards.special, ours))


def _check_vocabulary(name: str, directory: Path, shards: Shards) -> None:
    """Raise UsageError unless each token of the model has the same id in the rows."""
    # Rows made with another vocabulary would train without an error, and each embedding would belong to a wrong token.
    from transformers import AutoTokenizer

    ids = AutoTokenizer.from_pretrained(directory, trust_remote_code=False).get_vocab()
    for token, number in sorted(ids.items(), key=lambda item: item[1]):
        ours = shards.pieces[number] if number < len(shards.pieces) else None
        if ours != token:
            wrong = f"{name}: token {number} is {token!r}, and in the rows of {shards.paths[0]} it is {ours!r}"
            raise UsageError(f"{wrong}. Make the rows with --vocab {name}")

"""Read a masked-language model of `transformers`: its configuration for new weights, or its weights to continue from.

    source = read("ModernBERT-base", shards, weights=True)  # a directory, or a model of the Hugging Face Hub
    model = source.build(shards)                            # source.target describes its arguments

The ids of the rows must be those of the model's tokenizer.  For another vocabulary, `new_vocabulary` copies the embeddings of
tokens in both vocabularies, and each other token gets the mean embedding of its pieces in the old tokenizer: "tokenizer" starts
as the mean of "token" and "##izer".
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from ..dataset.rows import Shards
from ..errors import UsageError
from ..extras import missing_package
from ..pieces import BEGINS, ROLES, bare, continues_word
from ..storage.files import digest
from ..storage.model_directory import model_directory
from .models import MODELS, ModelClass, Target, target_of

__all__ = ["Pretrained", "read"]

_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_AFTER_PADDING = ("roberta", "xlm-roberta")  # their trained positions begin after the padding's id, so the id must stay


class Pretrained(NamedTuple):
    """A model that is not built yet.

    `notes` are messages for the user. `vocab_size` is the number of embeddings that the model gets.
    """

    name: str
    directory: Path
    config: Any
    target: Target
    parameters: int
    vocab_size: int
    weights: bool
    new_vocabulary: bool
    notes: tuple[str, ...]

    @property
    def max_position_embeddings(self) -> int:
        """The number of tokens of the longest row."""
        return self.target.max_positions - (1 + self.target.padding if self.target.takes.after_padding else 0)

    @property
    def shape(self) -> str:
        """The class of the model, and where it comes from."""
        return f"{self.target.name}, {'continued from' if self.weights else 'new weights, configuration of'} {self.name}"

    def identity(self) -> dict[str, object]:
        """Return the facts that determine the first weights, apart from the seed."""
        text = json.dumps(_settings(self.config), sort_keys=True)
        config = hashlib.sha256(text.encode()).hexdigest()
        weights = [digest(path) for path in _weights(self.directory)] if self.weights else []
        return {"class": self.target.name, "config": config, "weights": weights}

    def build(self, shards: Shards) -> Any:
        """Return the model, in float32. Draw new weights from torch's global generator."""
        import torch
        from transformers import AutoModelForMaskedLM

        if not self.weights:
            return AutoModelForMaskedLM.from_config(self.config, dtype=torch.float32)
        options: dict[str, object] = {"dtype": torch.float32, "attn_implementation": self.target.attention}
        model = AutoModelForMaskedLM.from_pretrained(self.directory, trust_remote_code=False, **options)
        if self.new_vocabulary:
            _move_embeddings(model, self.directory, shards)
            _set_special(model.config, shards, pad=not self.target.takes.after_padding)
        elif self.vocab_size > model.config.vocab_size:
            model.resize_token_embeddings(self.vocab_size)
        return model


def read(path: str, shards: Shards, *, weights: bool, new_vocabulary: bool = False, flash: bool = False) -> Pretrained:
    """Read the configuration of a directory, and check it against the rows.

    Args:
        path: The directory of a model of `transformers`, with its tokenizer if `weights`. Without weights, a
            config.json is enough. Or the name of a model of the Hugging Face Hub, which is downloaded.
        shards: The rows.
        weights: Continue from the weights. Otherwise, start from random weights, with the vocabulary of the rows.
        new_vocabulary: Move the embeddings to the vocabulary of the rows.
        flash: Use flash attention if this machine has it, for batches without padding.
    """
    directory = model_directory(path, weights=weights)
    if not (directory / "config.json").is_file() and (weights or not directory.is_file()):
        raise UsageError(f"{path}: no config.json found. Pass the directory of a model that save_pretrained wrote")
    if weights and not _weights(directory):
        raise UsageError(f"{path}: no {' or '.join(_WEIGHTS)} found. Pass the directory of a model that save_pretrained wrote")
    try:
        from transformers import AutoConfig, AutoTokenizer
    except ImportError as error:
        raise missing_package("training a model of transformers needs transformers", "train", error) from None
    try:
        # Read only the configuration here, and build the model on the "meta" device, which has
        # shapes and no memory. So a wrong model is found before the training starts, without
        # loading its weights.
        config = AutoConfig.from_pretrained(directory, trust_remote_code=False)
    except (ValueError, OSError, KeyError) as error:
        raise UsageError(f"{path}: transformers cannot read config.json ({error}). Check the directory") from error
    notes, size = [], shards.vocab_size
    if weights and not new_vocabulary:
        # The weights expect the ids of their own vocabulary. Rows made with another vocabulary
        # would train without an error, and each embedding would belong to a wrong token.
        ids = AutoTokenizer.from_pretrained(directory, trust_remote_code=False).get_vocab()
        _check_vocabulary(path, ids, shards)
        size = max(config.vocab_size, shards.vocab_size)
    if size != config.vocab_size:
        notes.append(f"the embeddings are resized from {config.vocab_size:,} to {size:,} tokens, the vocabulary of the rows")
    if new_vocabulary or not weights:
        _set_special(config, shards, pad=not (weights and config.model_type in _AFTER_PADDING))
    config.vocab_size = size
    target, parameters = _examine(path, config, flash)
    target.check(shards, unpadded=target.unpadded_only)
    return Pretrained(path, directory, config, target, parameters, size, weights, new_vocabulary, tuple(notes))


def _weights(directory: Path) -> list[Path]:
    return sorted({path for pattern in _WEIGHTS for path in directory.glob(pattern)})


def _set_special(config: Any, shards: Shards, *, pad: bool) -> None:
    """Set the ids of special tokens that a configuration has to those of the rows."""
    for role, ours in (("cls", "cls"), ("sep", "sep"), ("bos", "cls"), ("eos", "sep"), ("pad", "pad")):
        if pad if role == "pad" else getattr(config, f"{role}_token_id", None) is not None:
            setattr(config, f"{role}_token_id", getattr(shards.special, ours))


def _settings(config: Any) -> dict[str, object]:
    return {name: value for name, value in config.to_diff_dict().items() if name not in ("transformers_version", "dtype")}


def _examine(path: str, config: Any, flash: bool) -> tuple[Target, int]:
    """Return what the model takes, and its number of parameters, from a model without memory."""
    import torch
    from transformers import AutoModelForMaskedLM
    from transformers.utils import is_flash_attn_2_available, logging

    logging.disable_progress_bar()  # of loading and saving, which would mix with the messages of a run

    if flash and torch.cuda.is_available() and is_flash_attn_2_available():
        config._attn_implementation = "flash_attention_2"
    try:
        with torch.device("meta"):
            model = AutoModelForMaskedLM.from_config(config, dtype=torch.float32)
    except ValueError as error:
        raise UsageError(f"{path}: transformers has no masked-language model for it ({error}). Use another model") from error
    # A class without a test of packed rows gets the arguments that all classes take, and no packed rows.
    takes = MODELS.get(type(model).__name__, ModelClass(packed=False))
    target = target_of(model, takes)
    return target, model.num_parameters()


def _check_vocabulary(path: str, ids: dict[str, int], shards: Shards) -> None:
    """Raise UsageError unless each token of the model has the same id in the rows."""
    pieces, rows = shards.pieces, shards.paths[0]
    fix = f"Make the rows with --vocab {path}, or set new_vocabulary = true"
    for token, number in sorted(ids.items(), key=lambda item: item[1]):
        if number >= len(pieces):
            raise UsageError(f"{path}: its tokenizer has {len(ids)} tokens, and the rows of {rows} have {len(pieces)}. {fix}")
        if pieces[number] != token:
            raise UsageError(f"{path}: token {number} is {token!r}, and in the rows of {rows} it is {pieces[number]!r}. {fix}")


def _move_embeddings(model: Any, directory: Path, shards: Shards) -> None:
    """Move the embeddings of the model to the vocabulary of the rows."""
    import torch
    from transformers import AutoTokenizer

    old, pieces, special = AutoTokenizer.from_pretrained(directory, trust_remote_code=False), shards.pieces, shards.special
    ids, unknown = old.get_vocab(), old.unk_token_id
    # For each token of the new vocabulary, `sources` lists old tokens whose mean embedding it gets:
    #
    # 1. a special token gets the one with the same role ([CLS] from <s>);
    # 2. a token that both vocabularies have gets its own embedding, if they mark words alike;
    # 3. any other token is split by the old tokenizer, and gets the mean of these tokens;
    # 4. a token that the old tokenizer cannot split gets the mean of all embeddings.
    named = {getattr(special, role): getattr(old, f"{role}_token_id") for role in ROLES}
    same_marks = special.mark == _mark_of(ids)
    sources: list[list[int]] = []
    for number, piece in enumerate(pieces):
        if number in named and named[number] is not None:
            sources.append([named[number]])
        elif same_marks and piece in ids:
            sources.append([ids[piece]])
        else:
            space = "" if continues_word(piece, special.mark) else " "
            found = old(space + bare(piece, special.mark), add_special_tokens=False).input_ids
            sources.append([each for each in found if each != unknown])
    every = torch.arange(model.config.vocab_size)

    def moved(values: Any) -> Any:
        return torch.stack([values[torch.tensor(each) if each else every].mean(0) for each in sources])

    with torch.no_grad():
        embeddings = moved(model.get_input_embeddings().weight)
        head = model.get_output_embeddings()
        weight, bias = (None if each is None else moved(each) for each in (head.weight, getattr(head, "bias", None)))
        model.resize_token_embeddings(len(pieces), mean_resizing=False)
        head = model.get_output_embeddings()
        for values, now in ((head.weight, weight), (head.bias, bias), (model.get_input_embeddings().weight, embeddings)):
            if now is not None:
                values.copy_(now)


def _mark_of(ids: dict[str, int]) -> str:
    """Return the mark of a vocabulary's tokens that begin or continue words."""
    return max(("##", *BEGINS), key=lambda mark: sum(token.startswith(mark) for token in ids))

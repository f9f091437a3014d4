"""Describe the models of `transformers` that batches can be made for, and check that rows suit a model.

    target = target_of(transformers.GPT2LMHeadModel(config))
    target.check(shards)  # raises UsageError: masked rows would teach a causal model nothing useful

A model of `transformers` ignores most arguments that it does not know, so a batch for another class often produces a meaningless
loss.  `MODELS` lists the classes for which a test shows that each document of a packed row gets the logits that it gets alone.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple

from ..config import OBJECTIVES
from ..dataset.rows import Shards
from ..errors import UsageError
from .epoch_plan import BatchFormat

__all__ = ["CUSTOM", "MODELS", "ModelClass", "Target", "target_for", "target_of"]

CUSTOM = "custom"  # the value of `for_model` for batches that the caller's own code reads


class ModelClass(NamedTuple):
    """The arguments of one class of `transformers`, and the rows that it learns from."""

    causal: bool = False  # predicts each next token; the others predict masked tokens
    pair_label: str = ""  # the argument for the label of a pair, if the class needs one
    segments: bool = False  # takes `token_type_ids`
    positions: bool = True  # takes `position_ids`; RoFormer's positions are relative, so they can count on over documents
    after_padding: bool = False  # the first position is `pad_token_id + 1`, not 0
    packed: bool = True  # documents of a row can be kept apart


_ROBERTA = ModelClass(after_padding=True)
MODELS = {
    "BertForPreTraining": ModelClass(pair_label="next_sentence_label", segments=True),
    "BertForMaskedLM": ModelClass(segments=True),
    "RobertaForMaskedLM": _ROBERTA,
    "XLMRobertaForMaskedLM": _ROBERTA,
    "AlbertForPreTraining": ModelClass(pair_label="sentence_order_label", segments=True),
    "AlbertForMaskedLM": ModelClass(segments=True),
    "DistilBertForMaskedLM": ModelClass(),
    "ElectraForMaskedLM": ModelClass(segments=True),
    "ModernBertForMaskedLM": ModelClass(),
    "EuroBertForMaskedLM": ModelClass(),
    "RoFormerForMaskedLM": ModelClass(segments=True, positions=False),
    "DebertaV2ForMaskedLM": ModelClass(segments=True, packed=False),
    "GPT2LMHeadModel": ModelClass(causal=True),
}


class Target(NamedTuple):
    """The model that batches are made for.  It has no weights, so worker processes get a small copy."""

    name: str
    takes: ModelClass
    attention: str = ""  # `attn_implementation` of the model; empty if only the name of the class is known
    dtype: Any = None  # torch.dtype of the scores, to which eager attention adds its mask
    window: int | None = None  # how far layers with sliding attention see, to each side; None if there are no such layers
    max_positions: int = 0
    vocab_size: int = 0
    padding: int = 0  # `pad_token_id`

    @property
    def unpadded_only(self) -> bool:
        """Whether the model keeps documents apart by where they begin, as flash attention does, and not by a mask."""
        return self.attention.startswith("flash_attention")

    def check(self, shards: Shards, *, unpadded: bool = False) -> None:
        """Raise UsageError if the model cannot learn from these rows, or would learn something else than they are for."""
        objective = OBJECTIVES[shards.objective]
        self._check(objective.masks, bool(objective.labels), shards.packed, unpadded)
        if not self.attention:
            return
        if shards.vocab_size > self.vocab_size:
            raise self._error(f"its vocab_size is {self.vocab_size}, and the rows have {shards.vocab_size} tokens", "Increase it")
        needed = shards.max_seq_length + (1 + self.padding if self.takes.after_padding else 0)
        if needed > self.max_positions:
            wrong = (
                f"its max_position_embeddings is {self.max_positions}, and rows of {shards.max_seq_length} tokens need {needed}"
            )
            raise self._error(wrong, "Increase it, or make shorter rows")
        if self.takes.after_padding and self.padding != shards.special.pad:
            wrong = f"it counts positions from its pad_token_id {self.padding}, and the rows are padded with {shards.special.pad}"
            raise self._error(wrong, f"Set pad_token_id={shards.special.pad} in its configuration")

    def check_batch(self, batch: Container[str]) -> None:
        """Raise UsageError unless this is a batch of the loader from which the model's arguments can be made."""
        unpadded, packed = "cu_seqlens" in batch, "document_ids" in batch
        if "position_ids" in batch and not (unpadded or packed):
            raise self._error("the batch is already made for a model", "Pass it to the model as it is")
        if "labels" not in batch:
            raise self._error("the batch has no `labels`", "Pass for_model=model to bertdata.batches")
        # Only batches of causal rows have no segments.
        self._check("token_type_ids" in batch, "next_sentence_label" in batch, packed, unpadded)

    def _check(self, masked: bool, pairs: bool, packed: bool, unpadded: bool) -> None:
        """Raise UsageError for rows of another objective, or in a form that the model cannot read."""
        takes = self.takes
        if masked and takes.causal:
            raise self._error("it predicts each next token, and these rows are masked", "Make rows with --objective causal")
        if not masked and not takes.causal:
            raise self._error("it predicts masked tokens, and causal rows have none", "Use a model such as GPT2LMHeadModel")
        if takes.pair_label and not pairs:
            other = self.name.replace("ForPreTraining", "ForMaskedLM")
            raise self._error("it needs labels of pairs, and these rows have none", f"Use {other}, or rows of --objective nsp")
        if not packed and not unpadded:
            return
        if not takes.packed:
            raise self._error("it cannot keep the documents of packed rows apart", "Make rows without --pack, and pad them")
        if takes.pair_label:
            raise self._error("it reads one pair per row, and these rows have several", "Make rows without --pack, and pad them")
        if not self.attention:
            raise self._error("packed or unpadded rows need the model's configuration, too", "Pass the model, not its class")
        if self.unpadded_only and not unpadded:
            raise self._error(f"{self.attention} cannot keep documents apart in padded batches", "Use BatchFormat(unpadded=True)")
        if not self.unpadded_only and self.attention not in ("sdpa", "eager"):
            wrong = f"packed rows do not work with attn_implementation {self.attention!r}"
            raise self._error(wrong, 'Use "sdpa", "eager" or "flash_attention_2"')

    def _error(self, wrong: str, fix: str) -> UsageError:
        return UsageError(f"for_model {self.name}: {wrong}. {fix}")


def target_of(model: Any, takes: ModelClass | None = None) -> Target:
    """Return what batches need to know of a model of `transformers`, of its class, or of the name of its class.

    Args:
        model: The model, its class or the name of its class.
        takes: The arguments of a class that may be missing in `MODELS`.

    Raises:
        UsageError: The class is not in `MODELS`.
    """
    if isinstance(model, Target):
        return model
    bases = (model if isinstance(model, type) else type(model)).__mro__
    names = [model] if isinstance(model, str) else [base.__name__ for base in bases]
    name = names[0] if takes else next((each for each in names if each in MODELS), None)
    if name is None:
        fix = f'Use one of {", ".join(MODELS)}, or for_model="{CUSTOM}" if your own code makes its arguments'
        raise UsageError(f"for_model {names[0]}: this class is not supported. {fix}")
    takes = takes or MODELS[name]
    if isinstance(model, str | type):
        return Target(name, takes)
    config = model.config
    if getattr(config, "is_decoder", False):
        raise UsageError(f"for_model {name}: is_decoder=True is not supported. Use GPT2LMHeadModel for causal rows")
    slides = "sliding_attention" in (getattr(config, "layer_types", None) or ())
    return Target(
        name,
        # A configuration with one segment, as RoBERTa's, has no embedding for a second one.
        takes._replace(segments=getattr(config, "type_vocab_size", 0) > 1),
        attention=getattr(config, "_attn_implementation", None) or "eager",
        dtype=model.dtype,
        window=config.sliding_window if slides else None,
        max_positions=config.max_position_embeddings,
        vocab_size=config.vocab_size,
        padding=config.pad_token_id or 0,
    )


def target_for(model: Any, shards: Shards, format: BatchFormat) -> Target | None:
    """Return the model of `transformers` that batches of `shards` are for, or None if other code reads them.

    Raises:
        UsageError: The rows and the model do not go together, or rows are packed and nothing says what reads them.
    """
    if model not in (None, CUSTOM):
        target = target_of(model)
        target.check(shards, unpadded=format.unpadded)
        return target
    has_labels = format.dense_labels or not OBJECTIVES[shards.objective].masks
    if model is None and shards.packed and has_labels and not format.unpadded:
        # A model of `transformers` would take such a batch, ignore `document_ids`, and return a loss that looks right.
        wrong = "these rows are packed, and a model that does not separate their documents would train on mixed ones"
        fix = f'Pass for_model=model for a model of transformers, or for_model="{CUSTOM}" if your code reads `document_ids`'
        raise UsageError(f"{shards.paths[0]}: {wrong}. {fix}")
    return None

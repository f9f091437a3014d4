"""Describe a model of `transformers` by the parameters of its `forward` and its configuration, and check that rows suit it.

    target = target_of(transformers.GPT2LMHeadModel(config))
    target.check(shards)  # raises UsageError: masked rows would teach a causal model nothing useful

A model of `transformers` ignores most arguments that it does not know, so a batch for another class often produces a meaningless
loss. For packed rows, a test must show that a document gets the logits that it gets alone.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from ..config import OBJECTIVES
from ..dataset.rows import Shards
from ..errors import UsageError

CUSTOM = "custom"  # the value of `for_model` for batches that the caller's own code reads
_SEPARATE = ("Bert", "Roberta", "XLMRoberta", "Albert", "DistilBert", "Electra", "ModernBert", "EuroBert", "RoFormer")
# Classes for which a test shows that the documents of a packed row do not affect each other
SEPARATES_DOCUMENTS = {*(f"{model}ForMaskedLM" for model in _SEPARATE), "BertForPreTraining", "GPT2LMHeadModel"}
_PAIR_LABELS = ("next_sentence_label", "sentence_order_label")


class Target(NamedTuple):
    """The model that batches are made for. It has no weights, so worker processes get a small copy."""

    name: str  # of the class
    parameters: frozenset[str]  # of `forward`
    config: Any = None  # or None if only the class is known
    dtype: Any = None  # of the scores, to which eager attention adds its mask
    after_padding: bool = False  # whether the first position is `pad_token_id + 1`, as in RoBERTa, and not 0

    @property
    def causal(self) -> bool:
        """Whether the model predicts each next token."""
        return self.name.endswith(("LMHeadModel", "ForCausalLM"))

    @property
    def pair_label(self) -> str:
        """The parameter for the label of a pair, or an empty string."""
        return next((name for name in _PAIR_LABELS if name in self.parameters), "")

    @property
    def has_segments(self) -> bool:
        """Whether the model distinguishes segments A and B."""
        if self.config is None:  # of RoBERTa's classes, most models do not
            return "token_type_ids" in self.parameters and "Roberta" not in self.name
        return "token_type_ids" in self.parameters and getattr(self.config, "type_vocab_size", 0) > 1

    @property
    def attention(self) -> str:
        """The implementation of attention."""
        return getattr(self.config, "_attn_implementation", None) or "eager"

    @property
    def flash(self) -> bool:
        """Whether start positions separate documents, as in flash attention, and not a mask."""
        return self.attention.startswith("flash_attention")

    @property
    def padding(self) -> int:
        """The id of the padding."""
        return self.config.pad_token_id or 0

    @property
    def max_tokens(self) -> int:
        """The number of tokens of the longest row."""
        return int(self.config.max_position_embeddings) - (1 + self.padding if self.after_padding else 0)

    def check(self, shards: Shards, *, unpadded: bool = False) -> None:
        """Raise UsageError if the model cannot learn from these rows, or would learn something else than they are for."""
        objective = OBJECTIVES[shards.objective]
        if objective.masks and self.causal:
            raise self._error("it predicts each next token, and these rows are masked", "Make rows with --objective causal")
        if not objective.masks and not self.causal:
            raise self._error("it predicts masked tokens, and causal rows have none", "Use a model such as GPT2LMHeadModel")
        if self.pair_label and not objective.labels:
            other = self.name.replace("ForPreTraining", "ForMaskedLM")
            raise self._error("it needs labels of pairs, and these rows have none", f"Use {other}, or rows of --objective nsp")
        if shards.packed or unpadded:
            if self.pair_label:
                raise self._error("it reads one pair per row, and these have several", "Make rows without --pack, and pad them")
            self.check_packed(unpadded)
        if self.config is None:
            return
        if shards.vocab_size > self.config.vocab_size:
            wrong = f"its vocab_size is {self.config.vocab_size}, and the rows have {shards.vocab_size} tokens"
            raise self._error(wrong, "Increase it")
        if shards.max_seq_length > self.max_tokens:
            wrong = f"its max_position_embeddings allows rows of {self.max_tokens} tokens, and these have {shards.max_seq_length}"
            raise self._error(wrong, "Increase it, or make shorter rows")
        if self.after_padding and self.padding != shards.special.pad:
            wrong = f"it counts positions from its pad_token_id {self.padding}, and the rows are padded with {shards.special.pad}"
            raise self._error(wrong, f"Set pad_token_id={shards.special.pad} in its configuration")

    def check_packed(self, unpadded: bool) -> None:
        """Raise UsageError if the model cannot separate the documents of packed or unpadded rows."""
        if self.name not in SEPARATES_DOCUMENTS:
            raise self._error("it is not tested with packed or unpadded rows", "Make rows without --pack, and pad them")
        if self.config is None:
            raise self._error("packed or unpadded rows need the model's configuration, too", "Pass the model, not its class")
        if self.flash and not unpadded:
            raise self._error(f"{self.attention} cannot separate documents in padded batches", "Use unpadded=True")
        if not self.flash and self.attention not in ("sdpa", "eager"):
            wrong = f"packed rows do not work with attn_implementation {self.attention!r}"
            raise self._error(wrong, 'Use "sdpa", "eager" or "flash_attention_2"')

    def _error(self, wrong: str, fix: str) -> UsageError:
        return UsageError(f"for_model {self.name}: {wrong}. {fix}")


def target_of(model: Any) -> Target:
    """Return what batches need to know of a model of `transformers`, of its class, or of the name of its class."""
    if isinstance(model, Target):
        return model
    cls = model if isinstance(model, type) else type(model)
    if isinstance(model, str):
        import transformers

        cls = getattr(transformers, model, object)
    forward = getattr(cls, "forward", None)
    names = frozenset(inspect.signature(forward).parameters) if forward else frozenset()
    # A user's class behaves like its base in transformers: a subclass of BertForMaskedLM separates documents as well.
    bases = [base.__name__ for base in cls.__mro__]
    name = next((base for base in bases if base in SEPARATES_DOCUMENTS), model if isinstance(model, str) else bases[0])
    target = Target(name, names)
    if "labels" not in names or not (target.causal or target.pair_label or name.endswith("ForMaskedLM")):
        fix = f'Use a …ForMaskedLM, …ForPreTraining or …LMHeadModel, or for_model="{CUSTOM}" if your own code makes its arguments'
        raise UsageError(f"for_model {name}: this class is not supported. {fix}")
    if isinstance(model, str | type):
        return target
    after_padding = any(
        name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
        for name, module in model.named_modules()
    )
    return target._replace(config=model.config, dtype=model.dtype, after_padding=after_padding)


def target_for(model: Any, shards: Shards, *, unpadded: bool, dense_labels: bool) -> Target | None:
    """Return the model of `transformers` that batches of `shards` are for, checked, or None if other code reads them."""
    if model not in (None, CUSTOM):
        target = target_of(model)
        target.check(shards, unpadded=unpadded)
        return target
    if model is None and shards.packed and dense_labels and not unpadded:
        # A model of `transformers` would take such a batch, ignore `document_ids`, and return a loss that looks right.
        wrong = "these rows are packed, and a model that does not separate their documents would train on mixed ones"
        fix = f'Pass for_model=model for a model of transformers, or for_model="{CUSTOM}" if your code reads `document_ids`'
        raise UsageError(f"{shards.paths[0]}: {wrong}. {fix}")
    return None

"""Make the arguments of a model of `transformers` from a batch, with separate attention for each document of a packed row.

    for batch in bertdata.batches(shards, 8, for_model=model):  # the loader builds the masks on the CPU
        loss = model(**batch).loss
    for batch in bertdata.batches(shards, 8, for_model="custom"):  # you build the masks on the model's device
        loss = model(**attention.for_transformers({name: values.to(device) for name, values in batch.items()}, model)).loss

With SDPA or eager attention, models of `transformers` let the documents of a row attend to each other, even if `position_ids`
start again at 0. They need a mask with a value for each pair of positions: B L² values for B rows of L positions, or 67 million
for a row of 8,192. For rows of that length, use unpadded batches and flash attention.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .models import Target, target_of

ModelArguments = dict[str, Any]  # of a model of `transformers`, which may have a mask for each kind of layer


def block_mask(document_ids: Tensor, *, max_distance: int | None = None, causal: bool = False) -> Tensor:
    """Return a mask [B, 1, L, L] that is True where a position (dimension 2) attends to another one (dimension 3).

    Args:
        document_ids: Number of each token's document within its row [B, L], from 1 on. Padding has the number 0 and attends
            only to padding, so that no row of the mask is empty.
        max_distance: Maximum distance in tokens, or None for no limit.
        causal: Whether a position attends only to itself and earlier positions, as in GPT.
    """
    # The mask of a row with document ids 1 1 2 2 0, where x is True:
    #
    #        1 1 2 2 0
    #     1  x x . . .
    #     1  x x . . .
    #     2  . . x x .
    #     2  . . x x .
    #     0  . . . . x      padding attends to padding: softmax over an empty row would be NaN
    allowed = document_ids[:, None, :, None] == document_ids[:, None, None, :]
    positions = torch.arange(document_ids.shape[1], device=document_ids.device)
    distances = positions[:, None] - positions[None, :]
    if max_distance is not None:
        allowed &= distances.abs() <= max_distance
    if causal:
        allowed &= distances >= 0
    return allowed


def documents_of(cu_seqlens: Tensor) -> Tensor:
    """Return the segment number of each token of an unpadded batch, from 1 on, [1, T]."""
    sizes = cu_seqlens.diff().long()
    return torch.repeat_interleave(torch.arange(1, len(sizes) + 1, device=cu_seqlens.device), sizes)[None]


def for_transformers(batch: dict[str, Any], model: Any) -> ModelArguments:
    """Return the arguments of a model of `transformers`. Raise UsageError if its class is not supported.

    Args:
        batch: A batch of the loader with ``labels``, on the model's device. It can be packed, unpadded, or both.
        model: The model, without DistributedDataParallel or torch.compile.

    Returns:
        ``input_ids``, ``labels`` and the other arguments of the class. For packed rows, ``attention_mask`` is
        [B, 1, L, L]: booleans for SDPA, and values to add to the scores for eager attention. For a model with two kinds of
        layers, such as ModernBERT, it is a dict with a mask for each kind. For flash attention with an unpadded batch, the start
        positions of documents replace the mask.
    """
    target, rows = target_of(model), _with_rows(batch)
    arguments = {**inputs(batch, target), "labels": rows["labels"]}
    return arguments | ({target.pair_label: batch["next_sentence_label"]} if target.pair_label else {})


def inputs(batch: dict[str, Any], target: Target) -> ModelArguments:
    """Return the arguments of a model except its labels."""
    rows = _with_rows(batch)
    arguments: ModelArguments = {"input_ids": rows["input_ids"]}
    if target.has_segments and "token_type_ids" in batch:
        arguments["token_type_ids"] = rows["token_type_ids"]
    # One document per row: the usual mask of tokens and padding is enough.
    if "cu_seqlens" not in batch and "document_ids" not in batch:
        return {**arguments, "attention_mask": batch["attention_mask"]}
    documents = documents_of(batch["cu_seqlens"]) if "cu_seqlens" in batch else batch["document_ids"]
    if "position_ids" in target.parameters:
        positions = rows["position_ids"]
        if target.after_padding:  # RoBERTa's first position is `pad_token_id + 1`
            positions = torch.where(documents > 0, positions + target.padding + 1, target.padding)
        arguments["position_ids"] = positions
    if target.flash:
        for side in ("q", "k"):
            arguments |= {f"cu_seq_lens_{side}": batch["cu_seqlens"], f"max_length_{side}": batch["max_seqlen"]}
        return arguments
    return {**arguments, "attention_mask": _masks(documents, target)}


def unpadded(batch: dict[str, Tensor]) -> dict[str, Any]:
    """Concatenate the rows of a padded batch with ``masked_lm_positions``, which become indices [1, B P] of the result."""
    # For example, rows of 3 and 2 tokens at L = 4 become 5 tokens. Positions in the second row move by 3 (`begins`), and
    # `tokens` are the indices [0, 1, 2, 4, 5] in the padded batch.
    is_token = batch["attention_mask"].bool()  # [B, L]
    sizes, tokens = is_token.sum(1), is_token.flatten().nonzero()[:, 0]
    begins = (sizes.cumsum(0) - sizes)[:, None]  # first token of each row
    starts = batch.get("document_starts", torch.zeros_like(begins))
    used = starts > 0  # unused entries of `document_starts` are 0, and so is entry 0, which is always used
    used[:, 0] = True
    flat = {"position_ids": torch.arange(is_token.shape[1], device=is_token.device).expand_as(is_token), **batch}
    names = ("input_ids", "token_type_ids", "position_ids")
    cu_seqlens = torch.cat([(starts + begins)[used], sizes.sum()[None]]).int()
    return {
        **{name: flat[name].flatten()[tokens] for name in names},
        "masked_lm_positions": (batch["masked_lm_positions"] + begins).view(1, -1),
        "cu_seqlens": cu_seqlens,
        "max_seqlen": int(cu_seqlens.diff().max()),
    }


def _with_rows(batch: dict[str, Any]) -> dict[str, Any]:
    """Return a batch whose tokens have a dimension for rows [1, T], also if it is unpadded."""
    names = ("input_ids", "token_type_ids", "position_ids", "labels")
    return {name: batch[name][None] if "cu_seqlens" in batch else batch[name] for name in names if name in batch}


def _masks(documents: Tensor, target: Target) -> Tensor | dict[str, Tensor]:
    """Return the mask of all layers, or of each kind of layer."""

    def mask(max_distance: int | None) -> Tensor:
        allowed = block_mask(documents, max_distance=max_distance, causal=target.causal)
        if target.attention == "sdpa":
            return allowed
        # Eager attention adds the mask to the scores: 0 where allowed, the lowest number elsewhere.
        added = torch.zeros(allowed.shape, dtype=target.dtype, device=allowed.device)
        return added.masked_fill_(~allowed, torch.finfo(target.dtype).min)

    if "sliding_attention" not in (getattr(target.config, "layer_types", None) or ()):
        return mask(None)
    return {"full_attention": mask(None), "sliding_attention": mask(target.config.sliding_window)}

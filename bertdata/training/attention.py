"""Masks that keep the parts of packed rows from seeing each other, for this project's model and for those of `transformers`.

    batch = next(iter(loader.batches(shards, 8, dense_labels=True)))
    model(**attention.for_transformers(batch, model.config)).loss

In `transformers` attention by SDPA or eager attention lets the parts of a row see each other even where `position_ids` begin
anew; only a mask of each pair of positions does not.  Such a mask of B rows of L positions has B L² values: 67 million a row at
8,192 positions.  There `flex`, or unpadded batches and flash attention (`for_flash_attention`), is the way.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["attend", "block_mask", "documents_of", "flex", "for_flash_attention", "for_transformers"]


def attend(query: Tensor, key: Tensor, value: Tensor, allowed: Any, dropout: float) -> Tensor:
    """Return what each position takes from those it may see; all but the mask are [B, H, L, D / H].

    `allowed` is a mask of Booleans for SDPA, or a BlockMask, with which there can be no dropout; a GPU compiles that.
    """
    if isinstance(allowed, Tensor):
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed, dropout_p=dropout)
    if dropout:
        raise ValueError("attention by blocks has no dropout: use attention_probs_dropout_prob 0")
    return _flex_attention(query.is_cuda)(query, key, value, block_mask=allowed)  # type: ignore[no-any-return]


@cache
def _flex_attention(compiled: bool) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False) if compiled else flex_attention


def block_mask(document_ids: Tensor, *, reach: int | None = None) -> Tensor:
    """Return which positions see which, [B, 1, L, L]: those of one part, at most `reach` positions apart where it is given.

    Padding, of number 0, sees padding and nothing else, so that no row of the mask is empty.
    """
    allowed = document_ids[:, None, :, None] == document_ids[:, None, None, :]
    if reach is not None:
        positions = torch.arange(document_ids.shape[1], device=document_ids.device)
        allowed &= (positions[:, None] - positions[None, :]).abs() <= reach
    return allowed


def flex(document_ids: Tensor) -> Any:
    """Return the same as a BlockMask for `torch.nn.attention.flex_attention`, which leaves out what no position sees."""
    from torch.nn.attention.flex_attention import create_block_mask

    def sees(row: Tensor, head: Tensor, position: Tensor, other: Tensor) -> Tensor:
        return document_ids[row, position] == document_ids[row, other]

    rows, length = document_ids.shape
    return create_block_mask(sees, rows, None, length, length, device=str(document_ids.device))


def documents_of(cu_seqlens: Tensor) -> Tensor:
    """Return the number of the part, from 1 on, that each token of an unpadded batch is of, [1, T]."""
    sizes = cu_seqlens.diff().long()
    return torch.repeat_interleave(torch.arange(1, len(sizes) + 1, device=cu_seqlens.device), sizes)[None]


def for_transformers(batch: dict[str, Any], config: Any, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """Return the arguments of a model of `transformers` with sdpa or eager attention, so that no part sees another.

    Args:
        batch: Packed rows with ``labels``, padded or not, as the loader gives them.
        config: The model's; of one whose layers differ in how far they see, as ModernBERT's, each kind gets its mask.
        dtype: Of the model's weights; masks are added to its scores.

    Returns:
        ``input_ids``, ``position_ids``, ``attention_mask``, ``labels`` and, where the model has them, ``token_type_ids``.
    """
    flat = "cu_seqlens" in batch
    ids = documents_of(batch["cu_seqlens"]) if flat else batch["document_ids"]

    def added(reach: int | None) -> Tensor:
        seen = block_mask(ids, reach=reach)
        return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, torch.finfo(dtype).min)

    names = ["input_ids", "position_ids", "labels", *(["token_type_ids"] if getattr(config, "type_vocab_size", 0) else [])]
    arguments = {name: batch[name][None] if flat else batch[name] for name in names}
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        return {**arguments, "attention_mask": {"full_attention": added(None), "sliding_attention": added(config.sliding_window)}}
    return {**arguments, "attention_mask": added(None)}


def for_flash_attention(batch: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a model of `transformers` with flash attention for an unpadded batch of the loader.

    They are those of its DataCollatorWithFlattening: ``input_ids``, ``labels`` and ``position_ids`` [1, T], and where parts lie.
    """
    arguments = {name: batch[name][None] for name in ("input_ids", "labels", "position_ids")}
    for side in ("q", "k"):
        arguments |= {f"cu_seq_lens_{side}": batch["cu_seqlens"], f"max_length_{side}": batch["max_seqlen"]}
    return arguments

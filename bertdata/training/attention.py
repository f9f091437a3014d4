"""Make attention masks that keep the parts of packed rows apart, for this project's model and for those of `transformers`.

    batch = next(iter(loader.batches(shards, 8, dense_labels=True)))
    model(**attention.for_transformers(batch, model.config)).loss

In `transformers` attention by SDPA or eager attention lets the parts of a row see each other even where `position_ids` begin
anew; only a mask of each pair of positions does not.  Such a mask of B rows of L positions has B L² values: of 8,192, 67 million
for each row.  There `flex`, or unpadded batches and flash attention (`for_flash_attention`), is the way.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._compile import _disable_dynamo
from torch.nn import functional

__all__ = [
    "Parts",
    "Turn",
    "attend",
    "block_mask",
    "documents_of",
    "flex",
    "for_bert",
    "for_flash_attention",
    "for_transformers",
    "turn_of",
    "turned",
]

_BASE = 10000.0  # of rotary positions: RoFormer's
_HALF = (torch.float16, torch.bfloat16)  # what flash attention computes in
_VARLEN = find_spec("torch.nn.attention.varlen") is not None  # torch 2.10 and later


class Parts(NamedTuple):
    """Where the parts of an unpadded batch begin, and its end, [K + 1] in int32; no part is longer than `longest`."""

    starts: Tensor
    longest: int


class Turn(NamedTuple):
    """Sine and cosine, [B, 1, L, S / 2], of the angles by which each pair of a head's S values is turned at each position."""

    sine: Tensor
    cosine: Tensor


def turn_of(ids: Tensor, positions: Tensor | None, size: int) -> Turn:
    """Return how heads of `size` are turned at `positions` [B, L], or where these are None at those of `ids` from 0 on."""
    positions = torch.arange(ids.shape[1], device=ids.device)[None] if positions is None else positions
    angles = positions[:, None, :, None] * _BASE ** (torch.arange(0, size, 2, device=positions.device) / -size)
    return Turn(angles.sin(), angles.cos())


def turned(values: Tensor, sine: Tensor, cosine: Tensor) -> Tensor:
    """Turn each pair of neighbours among the values [B, H, L, S], in float32 (RoFormer: Su et al. 2021)."""
    one, other = values.float()[..., ::2], values.float()[..., 1::2]
    return torch.stack([one * cosine - other * sine, other * cosine + one * sine], -1).flatten(-2).to(values.dtype)


def attend(query: Tensor, key: Tensor, value: Tensor, allowed: Any, dropout: float) -> Tensor:
    """Return what each position takes from those it may see; all but `allowed` are [B, H, L, D / H].

    `allowed` is a mask of Booleans for SDPA; or a BlockMask, with which there can be no dropout, and which a GPU compiles; or
    the `Parts` of an unpadded batch, each of which sees itself.
    """
    if isinstance(allowed, Tensor):
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed, dropout_p=dropout)
    if isinstance(allowed, Parts):
        if _VARLEN and query.is_cuda and query.dtype in _HALF and not dropout:
            return _varlen(query, key, value, allowed)
        return _one_by_one(query, key, value, allowed.starts, dropout)
    if dropout:
        raise ValueError("attention by blocks has no dropout: use attention_probs_dropout_prob 0")
    compiled = query.is_cuda and not torch.compiler.is_compiling()
    return _flex_attention(compiled)(query, key, value, block_mask=allowed)  # type: ignore[no-any-return]


def _varlen(query: Tensor, key: Tensor, value: Tensor, parts: Parts) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    query, key, value = (values[0].transpose(0, 1).contiguous() for values in (query, key, value))
    output: Any = varlen_attn(query, key, value, parts.starts, parts.starts, parts.longest, parts.longest)
    return output.transpose(0, 1)[None]  # type: ignore[no-any-return]


@_disable_dynamo  # or it would be compiled for each number of parts; torch.compiler.disable imports the compiler, a second
def _one_by_one(query: Tensor, key: Tensor, value: Tensor, starts: Tensor, dropout: float) -> Tensor:
    """Attention of each part by itself; there is no mask, so it takes no more than the parts alone would."""
    sizes = starts.diff().tolist()
    each = zip(*(torch.split(values, sizes, 2) for values in (query, key, value)), strict=True)
    return torch.cat([functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout) for q, k, v in each], 2)


@cache
def _flex_attention(compiled: bool) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False) if compiled else flex_attention


def block_mask(document_ids: Tensor, *, reach: int | None = None) -> Tensor:
    """Return whether each position sees each other one, [B, 1, L, L]: those of one part, at most `reach` away, if that is given.

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


def for_bert(batch: dict[str, Tensor], *, unpadded: bool = False, dropout: bool = False) -> dict[str, Any]:
    """Return the arguments of `trainer.model.BertForPreTraining`, in which no part sees another.

    Args:
        batch: Of the loader, padded, with ``masked_lm_positions``, packed or not.
        unpadded: Leave padding out: what is [B, L] is [1, T], and the logits are [1, B P, V] and, of pairs, [1, B D, 2].
        dropout: Whether attention has dropout, with which packed rows get a mask of each pair of positions on a GPU, too.
    """
    names = {"ids": "input_ids", "types": "token_type_ids", "positions": "masked_lm_positions"}
    arguments: dict[str, Any] = {argument: batch[name] for argument, name in names.items()}
    arguments |= {name: batch[name] for name in ("position_ids", "document_starts") if name in batch}
    if unpadded:
        return _flat(arguments, batch["attention_mask"].bool())
    if (numbers := batch.get("document_ids")) is None:
        return {**arguments, "attention": batch["attention_mask"]}
    return {**arguments, "attention": flex(numbers) if numbers.is_cuda and not dropout else block_mask(numbers)}


def _flat(padded: dict[str, Any], seen: Tensor) -> dict[str, Any]:
    """Put what `for_bert` has found of padded rows end to end; `seen` [B, L] is True where a token is."""
    sizes, tokens = seen.sum(1), seen.flatten().nonzero()[:, 0]
    begins = (sizes.cumsum(0) - sizes)[:, None]  # of rows among the tokens
    starts = padded.get("document_starts", torch.zeros_like(begins))
    used = starts > 0
    used[:, 0] = True
    positions = padded.get("position_ids", torch.arange(seen.shape[1], device=seen.device).expand_as(seen))
    flat = {
        name: (values + begins).view(1, -1) for name, values in (("positions", padded["positions"]), ("document_starts", starts))
    }
    for name, values in (("ids", padded["ids"]), ("types", padded["types"]), ("position_ids", positions)):
        flat[name] = values.flatten()[tokens][None]
    bounds = torch.cat([flat["document_starts"][0, used.flatten()], sizes.sum()[None]]).int()
    return {**flat, "attention": Parts(bounds, seen.shape[1])}


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

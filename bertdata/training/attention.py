"""Make attention masks that keep the documents of packed rows apart, for this project's model and for those of `transformers`.

    for batch in loader.batches(shards, 8, for_model=model):  # on the CPU
        loss = model(**batch).loss
    for batch in loader.batches(shards, 8, for_model="custom", dense_labels=True):  # on the model's device, which makes the masks
        loss = model(**attention.for_transformers({name: values.to(device) for name, values in batch.items()}, model)).loss

With SDPA or eager attention, the models of `transformers` let the documents of a row see each other, even if `position_ids` start
again at 0.  They need a mask with a value for each pair of positions: B L² values for B rows of L positions, or 67 million for a
row of 8,192.  For rows of that length use `flex`, or unpadded batches and flash attention.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._compile import _disable_dynamo
from torch.nn import functional

from ..errors import UsageError
from .models import Target, target_of

__all__ = [
    "Parts",
    "Turn",
    "attend",
    "block_mask",
    "documents_of",
    "flex",
    "for_bert",
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


def block_mask(document_ids: Tensor, *, reach: int | None = None, causal: bool = False) -> Tensor:
    """Return a mask [B, 1, L, L] that is True where a position (dimension 2) sees another one (dimension 3).

    Args:
        document_ids: The number of each token's document in its row [B, L].  Padding has the number 0 and sees only padding,
            so that no row of the mask is empty.
        reach: How many tokens away a position sees at most.
        causal: A position sees no later one, as in GPT.
    """
    allowed = document_ids[:, None, :, None] == document_ids[:, None, None, :]
    positions = torch.arange(document_ids.shape[1], device=document_ids.device)
    distances = positions[:, None] - positions[None, :]
    if reach is not None:
        allowed &= distances.abs() <= reach
    if causal:
        allowed &= distances >= 0
    return allowed


def flex(document_ids: Tensor, *, causal: bool = False) -> Any:
    """Return the mask of `block_mask` as a BlockMask for `torch.nn.attention.flex_attention`, which skips masked blocks."""
    from torch.nn.attention.flex_attention import create_block_mask

    def sees(row: Tensor, head: Tensor, position: Tensor, other: Tensor) -> Tensor:
        same = document_ids[row, position] == document_ids[row, other]
        return same & (position >= other) if causal else same

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


def for_transformers(batch: dict[str, Any], model: Any) -> dict[str, Any]:
    """Return the arguments of a model of `transformers`, in which no document of a packed row sees another.

    Args:
        batch: Of the loader, on the device of the model, with ``labels``; packed or not, padded or not.
        model: The model, of a class in `bertdata.training.models.MODELS`, before DistributedDataParallel or torch.compile.

    Returns:
        ``input_ids``, ``labels`` and the other arguments that the class takes.  For packed rows ``attention_mask`` is
        [B, 1, L, L], of Booleans for SDPA and of numbers to add to the scores for eager attention; for a model with two kinds
        of layers, such as ModernBERT, it is a dict with a mask for each kind.  For flash attention and an unpadded batch the
        places where documents begin replace it.

    Raises:
        UsageError: The class is not supported, or the batch is not for it.
    """
    target = target_of(model)
    target.check_batch(batch)
    takes, flat = target.takes, "cu_seqlens" in batch
    names = {"input_ids": "input_ids", "labels": "labels"}  # of the model's argument -> of the batch's tensor
    if takes.segments:
        names["token_type_ids"] = "token_type_ids"
    if takes.pair_label:
        names[takes.pair_label] = "next_sentence_label"
    arguments: dict[str, Any] = {name: batch[source][None] if flat else batch[source] for name, source in names.items()}
    if not flat and "document_ids" not in batch:
        return {**arguments, "attention_mask": batch["attention_mask"]}
    documents = documents_of(batch["cu_seqlens"]) if flat else batch["document_ids"]
    if takes.positions:
        arguments["position_ids"] = _positions(batch["position_ids"][None] if flat else batch["position_ids"], documents, target)
    elif documents.shape[1] > target.max_positions:
        wrong = f"max_position_embeddings is {target.max_positions}, and the batch has rows of {documents.shape[1]} tokens"
        raise UsageError(f"for_model {target.name}: {wrong}. Use padded batches, or increase it")
    if target.unpadded_only:
        for side in ("q", "k"):
            arguments |= {f"cu_seq_lens_{side}": batch["cu_seqlens"], f"max_length_{side}": batch["max_seqlen"]}
        return arguments
    return {**arguments, "attention_mask": _masks(documents, target)}


def _positions(positions: Tensor, documents: Tensor, target: Target) -> Tensor:
    """Return positions as the model counts them: RoBERTa's begin after the position of padding, which is its `pad_token_id`."""
    if not target.takes.after_padding:
        return positions
    return torch.where(documents > 0, positions + target.padding + 1, target.padding)


def _masks(documents: Tensor, target: Target) -> Tensor | dict[str, Tensor]:
    """Return the mask of all layers, or of each kind of layer."""

    def mask(reach: int | None) -> Tensor:
        seen = block_mask(documents, reach=reach, causal=target.takes.causal)
        if target.attention == "sdpa":
            return seen
        added = torch.zeros(seen.shape, dtype=target.dtype, device=seen.device)
        return added.masked_fill_(~seen, torch.finfo(target.dtype).min)

    if target.window is None:
        return mask(None)
    return {"full_attention": mask(None), "sliding_attention": mask(target.window)}

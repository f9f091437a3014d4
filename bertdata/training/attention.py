"""Build attention masks that separate the documents of packed rows, for this project's model and for `transformers` models.

    for batch in loader.batches(shards, 8, for_model=model):  # the loader builds the masks on the CPU
        loss = model(**batch).loss
    for batch in loader.batches(shards, 8, for_model="custom", dense_labels=True):  # you build the masks on the model's device
        loss = model(**attention.for_transformers({name: values.to(device) for name, values in batch.items()}, model)).loss

With SDPA or eager attention, `transformers` models let the documents of a row attend to each other, even if `position_ids` start
again at 0. They need a mask with a value for each pair of positions: B L² values for B rows of L positions, or 67 million for a
row of 8,192. For rows of that length, use `flex`, or unpadded batches and flash attention.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple, TypedDict

import torch
from torch import Tensor
from torch._compile import _disable_dynamo
from torch.nn import functional

from ..errors import UsageError
from .models import Target, target_of

__all__ = [
    "Parts",
    "attend",
    "block_mask",
    "documents_of",
    "flex",
    "for_bert",
    "for_masked_positions",
    "for_transformers",
]

ModelArguments = dict[str, Tensor | dict[str, Tensor]]  # of a `transformers` model, which may have a mask for each kind of layer
_HALF_TYPES = (torch.float16, torch.bfloat16)  # dtypes that flash attention supports
_VARLEN = find_spec("torch.nn.attention.varlen") is not None  # torch 2.10 and later


class Parts(NamedTuple):
    """The boundaries of the K segments in an unpadded batch.

    Attributes:
        starts: Start of each segment, then the number of tokens, [K + 1] in int32, as in `cu_seqlens`.
        longest: Upper bound of the segment lengths.
    """

    starts: Tensor
    longest: int


class _PackedRows(TypedDict, total=False):
    position_ids: Tensor
    document_starts: Tensor


class BertArguments(_PackedRows):
    """The arguments of `trainer.model.BertForPreTraining`. For rows of one document, `attention` is their `attention_mask`."""

    ids: Tensor
    types: Tensor
    positions: Tensor
    attention: Any


def attend(query: Tensor, key: Tensor, value: Tensor, allowed: Any, dropout: float) -> Tensor:
    """Return the attention output. Query, key, value and the output are [B, H, L, D / H].

    `allowed` is a boolean mask for SDPA, a BlockMask (no dropout; compiled on a GPU), or the `Parts` of an unpadded batch, where
    each segment attends only to itself.
    """
    # Three ways to separate documents:
    # 1. A boolean mask [B, 1, L, L]: works everywhere, and takes memory in proportion to L².
    # 2. `Parts`: no padding, and the boundaries of segments instead of a mask.
    # 3. A BlockMask of FlexAttention, which skips the blocks of the score matrix where no pair is allowed.
    if isinstance(allowed, Tensor):
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed, dropout_p=dropout)
    if isinstance(allowed, Parts):
        # Flash attention runs one kernel for all segments. It supports no dropout and needs half precision, and it is not
        # used for causal rows. All other cases use the loop over segments.
        if _VARLEN and query.is_cuda and query.dtype in _HALF_TYPES and not dropout:
            return _varlen(query, key, value, allowed)
        return _one_by_one(query, key, value, allowed, dropout)
    if dropout:
        raise ValueError("attention by blocks has no dropout: use attention_probs_dropout_prob 0")
    compiled = query.is_cuda and not torch.compiler.is_compiling()
    return _flex_attention(compiled)(query, key, value, block_mask=allowed)  # type: ignore[no-any-return]


def _varlen(query: Tensor, key: Tensor, value: Tensor, parts: Parts) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    # The kernel expects [T, H, D / H] without a batch dimension.
    query, key, value = (values[0].transpose(0, 1).contiguous() for values in (query, key, value))
    output: Any = varlen_attn(query, key, value, parts.starts, parts.starts, parts.longest, parts.longest)
    return output.transpose(0, 1)[None]  # type: ignore[no-any-return]


# Dynamo would recompile this for each number of segments. Importing torch.compiler.disable instead takes a second.
@_disable_dynamo
def _one_by_one(query: Tensor, key: Tensor, value: Tensor, parts: Parts, dropout: float) -> Tensor:
    """Compute attention one segment at a time. Without a mask, memory depends only on the segments."""
    # Exact and simple: split the tokens at the boundaries, attend within each segment, concatenate.
    sizes, attention = parts.starts.diff().tolist(), functional.scaled_dot_product_attention
    each = zip(*(torch.split(values, sizes, 2) for values in (query, key, value)), strict=True)
    return torch.cat([attention(q, k, v, dropout_p=dropout) for q, k, v in each], 2)


@cache
def _flex_attention(compiled: bool) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False) if compiled else flex_attention


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


def flex(document_ids: Tensor, *, causal: bool = False) -> Any:
    """Return the mask of `block_mask` as a BlockMask for `torch.nn.attention.flex_attention`, which skips masked blocks."""
    from torch.nn.attention.flex_attention import create_block_mask

    def is_allowed(row: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        same_document = document_ids[row, query] == document_ids[row, key]
        return same_document & (query >= key) if causal else same_document

    rows, length = document_ids.shape
    return create_block_mask(is_allowed, rows, None, length, length, device=str(document_ids.device))


def documents_of(cu_seqlens: Tensor) -> Tensor:
    """Return the segment number of each token of an unpadded batch, from 1 on, [1, T]."""
    sizes = cu_seqlens.diff().long()
    return torch.repeat_interleave(torch.arange(1, len(sizes) + 1, device=cu_seqlens.device), sizes)[None]


def for_bert(batch: dict[str, Tensor], *, unpadded: bool = False, dropout: bool = False) -> BertArguments:
    """Return the arguments of `trainer.model.BertForPreTraining`, with separate attention for each segment.

    Args:
        batch: A padded batch of the loader with ``masked_lm_positions``, packed or not.
        unpadded: Remove padding: [B, L] becomes [1, T], and the logits are [1, B P, V] and, for pairs, [1, B D, 2].
        dropout: Whether attention has dropout. With dropout, packed padded rows on a GPU use a dense mask.
    """
    if unpadded:
        return _flat(batch)
    ids, types, positions = (batch[name] for name in ("input_ids", "token_type_ids", "masked_lm_positions"))
    arguments = BertArguments(ids=ids, types=types, positions=positions, attention=batch["attention_mask"])
    if "document_starts" in batch:
        arguments |= {"position_ids": batch["position_ids"], "document_starts": batch["document_starts"]}
    if "document_ids" in batch:
        masks = flex if ids.is_cuda and not dropout else block_mask
        arguments["attention"] = masks(batch["document_ids"])
    return arguments


def _flat(batch: dict[str, Tensor]) -> BertArguments:
    """Return the arguments of `for_bert` without padding, and with the rows concatenated."""
    # For example, rows of 3 and 2 tokens at L = 4 become 5 tokens. Positions in the second row move by 3 (`begins`), and
    # `tokens` are the indices [0, 1, 2, 4, 5] in the padded batch.
    is_token = batch["attention_mask"].bool()  # [B, L]
    sizes, tokens = is_token.sum(1), is_token.flatten().nonzero()[:, 0]
    begins = (sizes.cumsum(0) - sizes)[:, None]  # first token of each row
    starts = batch.get("document_starts", torch.zeros_like(begins))
    # Unused entries of `document_starts` are 0. Entry 0 is always used, and its start is 0 too.
    used = starts > 0
    used[:, 0] = True
    position_ids = batch.get("position_ids", torch.arange(is_token.shape[1], device=is_token.device).expand_as(is_token))
    positions, starts = ((values + begins).view(1, -1) for values in (batch["masked_lm_positions"], starts))
    ids, types, position_ids = (
        values.flatten()[tokens][None] for values in (batch["input_ids"], batch["token_type_ids"], position_ids)
    )
    # All segment starts of all rows, then the total, as flash attention expects (cu_seqlens).
    parts = Parts(torch.cat([starts[0, used.flatten()], sizes.sum()[None]]).int(), is_token.shape[1])
    return BertArguments(
        ids=ids, types=types, positions=positions, attention=parts, position_ids=position_ids, document_starts=starts
    )


def for_transformers(batch: dict[str, Tensor], model: Any) -> ModelArguments:
    """Return the arguments of a `transformers` model, with separate attention for each document of a packed row.

    Args:
        batch: A batch of the loader with ``labels``, on the model's device. It can be packed, unpadded, or both.
        model: A model whose class is in `bertdata.training.models.MODELS`, without DistributedDataParallel or torch.compile.

    Returns:
        ``input_ids``, ``labels`` and the other arguments of the class. For packed rows, ``attention_mask`` is
        [B, 1, L, L]: booleans for SDPA, and values to add to the scores for eager attention. For a model with two kinds of
        layers, such as ModernBERT, it is a dict with a mask for each kind. For flash attention with an unpadded batch, the start
        positions of documents replace the mask.

    Raises:
        UsageError: The class of the model is not supported, or does not support this batch.
    """
    target = target_of(model)
    target.check_batch(batch)
    takes, flat = target.takes, "cu_seqlens" in batch
    # Classes of transformers differ in their arguments: segment ids, the name of the pair label, positions. `takes` says which
    # of them the class supports.
    names = {"input_ids": "input_ids", "labels": "labels"}  # model argument -> tensor of the batch
    if takes.segments:
        names["token_type_ids"] = "token_type_ids"
    if takes.pair_label:
        names[takes.pair_label] = "next_sentence_label"
    arguments: ModelArguments = {name: batch[source][None] if flat else batch[source] for name, source in names.items()}
    # One document per row: the usual mask of tokens and padding is enough.
    if not flat and "document_ids" not in batch:
        return {**arguments, "attention_mask": batch["attention_mask"]}
    documents = documents_of(batch["cu_seqlens"]) if flat else batch["document_ids"]
    if takes.positions:
        arguments["position_ids"] = _positions(batch["position_ids"][None] if flat else batch["position_ids"], documents, target)
    elif documents.shape[1] > target.max_positions:
        problem = f"max_position_embeddings is {target.max_positions}, but the batch has rows of {documents.shape[1]} tokens"
        raise UsageError(f"for_model {target.name}: {problem}. Use padded batches, or increase max_position_embeddings")
    if target.unpadded_only:
        for side in ("q", "k"):
            arguments |= {f"cu_seq_lens_{side}": batch["cu_seqlens"], f"max_length_{side}": batch["max_seqlen"]}
        return arguments
    return {**arguments, "attention_mask": _masks(documents, target)}


def for_masked_positions(batch: dict[str, Tensor], target: Target) -> ModelArguments:
    """Return the arguments of `trainer.model.MaskedModel` for a padded batch of the loader with ``masked_lm_positions``."""
    positions = batch["masked_lm_positions"]
    if target.unpadded_only:
        flat = for_bert(batch, unpadded=True)
        positions, (starts, longest, *_) = flat["positions"], flat["attention"]
        kept = {name: batch[name] for name in ("causal",) if name in batch}
        tokens = {"input_ids": flat["ids"][0], "token_type_ids": flat["types"][0], "position_ids": flat["position_ids"][0]}
        batch = {**kept, **tokens, "cu_seqlens": starts, "max_seqlen": longest}
    arguments = for_transformers({**batch, "labels": batch["input_ids"]}, target)
    del arguments["labels"]
    return {**arguments, "positions": positions}


def _positions(positions: Tensor, documents: Tensor, target: Target) -> Tensor:
    """Return positions in the model's numbering: RoBERTa's start at `pad_token_id + 1`."""
    if not target.takes.after_padding:
        return positions
    return torch.where(documents > 0, positions + target.padding + 1, target.padding)


def _masks(documents: Tensor, target: Target) -> Tensor | dict[str, Tensor]:
    """Return the mask of all layers, or of each kind of layer."""

    def mask(max_distance: int | None) -> Tensor:
        allowed = block_mask(documents, max_distance=max_distance, causal=target.takes.causal)
        if target.attention == "sdpa":
            return allowed
        # Eager attention adds the mask to the scores: 0 where allowed, the lowest number elsewhere.
        added = torch.zeros(allowed.shape, dtype=target.dtype, device=allowed.device)
        return added.masked_fill_(~allowed, torch.finfo(target.dtype).min)

    if target.window is None:
        return mask(None)
    return {"full_attention": mask(None), "sliding_attention": mask(target.window)}

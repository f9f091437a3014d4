"""Load training batches: a plain DataLoader of masked and padded tensors that can start at any step immediately.

    shards = bertdata.Shards("pairs-128")
    for batch in bertdata.batches(shards, 256, start_step=1000, workers=2, for_model=model):  # a model of transformers
        loss = model(**batch).loss

The rows of a step and their masks depend only on the seed and the step: they are the same with any number of workers, and
all ranks share one global batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dataset.rows import Shards
from ..extras import missing_package
from ..storage.process import obey_parent
from .masks import MaskConfig

try:
    import torch

    from .batches import Batches
    from .passes import Loader, Steps
except ImportError as error:  # pragma: no cover
    raise missing_package("bertdata.training.loader needs PyTorch", "train", error) from None


def batches(
    shards: Shards,
    batch_size: int,
    *,
    seed: int = 12345,
    rank: int = 0,
    world_size: int = 1,
    start_step: int = 0,
    steps: int | None = None,
    whole: bool = False,
    masks: MaskConfig | None = None,
    for_model: Any = None,
    widths: Sequence[int] = (),
    unpadded: bool = False,
    dense_labels: bool = True,
    workers: int = 0,
    pin_memory: bool = False,
) -> Loader:
    """Return a loader of the batches from `start_step` on. Each pass over it is an epoch, or `steps` steps.

    Args:
        shards: The rows.
        batch_size: Rows of the global batch. Each rank gets an equal share.
        seed: Seed of the order and of the masks.
        rank: Number of this process, from 0 on.
        world_size: Number of processes.
        start_step: The first step. A step is a global batch; steps are counted over all epochs.
        steps: Number of steps, which may span epochs. With None, a pass ends with its epoch, and the next pass is the next epoch.
        whole: For evaluation: the remaining rows form a last, short batch, so an epoch has every row. Every pass has the
            same rows with the masks of epoch 0.
        masks: Masking options. Default: as in BERT. Static masks are used unchanged.
        for_model: A `transformers` model, its class or the name of its class. Batches have the arguments of the model, and
            unsuitable rows raise an error. Packed rows need the model itself, or ``"custom"`` if your code separates their
            documents.
        widths: Widths that batches are padded to. Default: four equal steps up to the longest row, or the longest row for packed
            rows.
        unpadded: Concatenate rows, or the segments of packed rows, without padding.
        dense_labels: Whether padded batches have ``labels`` for all positions. Otherwise they have ``masked_lm_positions`` and
            ``masked_lm_labels`` [B, P], padded with 0 and -100, where P is the same for all batches of one width.
        workers: Number of reader processes, or 0 to read in this process.
        pin_memory: As in a DataLoader.

    A batch is a dict of int64 tensors: ``input_ids``, ``token_type_ids``, ``attention_mask`` and ``labels`` [B, L], with
    -100 where nothing is predicted; and for pairs ``next_sentence_label`` [B]. Causal rows have no ``token_type_ids``.

    Packed rows also have ``position_ids`` [B, L], counted from 0 in each segment; ``document_ids`` [B, L], the segment number
    from 1 on, and 0 for padding; ``document_starts`` [B, D], padded with 0; and labels of pairs [B, D], padded with -100.

    An unpadded batch has ``input_ids``, ``token_type_ids``, ``position_ids`` and ``labels`` [T]; ``cu_seqlens`` [K + 1] in int32,
    the starts of the K segments followed by T; ``max_seqlen``, the number of tokens of the longest segment; and for pairs
    ``next_sentence_label`` [K].

    ``loader.dataset.plan`` has the epoch and rows of a step. ``loader.state_dict()`` and ``load_state_dict`` store and restore
    the position, and ``set_epoch`` moves it.
    """
    # A DataLoader usually has three parts: a dataset of rows, a sampler that shuffles them, and a
    # function that collates rows to batches. Here an item of the dataset is a finished batch,
    # because the plan decides everything: which rows, in which order, at which width. The sampler
    # only counts steps, and there is nothing to collate. Workers and pinned memory are PyTorch's
    # own.
    dataset = Batches(
        shards, batch_size, seed=seed, rank=rank, world_size=world_size, whole=whole, masks=masks, for_model=for_model,
        widths=widths, unpadded=unpadded, dense_labels=dense_labels,
    )  # fmt: skip
    return Loader(
        dataset,
        Steps(dataset.plan.batches, start_step, steps, repeat=whole, world_size=world_size),
        num_workers=workers,
        pin_memory=pin_memory,
        worker_init_fn=obey_parent if workers else None,
        generator=torch.Generator(),  # else passes draw from the global one, and a resumed run has other dropout
    )

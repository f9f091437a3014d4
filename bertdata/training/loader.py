"""Load batches to train on: a plain DataLoader of masked and padded tensors, which starts at any step at once.

    shards = bertdata.Shards("pairs-128")
    for batch in loader.batches(shards, 256, start_step=1000, workers=2, for_model=model):  # a model of transformers
        loss = model(**batch).loss

The rows of a step and their masks are a function of the seed and the step: they are the same with any number of workers, and
the ranks of any world share one global batch among them.  Shards of a store are fetched by the workers, ahead of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..config import OBJECTIVES
from ..dataset.shards import Shards
from ..errors import UsageError
from ..extras import missing_package
from ..io.process import obey_parent
from ..labels import IGNORED
from .ahead import StepsAhead
from .masks import MaskConfig, Masker
from .models import Target, target_for
from .plan import Batch
from .unpadded import Arrays, segments, unpad
from .windows import plan_of

try:
    import torch
    from torch.utils.data import Dataset, get_worker_info

    from .steps import HOW_TO, Loader, Steps
except ImportError as error:  # pragma: no cover
    raise missing_package("bertdata.training.loader needs PyTorch", "train", error) from None

from .attention import for_transformers

__all__ = ["Batches", "MaskConfig", "batches"]

Tensors = dict[str, torch.Tensor]


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
    widths: Sequence[int] | None = None,
    masks: MaskConfig | None = None,
    dense_labels: bool = False,
    for_model: Any = None,
    unpadded: bool = False,
    workers: int = 0,
    pin_memory: bool = False,
) -> Loader:
    """Return a loader of the batches from `start_step` on: each pass over it is an epoch, or `steps` steps.

    Args:
        shards: The rows.
        batch_size: Of the global batch, of which `rank` gets its share.
        seed: Of the order and of the masks.
        rank: Which process this is, from 0 on.
        world_size: Of how many.
        start_step: The first step.  A step is a global batch; steps are counted over all epochs.
        steps: Number of steps, which may run over many epochs; after them the loader is used up, and another pass raises
            UsageError.  None: a pass ends with its epoch, and the next pass continues with the next epoch.
        whole: Rows that do not fill a batch form a last, short one, of each window of `shards`, so that an epoch has every row:
            for evaluation.  Every pass has the same rows with the same masks, those of epoch 0.
        widths: What batches are padded to; if not given, four equal steps up to the longest row, and of packed rows the longest.
        masks: How rows are masked; as in BERT if not given.  Static masks are served as they are.
        dense_labels: See below.
        for_model: A model of `transformers`, or the name of its class, such as ``"BertForPreTraining"``.  Batches have the
            arguments of the model (`training.attention.for_transformers`), and other rows are refused.  Packed
            rows need the model itself, or ``"custom"``: then your code keeps their documents apart.
        unpadded: The parts of rows, or rows that are not packed, lie end to end.
        workers: Processes that read; 0: this one does.
        pin_memory: As of a DataLoader.

    A batch is a dict of int64 tensors: ``input_ids``, ``token_type_ids``, ``attention_mask`` [B, L], of pairs
    ``next_sentence_label`` [B], and ``masked_lm_positions``, ``masked_lm_labels`` [B, P] (not used: 0, `IGNORED`), or instead of
    these, with `dense_labels`, ``labels`` [B, L] (`IGNORED`, -100, where nothing is predicted).  Of the objective causal,
    ``input_ids``, ``attention_mask`` and ``labels``.  P is the same for all batches of one width.

    Packed rows also have ``position_ids`` [B, L], from 0 in each part, and ``document_ids`` [B, L], the number of the part from 1
    on, 0 being padding, of which `training.attention` makes masks; ``document_starts`` [B, D], 0 after the last; their labels of
    pairs are [B, D], -100 after the last.  D is the same for all batches of a window.

    An unpadded batch has ``input_ids``, ``token_type_ids``, ``position_ids`` and
    ``labels`` [T]; ``cu_seqlens`` [K + 1] in int32, where the K parts begin, and T; the number ``max_seqlen``, of tokens of the
    longest; of pairs ``next_sentence_label`` [K].

    ``loader.dataset.plan`` tells epoch and rows of a step, and how many rows an epoch leaves over.  ``loader.state_dict()`` and
    ``load_state_dict`` store and restore the position, ``set_epoch`` moves it, ``len(loader)`` is the number of steps of a pass.
    """
    if not isinstance(shards, Shards):
        raise UsageError(
            f"`shards` is {type(shards).__name__}: give bertdata.Shards(DIRECTORY)", field="shards", value=type(shards).__name__
        )
    options: dict[str, Any] = {"seed": seed, "rank": rank, "world_size": world_size, "whole": whole, "widths": widths}
    options |= {"dense_labels": dense_labels, "for_model": for_model}
    dataset = Batches(shards, batch_size, **options, masks=masks, unpadded=unpadded)
    return Loader(
        dataset,
        Steps(dataset.plan.batches, start_step, steps, repeat=whole, world_size=world_size),
        num_workers=workers,
        pin_memory=pin_memory,
        worker_init_fn=obey_parent if workers else None,
        generator=torch.Generator(),  # or each pass would draw from the global one, and a resumed run differ in its dropout
    )


class Batches(Dataset[Tensors]):
    """The batches of all epochs by step, or one rank's share of them; arguments as in `batches`."""

    def __init__(
        self,
        shards: Shards,
        batch_size: int,
        *,
        seed: int = 12345,
        rank: int = 0,
        world_size: int = 1,
        whole: bool = False,
        widths: Sequence[int] | None = None,
        masks: MaskConfig | None = None,
        dense_labels: bool = False,
        for_model: Any = None,
        unpadded: bool = False,
    ) -> None:
        masks = MaskConfig.or_default(masks)
        if not 0 <= rank < world_size or batch_size % world_size:
            raise UsageError(f"rank {rank} of {world_size}, global batches of {batch_size}: it must be a multiple of the ranks")
        masks.check(shards)
        self._target = target_for(for_model, shards, dense_labels, unpadded)
        options: dict[str, Any] = {"seed": seed, "rank": rank, "world_size": world_size, "whole": whole, "widths": widths}
        options |= {"masks": masks, "dense_labels": dense_labels, "for_model": self._target or for_model, "unpadded": unpadded}
        self._again = partial(Batches, shards, batch_size, **options)
        self._shards, self._rank, self._world_size, self._whole = shards, rank, world_size, whole
        self._form = "unpadded" if unpadded else "dense" if dense_labels or self._target else "sparse"
        self.plan = plan_of(shards, batch_size, seed=seed, widths=widths, whole=whole)
        self.masker = Masker(shards, masks, seed=seed, widest=self.plan.widths[-1])
        self._ahead = StepsAhead(self.plan, self._make, alone=masks.schedule.first != masks.schedule.last)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

    @property
    def identity(self) -> dict[str, Any]:
        """The rows, and the options that decide which of them a step has; not the ranks, which share a step's rows."""
        plan = self.plan
        rows, widths = self._shards.identity, list(plan.widths)
        return {"rows": rows, "batch_size": plan.batch_size, "widths": widths, "seed": plan.seed, "whole": self._whole}

    def __len__(self) -> int:
        """The number of rows in an epoch, as trainers report it; the dataset's items are batches, one for each step."""
        return len(self._shards) if self._whole else self.plan.batches * self.plan.batch_size

    def __getitems__(self, steps: Sequence[int]) -> list[Tensors]:
        """Return the batch of the step that `Steps` asks for, in a tuple; another sampler asks with a list."""
        if not isinstance(steps, tuple):
            raise UsageError(
                f"the dataset of a loader has whole batches, and cannot be batched again ({len(steps)} of them). Return the "
                f"loader from `get_train_dataloader` of the Trainer instead of passing `train_dataset`: {HOW_TO}"
            )
        return [self[step] for step in steps]

    def __getitem__(self, step: int) -> Tensors:
        """Return a step's batch; from a worker, narrow arrays go to the main process and become tensors there."""
        batch = self._ahead[step], self._form, self._target
        return _PickledBatch(*batch) if get_worker_info() else _tensors(*batch)  # type: ignore[return-value]

    def _make(self, batches: list[Batch]) -> list[Arrays]:
        """Return the arrays of this rank's share of some batches of one epoch and width."""
        mine = [batch.share(self._rank, self._world_size) for batch in batches]
        first, counts = mine[0], [len(batch.rows) for batch in mine]
        rows = np.concatenate([batch.rows for batch in mine])
        arrays = self._shards.gather(rows, first.width)
        continues = arrays.pop("continues_word", None)
        if not OBJECTIVES[self._shards.objective].masks:
            del arrays["token_type_ids"]
        elif self._shards.masking == "none":
            numbers = rows + np.concatenate([batch.copies for batch in mine]) * len(self._shards)
            masked, positions, labels = self.masker(arrays["input_ids"], numbers, continues, step=first.step, epoch=first.epoch)
            arrays |= {
                "input_ids": masked,
                "masked_lm_positions": positions.astype(np.uint16),
                "masked_lm_labels": labels.astype(np.int32),
            }
        if self._form == "unpadded":
            return unpad(arrays, counts)
        ends = np.cumsum([0, *counts]).tolist()
        return [{name: values[begin:end] for name, values in arrays.items()} for begin, end in pairwise(ends)]


class _PickledBatch:
    """A batch that a worker sends to the main process: arrays, which unpickle as tensors.

    PyTorch sends each tensor as an open file of shared memory, which takes longer, and open files may run out.
    """

    def __init__(self, *batch: Any) -> None:
        self._batch = batch

    def __reduce__(self) -> tuple[Any, ...]:
        return _tensors, self._batch


def _tensors(arrays: Arrays, form: str, target: Target | None) -> Tensors:
    """Turn arrays into a batch, and this into the arguments of a model, if it is for one."""
    tensors = _batch(arrays, form)
    return tensors if target is None else for_transformers(tensors, target)


def _flat_batch(arrays: Arrays) -> Tensors:
    """Turn the arrays of an unpadded batch into tensors, and add positions."""
    starts = arrays["cu_seqlens"].astype(np.int64)
    sizes = np.diff(starts)
    positions = np.arange(int(starts[-1]))
    positions -= np.repeat(starts[:-1], sizes)
    arrays = {**arrays, "position_ids": positions}
    tensors = {
        name: torch.from_numpy(values.astype(np.int64, copy=False)) for name, values in arrays.items() if name != "cu_seqlens"
    }
    tensors["cu_seqlens"] = torch.from_numpy(arrays["cu_seqlens"])
    return {**tensors, "max_seqlen": int(sizes.max(initial=0))}  # type: ignore[dict-item]


def _batch(arrays: Arrays, form: str) -> Tensors:
    """Turn arrays into tensors of int64, add positions, and turn masked positions into dense labels where they are wanted."""
    if form == "unpadded":
        return _flat_batch(arrays)
    tensors = {name: torch.from_numpy(values.astype(np.int64)) for name, values in arrays.items()}
    if "document_starts" in tensors:
        row, part = map(torch.from_numpy, segments(arrays, len(tensors["input_ids"])))
        starts = tensors["document_starts"][row, part]
        begins = torch.zeros_like(tensors["input_ids"])
        begins[row, starts] = 1
        tensors["document_ids"] = begins.cumsum(1) * tensors["attention_mask"]
        begins[row, starts] = starts
        tensors["position_ids"] = torch.arange(begins.shape[1]) - begins.cummax(1).values
    if "masked_lm_labels" not in tensors:
        tensors["labels"] = tensors["input_ids"].masked_fill(tensors["attention_mask"] == 0, IGNORED)
        if "document_starts" in tensors:
            tensors["labels"][row, starts] = IGNORED  # the last token of another part tells nothing of it
    elif form == "dense":
        positions, labels = tensors.pop("masked_lm_positions"), tensors.pop("masked_lm_labels")
        tensors["labels"] = torch.full_like(tensors["input_ids"], IGNORED).scatter_(1, positions, labels)
    return tensors

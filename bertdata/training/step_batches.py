"""Make the batch of a step: gather its rows, mask them, and convert the arrays to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, get_worker_info

from ..dataset.rows import Shards
from ..errors import UsageError
from ..labels import IGNORED
from .ahead import StepsAhead, masked_arrays
from .attention import ModelArguments, for_transformers
from .epoch_plan import Batch, BatchFormat, plan_of
from .masks import MaskConfig, Masker
from .models import Target, target_for
from .unpadded import Arrays, segments, unpad

__all__ = ["HOW_TO", "Batches", "Tensors"]

HOW_TO = "docs/how-to/trainers.md shows how"
Tensors = dict[str, torch.Tensor]


@dataclass(eq=False, repr=False)
class Batches(Dataset[Tensors]):
    """The batches of all epochs by step, or one rank's share of them. The fields are arguments of `loader.batches`."""

    shards: Shards
    batch_size: int
    _: KW_ONLY
    seed: int = 12345
    rank: int = 0
    world_size: int = 1
    whole: bool = False
    masks: MaskConfig | None = None
    for_model: Any = None
    format: BatchFormat | None = None

    def __post_init__(self) -> None:
        self.masks, self.format = MaskConfig.with_options(self.masks), BatchFormat.with_options(self.format)
        if not 0 <= self.rank < self.world_size or self.batch_size % self.world_size:
            ranks = f"rank {self.rank} of {self.world_size}, global batches of {self.batch_size}"
            raise UsageError(f"{ranks}: it must be a multiple of the ranks")
        self.masks.check(self.shards)
        self._target = target_for(self.for_model, self.shards, self.format)
        self.for_model = self._target or self.for_model  # a model would be copied to workers
        self._form = "unpadded" if self.format.unpadded else "dense" if self.format.dense_labels or self._target else "sparse"
        self.plan = plan_of(self.shards, self.batch_size, seed=self.seed, format=self.format, whole=self.whole)
        self.masker = Masker(self.shards, self.masks, seed=self.seed, widest=self.plan.widths[-1])
        self._ahead = StepsAhead(self.plan, self._make)

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickled loader, as spawned workers get it, has only its arguments: they build it again and map
        # the same shard files, so no rows are copied to workers.
        return partial(Batches, **{each.name: getattr(self, each.name) for each in fields(self)}), ()

    @property
    def identity(self) -> dict[str, object]:
        """Return the rows and options that decide the rows of a step. Ranks are not included, because they share a step's
        rows."""
        plan = self.plan
        options = {"batch_size": plan.batch_size, "widths": list(plan.widths), "seed": plan.seed, "whole": self.whole}
        return {"rows": self.shards.identity, **options}

    def __len__(self) -> int:
        """Return the number of rows in an epoch, as trainers report it. The dataset's items are batches, one per step."""
        return len(self.shards) if self.whole else self.plan.batches * self.plan.batch_size

    def __getitems__(self, steps: Sequence[int]) -> list[Tensors]:
        """Return the batch of the step that `Steps` requests, in a tuple. Another sampler requests a list."""
        if not isinstance(steps, tuple):
            raise UsageError(
                f"the dataset of a loader has whole batches, and cannot be batched again ({len(steps)} of them). Return the "
                f"loader from `get_train_dataloader` of the Trainer instead of passing `train_dataset`: {HOW_TO}"
            )
        return [self[step] for step in steps]

    def __getitem__(self, step: int) -> Tensors:
        """Return a step's batch. A worker sends narrow arrays, which become tensors in the main process."""
        batch = self._ahead[step], self._form, self._target
        return _PickledBatch(*batch) if get_worker_info() else _tensors(*batch)  # type: ignore[return-value]

    def _make(self, batches: list[Batch]) -> list[Arrays]:
        """Return the arrays of this rank's share of batches of one epoch and width."""
        # Every rank plans the global batch, and takes its slice. With another number of ranks, the
        # slices change, and the global batch of a step does not.
        mine = [batch.share(self.rank, self.world_size) for batch in batches]
        first, counts = mine[0], [len(batch.rows) for batch in mine]
        rows, copies = np.concatenate([batch.rows for batch in mine]), np.concatenate([batch.copies for batch in mine])
        together = first._replace(rows=rows, copies=copies)
        arrays = masked_arrays(self.shards, self.masker, together)
        if self._form == "unpadded":
            return unpad(arrays, counts)
        # Several steps were gathered as one array. Split it into steps.
        ends = np.cumsum([0, *counts]).tolist()
        return [{name: values[begin:end] for name, values in arrays.items()} for begin, end in pairwise(ends)]


class _PickledBatch:
    """A batch that a worker sends to the main process: arrays, which unpickle as tensors.

    PyTorch would send each tensor as an open shared memory file, which is slower and can exhaust the open file limit.
    """

    def __init__(self, *batch: Any) -> None:
        self._batch = batch

    def __reduce__(self) -> tuple[Any, ...]:
        return _tensors, self._batch


def _tensors(arrays: Arrays, form: str, target: Target | None) -> Tensors | ModelArguments:
    """Convert arrays to a batch, and to the arguments of a model if there is one."""
    tensors = _batch(arrays, form)
    return tensors if target is None else for_transformers(tensors, target)


def _flat_batch(arrays: Arrays) -> Tensors:
    """Convert the arrays of an unpadded batch to tensors, and add positions."""
    starts = arrays["cu_seqlens"].astype(np.int64)
    sizes = np.diff(starts)
    # Positions restart at 0 in each segment: subtract each segment's start from its tokens.
    positions = np.arange(int(starts[-1]))
    positions -= np.repeat(starts[:-1], sizes)
    arrays = {**arrays, "position_ids": positions}
    tensors = {
        name: torch.from_numpy(values.astype(np.int64, copy=False)) for name, values in arrays.items() if name != "cu_seqlens"
    }
    tensors["cu_seqlens"] = torch.from_numpy(arrays["cu_seqlens"])
    return {**tensors, "max_seqlen": int(sizes.max(initial=0))}  # type: ignore[dict-item]


def _batch(arrays: Arrays, form: str) -> Tensors:
    """Convert arrays to int64 tensors, add positions, and convert masked positions to dense labels if requested."""
    if form == "unpadded":
        return _flat_batch(arrays)
    tensors = {name: torch.from_numpy(values.astype(np.int64)) for name, values in arrays.items()}
    if "document_starts" in tensors:
        # From segment starts to a number for each token, for a row with segments at 0 and 3:
        #
        #   begins          1  0  0  1  0  0
        #   cumsum          1  1  1  2  2  2      -> document_ids (padding becomes 0)
        #   begins          0  0  0  3  0  0      now with the start itself
        #   cummax          0  0  0  3  3  3
        #   arange - that   0  1  2  0  1  2      -> position_ids
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
            tensors["labels"][row, starts] = IGNORED  # the last token of a segment must not predict the next segment
    elif form == "dense":
        positions, labels = tensors.pop("masked_lm_positions"), tensors.pop("masked_lm_labels")
        row, nth = (labels != IGNORED).nonzero(as_tuple=True)  # an unused entry must not replace the label at position 0
        tensors["labels"] = torch.full_like(tensors["input_ids"], IGNORED)
        tensors["labels"][row, positions[row, nth]] = labels[row, nth]
    return tensors

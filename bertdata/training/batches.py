"""Make the batch of a step: gather its rows, mask them, and convert the arrays to tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from ..config import OBJECTIVES
from ..dataset.rows import Shards
from ..pieces import IGNORED
from ..rows import masking
from .attention import for_transformers
from .epoch_plan import Batch, EpochPlan
from .masks import MaskConfig
from .models import Target

_TOKENS_AHEAD = 1 << 18  # tokens of the steps built together, in 10 MB at most: with fewer, the overhead of NumPy calls grows
Arrays = dict[str, npt.NDArray[Any]]
Tensors = dict[str, torch.Tensor]


@dataclass(eq=False)
class Batches(Dataset[Tensors]):
    """The batches of all epochs by step, or the share of them that belongs to `rank`. `plan_rows` makes the plan of the rows."""

    shards: Shards
    plan_rows: Callable[[], EpochPlan]
    rank: int
    ranks: int
    masks: MaskConfig
    target: Target | None
    unpadded: bool
    dense_labels: bool

    def __post_init__(self) -> None:
        self.plan = self.plan_rows()
        self._vocabulary = masking.mask_vocabulary(self.shards.pieces, self.shards.special)
        self._last, self._stride, self._built = -1, 0, dict[int, Arrays]()

    def __reduce__(self) -> tuple[Any, ...]:
        # Spawned workers get the arguments only: they build the dataset again and map the same shard files,
        # so neither rows nor weights are copied to workers.
        return Batches, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def identity(self) -> dict[str, object]:
        """The rows and options that decide the rows of a step. Ranks are not included, because they share a step's rows."""
        plan = self.plan
        options = {"batch_size": plan.batch_size, "widths": list(plan.widths), "seed": plan.seed, "whole": plan.whole}
        return {"rows": self.shards.identity, **options}

    def __len__(self) -> int:
        """Return the number of rows in an epoch, as trainers report it. The dataset's items are batches, one per step."""
        return len(self.shards) if self.plan.whole else self.plan.batches * self.plan.batch_size

    def __getitem__(self, step: int) -> Tensors:
        """Return a step's batch, with ids, labels and positions in int64, as models of torch take them."""
        # Worker w of W reads steps w, w + W, w + 2 W, ... After two equal strides assume that the next
        # ones are the same, and build those steps too, because the overhead of NumPy calls exceeds the
        # arithmetic on a few rows. A wrong guess costs some time, never a wrong batch.
        stride = step - self._last
        if step not in self._built:
            batches = self._together(step, stride if stride == self._stride else 0)
            self._built = {batch.step: arrays for batch, arrays in zip(batches, self._build(batches), strict=True)}
        self._last, self._stride = step, stride
        # `cu_seqlens` stays in int32, and `max_seqlen` is a number, as flash attention takes them.
        tensors: Any = {
            name: values if isinstance(values, int) else torch.from_numpy(values.astype(np.int64, copy=False))
            for name, values in self._built.pop(step).items()
        }
        if self.unpadded:
            tensors["cu_seqlens"] = tensors["cu_seqlens"].int()
        return tensors if self.target is None else for_transformers(tensors, self.target)

    def _together(self, step: int, stride: int) -> list[Batch]:
        """Return the batch of a step and, if the stride is over 0, of later steps at this stride in the same epoch and width."""
        batches = [first := self.plan[step]]
        if stride > 0:
            most = _TOKENS_AHEAD // max(1, len(first.rows) * first.width)
            end = min((first.epoch + 1) * self.plan.batches, step + stride * most)
            later = (self.plan[following] for following in range(step + stride, end, stride))
            batches += takewhile(lambda batch: batch.width == first.width, later)
        return batches

    def _build(self, batches: list[Batch]) -> list[Arrays]:
        """Return the arrays of this rank's share of batches of one epoch and width."""
        # Every rank plans the global batch, and takes its slice. With another number of ranks, the
        # slices change, and the global batch of a step does not. Several steps are built as one array.
        mine = [batch.share(self.rank, self.ranks) for batch in batches]
        rows, copies = np.concatenate([batch.rows for batch in mine]), np.concatenate([batch.copies for batch in mine])
        arrays = self._masked(mine[0]._replace(rows=rows, copies=copies))
        ends = np.cumsum([0, *(len(batch.rows) for batch in mine)]).tolist()
        if self.unpadded:
            return _unpadded(arrays, ends)
        if "document_starts" in arrays:
            _number_documents(arrays)
        if "masked_lm_labels" not in arrays:
            arrays["labels"] = _next_labels(arrays)
        elif self.dense_labels:
            arrays["labels"] = _dense_labels(arrays)
        return [{name: values[begin:end] for name, values in arrays.items()} for begin, end in pairwise(ends)]

    def _masked(self, batch: Batch) -> Arrays:
        """Return the rows of a batch as `Shards.gather` does, with their masks."""
        arrays, masks = self.shards.gather(batch.rows, batch.width), self.masks
        continues = arrays.pop("continues_word", None)
        if not OBJECTIVES[self.shards.objective].masks:
            del arrays["token_type_ids"]
        elif self.shards.masking == "none":
            # The identity of a row for its mask: a second copy of row 7 among 100 rows has number 107.
            arrays["input_ids"], arrays["masked_lm_positions"], arrays["masked_lm_labels"] = masking.mask(
                arrays["input_ids"], self._vocabulary, seed=self.plan.seed, epoch=batch.epoch,
                rows=batch.rows + batch.copies * len(self.shards), continues=continues, unit=masks.unit, shares=masks.mask_shares,
                masked_lm_prob=masks.masked_lm_prob, max_predictions=masks.predictions(batch.width, self.plan.widths[-1]),
            )  # fmt: skip
        return arrays


def _dense_labels(arrays: Arrays) -> npt.NDArray[np.int64]:
    """Replace masked positions and their labels [B, P] by labels of all positions [B, L]."""
    positions, values = arrays.pop("masked_lm_positions"), arrays.pop("masked_lm_labels")
    row, nth = np.nonzero(values != IGNORED)  # an unused entry must not replace the label at position 0
    labels = np.full(arrays["input_ids"].shape, IGNORED, np.int64)
    labels[row, positions[row, nth]] = values[row, nth]
    return labels


def _next_labels(arrays: Arrays) -> npt.NDArray[np.int32]:
    """Return the labels of causal rows [B, L]: their ids, which the model shifts."""
    labels = np.where(arrays["attention_mask"], arrays["input_ids"].astype(np.int32), IGNORED)
    if "document_starts" in arrays:
        row, segment = _segments(arrays)
        labels[row, arrays["document_starts"][row, segment]] = IGNORED  # the token before it must not predict the next document
    return labels


def _number_documents(arrays: Arrays) -> None:
    """Add the document number of each token of packed rows, from 1 on, and its position in the document [B, L]."""
    # For a row with segments at 0 and 3, and padding at the end:
    #
    #   begins          1  0  0  1  0  0
    #   cumsum          1  1  1  2  2  2      -> document_ids, 0 for padding
    #   begins          0  0  0  3  0  0      now with the start itself
    #   maximum         0  0  0  3  3  3
    #   arange - that   0  1  2  0  1  2      -> position_ids
    row, segment = _segments(arrays)
    starts = arrays["document_starts"][row, segment]
    begins = np.zeros(arrays["input_ids"].shape, np.int32)
    begins[row, starts] = 1
    arrays["document_ids"] = np.cumsum(begins, 1, dtype=np.int32) * arrays["attention_mask"]
    begins[row, starts] = starts
    arrays["position_ids"] = np.arange(arrays["input_ids"].shape[1], dtype=np.int32) - np.maximum.accumulate(begins, 1)


def _segments(arrays: Arrays) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the row of each segment, and its number in that row."""
    if "document_starts" not in arrays:
        rows = len(arrays["input_ids"])
        return np.arange(rows), np.zeros(rows, np.int64)
    used = arrays["document_starts"] > 0
    used[:, :1] = True
    row, segment = np.nonzero(used)
    return row, segment


def _unpadded(arrays: Arrays, rows: list[int]) -> list[Arrays]:
    """Return one batch for each pair of neighbors in `rows`: their tokens without padding, as flash attention requires."""
    # Two rows of 3 and 2 tokens, the first with segments at 0 and 2:
    #
    #   ends    0  3  5           where rows begin in the flat tokens
    #   starts  0  2  3  5        where segments begin, then the total (cu_seqlens)
    lengths = arrays["attention_mask"].sum(1)
    row, segment = _segments(arrays)
    ends = np.append(0, np.cumsum(lengths))
    starts = np.append(ends[row] + (arrays["document_starts"][row, segment] if "document_starts" in arrays else 0), ends[-1])
    flat: Arrays = {name: _join(arrays[name], lengths) for name in ("input_ids", "token_type_ids") if name in arrays}
    if "masked_lm_labels" in arrays:
        # A masked position p of row i is the flat position ends[i] + p.
        flat["labels"] = np.full(len(flat["input_ids"]), IGNORED, np.int64)
        used = arrays["masked_lm_labels"] != IGNORED
        flat["labels"][(ends[:-1, None] + arrays["masked_lm_positions"])[used]] = arrays["masked_lm_labels"][used]
    else:
        flat["labels"] = flat["input_ids"].astype(np.int32)
        flat["labels"][starts[:-1]] = IGNORED
    sizes = np.diff(starts)
    counted = np.arange(sizes.max(initial=0), dtype=np.int32)  # positions restart at 0 in each segment
    flat["position_ids"] = _join([counted] * len(sizes), sizes)
    pairs = arrays.get("next_sentence_label")
    if pairs is not None and pairs.ndim == 2:
        pairs = pairs[row, segment]
    batches: list[Arrays] = []
    tokens, segments = ends[rows].tolist(), np.searchsorted(row, rows).tolist()
    for (begin, end), (first, last) in zip(pairwise(tokens), pairwise(segments), strict=True):
        batch: Any = {name: values[begin:end] for name, values in flat.items()}
        batch["cu_seqlens"] = starts[first : last + 1] - begin
        batch["max_seqlen"] = int(sizes[first:last].max(initial=0))
        batches.append(batch | ({} if pairs is None else {"next_sentence_label": pairs[first:last]}))
    return batches


def _join(values: Iterable[npt.NDArray[Any]], lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Concatenate the first items of arrays. Slices are faster than a selection by the attention mask."""
    slices = [array[:length] for array, length in zip(values, lengths.tolist(), strict=True)]
    return np.concatenate([np.zeros(0, np.uint8), *slices])  # a rank may have no rows of the last batch of an evaluation

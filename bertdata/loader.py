"""Batches to train on: a plain DataLoader of masked and padded tensors, which starts at any step at once.

    shards = bertdata.Shards("pairs-128")
    for batch in loader.batches(shards, 256, start_step=1000, workers=2, dense_labels=True):
        loss = transformers_model(**batch).loss

The rows of a step and their masks are a function of the seed and the step: they are the same with any number of workers, and
the ranks of any world share one global batch among them.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing import parent_process
from typing import Any

import numpy as np
import numpy.typing as npt

from . import masking, plan
from .errors import UsageError
from .shards import Shards

try:
    import torch
    from torch.utils.data import DataLoader, Dataset, get_worker_info
except ImportError as error:  # pragma: no cover
    raise UsageError("bertdata.loader needs PyTorch: pip install 'bertdata[train]'") from error

__all__ = ["Batches", "batches"]

Arrays = dict[str, npt.NDArray[Any]]
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
    masked_lm_prob: float = 0.15,
    max_predictions: int = 0,
    unit: str = "piece",
    per_piece: bool = False,
    dense_labels: bool = False,
    workers: int = 0,
    pin_memory: bool = False,
) -> DataLoader[Tensors]:
    """Return a loader of the batches of `steps` steps from `start_step` on, or of the rest of its epoch.

    batch_size: of the global batch, of which `rank` gets its share.  A step is a global batch; steps are counted over all epochs.
    whole: rows that do not fill a batch form a last, short one, so that an epoch has every row: for evaluation, whose masks then
    are those of epoch 0.  widths: what batches are padded to; four equal steps up to the longest row if not given.

    A batch is a dict of int64 tensors: ``input_ids``, ``token_type_ids``, ``attention_mask`` [B, L], of pairs
    ``next_sentence_label`` [B], and ``masked_lm_positions``, ``masked_lm_labels`` [B, P] (not used: 0, -100), or in their place,
    with `dense_labels`, ``labels`` [B, L] (-100 where nothing is predicted).  Of the objective causal, ``input_ids``,
    ``attention_mask`` and ``labels``.  P is the same for all batches of one width.

    masked_lm_prob, unit, per_piece: as in `bertdata.masking.mask`.  max_predictions: 0 gives every row its full share.  Static
    masks are served as they are.  ``loader.dataset.plan`` tells epoch and rows of a step, and how many an epoch leaves over.
    """
    drawn = Masks(masked_lm_prob, max_predictions, unit, per_piece)
    own = Batches(shards, batch_size, seed, (rank, world_size), whole, widths, drawn, dense_labels)
    if start_step < 0 or (steps is not None and steps < 0):
        raise UsageError(f"{steps} steps from step {start_step}: neither can be below 0")
    end = start_step + (own.plan.batches - start_step % own.plan.batches if steps is None else steps)
    return DataLoader(
        own,
        batch_size=None,
        sampler=range(start_step, end),
        num_workers=workers,
        pin_memory=pin_memory,
        worker_init_fn=_obey_parent if workers else None,
        generator=torch.Generator(),  # or each pass would draw from the global one, and a resumed run differ in its dropout
    )


def _obey_parent(worker: int) -> None:
    """Let SIGTERM end a worker where its own process sends it: one to all processes is for that one, which may have to save."""
    parent = parent_process()
    if parent is None or not hasattr(signal, "sigwaitinfo"):  # macOS does not tell who sends a signal
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    def wait() -> None:
        while signal.sigwaitinfo([signal.SIGTERM]).si_pid != parent.pid:
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


@dataclass(frozen=True)
class Masks:
    """How rows are masked when they are read; the defaults are BERT's."""

    masked_lm_prob: float = 0.15
    max_predictions: int = 0
    unit: str = "piece"
    per_piece: bool = False

    def check(self, shards: Shards) -> None:
        """Raise UsageError for masks that can't be, or where rows have their own or none."""
        if self.unit not in masking.UNITS:
            raise UsageError(f"unit {self.unit!r}: use one of {', '.join(masking.UNITS)}")
        if not 0 < self.masked_lm_prob <= 1 or self.max_predictions < 0:
            raise UsageError(f"{self}: masked_lm_prob is over 0 and up to 1, max_predictions not below 0")
        if self != Masks() and (shards.masking == "static" or shards.objective == "causal"):
            reason = "has no masks" if shards.objective == "causal" else "is masked already"
            told = {name: value for name, value in asdict(self).items() if value != getattr(Masks, name)}
            raise UsageError(f"{shards.paths[0]} {reason}: {told} does nothing; leave it away")


class Batches(Dataset[Tensors]):
    """The batches of all epochs by step, or one rank's share of them."""

    def __init__(
        self,
        shards: Shards,
        batch_size: int,
        seed: int,
        place: tuple[int, int],
        whole: bool,
        widths: Sequence[int] | None,
        masks: Masks,
        dense: bool,
    ) -> None:
        rank, world_size = place
        if not 0 <= rank < world_size or batch_size % world_size:
            raise UsageError(f"rank {rank} of {world_size}, global batches of {batch_size}: it must be a multiple of the ranks")
        masks.check(shards)
        self._made_of = (shards, batch_size, seed, place, whole, widths, masks, dense)
        self._shards, self._seed, self._rank, self._world_size = shards, seed, rank, world_size
        self._masks, self._dense = masks, dense
        self.plan = plan.Plan(
            shards.lengths,
            batch_size,
            widths=widths or plan.widths(shards.max_seq_length),
            seed=seed,
            parts=list(zip(shards.rows, shards.weights, strict=True)),
            whole=whole,
        )
        self._ordinary = masking.ordinary(shards.pieces)

    def __reduce__(self) -> tuple[type[Batches], tuple[Any, ...]]:
        return Batches, self._made_of

    def __getitem__(self, step: int) -> Tensors:
        """Return a step's batch; from a worker, narrow arrays go to the main process and become tensors there."""
        arrays = self._arrays(self.plan[step])
        return _Parcel(arrays, self._dense) if get_worker_info() else _tensors(arrays, self._dense)  # type: ignore[return-value]

    def _arrays(self, batch: plan.Batch) -> Arrays:
        count = len(batch.rows)
        own = slice(self._rank * count // self._world_size, (self._rank + 1) * count // self._world_size)
        found = self._shards.gather(batch.rows[own], batch.width)
        continues = found.pop("continues_word", None)
        if self._shards.objective == "causal":
            del found["token_type_ids"]
        elif self._shards.masking == "none":
            numbers = batch.rows[own] + batch.copies[own] * len(self._shards)
            found |= self._mask(found["input_ids"], continues, batch, numbers)
        return found

    def _mask(self, ids: npt.NDArray[Any], continues: Any, batch: plan.Batch, numbers: npt.NDArray[Any]) -> Arrays:
        """Mask rows; what is masked of a row depends on no other row, and not on the width."""
        masks = self._masks
        masked, positions, labels = masking.mask(
            ids,
            self._ordinary,
            seed=self._seed,
            epoch=batch.epoch,
            rows=numbers,
            max_predictions=self.predictions(batch.width),
            masked_lm_prob=masks.masked_lm_prob,
            unit=masks.unit,
            per_piece=masks.per_piece,
            continues=continues,
        )
        return {
            "input_ids": masked,
            "masked_lm_positions": positions.astype(np.uint16),
            "masked_lm_labels": labels.astype(np.int32),
        }

    def predictions(self, width: int) -> int:
        """Return P of the batches of a width."""
        masks = self._masks
        if masks.unit == "word":  # how far a word may reach over a row's share must not depend on the width
            width = self.plan.widths[-1]
        most = masking.room(width, masks.masked_lm_prob, masks.unit)
        return min(most, masks.max_predictions) if masks.max_predictions else most


class _Parcel:
    """A batch on its way from a worker, which unpickles as tensors.

    Bytes through a pipe: tensors would each go as an open file of shared memory, which takes longer and may run out.
    """

    def __init__(self, arrays: Arrays, dense: bool) -> None:
        self._arrays, self._dense = arrays, dense

    def __reduce__(self) -> tuple[Any, ...]:
        return _tensors, (self._arrays, self._dense)


def _tensors(arrays: Arrays, dense: bool) -> Tensors:
    """Turn arrays into tensors of int64, and masked places into dense labels where they are wanted."""
    found = {name: torch.from_numpy(values.astype(np.int64)) for name, values in arrays.items()}
    if "masked_lm_labels" not in found:
        found["labels"] = found["input_ids"].masked_fill(found["attention_mask"] == 0, masking.IGNORED)
    elif dense:
        places, answers = found.pop("masked_lm_positions"), found.pop("masked_lm_labels")
        found["labels"] = torch.full_like(found["input_ids"], masking.IGNORED).scatter_(1, places, answers)
    return found

"""Load training batches: a plain DataLoader of masked and padded tensors that can start at any step immediately.

    shards = bertdata.Shards("pairs-128")
    for batch in bertdata.batches(shards, 256, start_step=1000, workers=2, for_model=model):  # a model of transformers
        loss = model(**batch).loss

The rows of a step and their masks depend only on the seed and the step: they are the same with any number of workers, and
all ranks share one global batch. So the step number is the whole state of the data. A pass ends with its epoch, and the next pass
continues with the next epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, cast

from ..dataset.rows import Shards
from ..errors import UsageError
from ..extras import missing_package
from ..storage.process import obey_parent
from .epoch_plan import plan_of
from .masks import MaskConfig
from .models import target_for

try:
    import torch
    from torch.utils.data import DataLoader, Sampler

    from .batches import Batches, Tensors
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

    An unpadded batch has ``input_ids``, ``token_type_ids``, ``position_ids`` and ``labels`` [T]; the starts of the K segments and
    T, ``cu_seqlens`` [K + 1] in int32; the tokens of the longest one, ``max_seqlen``; and ``next_sentence_label`` [K].
    ``loader.dataset.plan[step]`` has the epoch and rows of a step.
    """
    # An item of the dataset is a finished batch, because the plan decides which rows it has, in which order, at which width. The
    # sampler only counts steps, and there is nothing to collate. Workers and pinned memory are PyTorch's own.
    if not isinstance(shards, Shards):
        kind = type(shards).__name__
        raise UsageError(f"`shards` is {kind}. Pass bertdata.Shards(DIRECTORY)", field="shards", value=kind)
    if not 0 <= rank < world_size or batch_size % world_size:
        ranks = f"rank {rank} of {world_size}, global batches of {batch_size}"
        raise UsageError(f"{ranks}: it must be a multiple of the ranks")
    masks = MaskConfig.with_options(masks)
    masks.check(shards)
    target = target_for(for_model, shards, unpadded=unpadded, dense_labels=dense_labels)
    plan_rows = partial(plan_of, shards, batch_size, seed=seed, widths=widths, whole=whole)
    dataset = Batches(shards, plan_rows, rank, world_size, masks, target, unpadded, dense_labels)
    return Loader(
        dataset,
        Steps(dataset.plan.batches, start_step, steps, repeat=whole, world_size=world_size),
        num_workers=workers,
        pin_memory=pin_memory,
        worker_init_fn=obey_parent if workers else None,
        generator=torch.Generator(),  # else passes draw from the global one, and a resumed run has other dropout
    )


class Steps(Sampler["tuple[int]"]):
    """The batch sampler of a loader: it yields ``(step,)``, because a batch of the loader is one item of its dataset.

    The position is stored here and not in the loader, because Accelerate and transformers create other DataLoaders from the
    dataset and the batch sampler of a loader. With a `count` of steps, a pass may run over many epochs. With `repeat`, every pass
    has the same steps, for evaluation.

    >>> steps = Steps(batches=3, start=1)
    >>> list(steps), list(steps)  # the rest of epoch 0, then epoch 1
    ([(1,), (2,)], [(3,), (4,), (5,)])
    """

    drop_last = True  # Accelerate reads it: if processes take turns, all get the same number of steps

    def __init__(self, batches: int, start: int, count: int | None = None, *, repeat: bool = False, world_size: int = 1) -> None:
        if start < 0 or (count is not None and count < 0):
            raise UsageError(f"`start_step` {start}, `steps` {count}: both must be 0 or more", field="start_step", value=start)
        self.batches, self.start, self.repeat, self._world_size = batches, start, repeat, world_size
        self.end = None if count is None else start + count
        self.position = self._resumed = start  # the next step, and the first step of the resumed run

    @property
    def sampler(self) -> Steps:
        """This sampler: Accelerate looks here for `set_epoch`."""
        return self

    @property
    def batch_size(self) -> int:
        """Steps in an item: 1. Only a wrapper that distributes steps over processes reads this."""
        # If ranks share each batch already, each process would get its share of different batches, and the others would be lost.
        if self._world_size > 1:
            shared = f"batches(world_size={self._world_size}): the ranks share each batch, and Accelerate would share them again"
            raise UsageError(f"{shared}. Omit `rank` and `world_size`, or do not pass the loader to `prepare`")
        return 1

    def next_pass(self) -> range:
        """Return the steps of the pass that starts now: to the end of the epoch, or all that are left of a fixed number."""
        return range(self.position, self._epoch_end(self.position) if self.end is None else self.end)

    def set_epoch(self, epoch: int) -> None:
        """Start the next pass at the first step of an epoch. In the epoch of `start_step` or a loaded state, start at that step.

        This does nothing for a loader with a fixed number of `steps`, or for evaluation. Raise UsageError for an earlier epoch.
        """
        if self.repeat or self.end is not None:
            return
        if epoch < (first := self._resumed // self.batches):
            begins = f"set_epoch({epoch}): the loader begins at step {self._resumed}, in epoch {first}"
            raise UsageError(f"{begins}. Trainers count epochs from 0: use start_step=0, and let the trainer skip finished steps")
        # Trainers call set_epoch(e) before each pass, also right after a resume in the middle of e.
        # The `max` keeps the resumed step instead of going back to the start of the epoch.
        self.position = max(epoch * self.batches, self._resumed)

    def resume(self, step: int) -> None:
        """Continue at a step. Its pass counts as started, so the length of a pass does not change."""
        if step < 0 or (self.end is not None and step > self.end):
            raise UsageError(f"load_state_dict: step {step} is outside of the loader's steps, {self.start} to {self.end}")
        self.position = self._resumed = step
        if self.end is None and not self.start <= step < self._epoch_end(self.start):
            self.start = step - step % self.batches

    def _epoch_end(self, step: int) -> int:
        return step - step % self.batches + self.batches

    def __len__(self) -> int:
        if self.end is not None:
            return self.end - self.start
        end = self._epoch_end(self.position)
        return end - max(self.start, end - self.batches)

    def __iter__(self) -> Iterator[tuple[int]]:
        steps = self.next_pass()
        yield from zip(steps)
        self.used(steps.stop)

    # With workers, the sampler is some steps ahead of the training loop. `Loader._count` reports
    # the batches that the loop really took, and sets the position back to them. So a checkpoint
    # between two batches has the step that comes next, not the step that a worker is reading.
    def used(self, step: int) -> None:
        """Count the batches before a step as used."""
        if not self.repeat:
            self.position = step


class Loader(DataLoader[Tensors]):
    """A DataLoader of batches that counts the batches it has yielded.

    Iterate over it again for the next epoch.  A pass that was interrupted continues where it stopped; `set_epoch` restarts an
    epoch.  `state_dict` and `load_state_dict` follow torchdata's StatefulDataLoader.
    """

    dataset: Batches

    def __init__(self, dataset: Batches, steps: Steps, **options: Any) -> None:
        super().__init__(dataset, batch_sampler=cast(Any, steps), collate_fn=itemgetter(0), **options)
        self.steps = steps

    def __iter__(self) -> Any:
        # Fix the steps of the pass before workers start to draw from the sampler.
        steps = self.steps.next_pass()
        if self.num_workers and steps:
            _ = self.dataset.plan[steps.start]  # the order of the epoch, which forked workers then share
        if self.num_workers or self.pin_memory:
            return self._count(steps, super().__iter__())
        return self._count(steps, map(self.dataset.__getitem__, steps))  # in this process, a DataLoader would only add overhead

    def _count(self, steps: range, batches: Iterator[Tensors]) -> Iterator[Tensors]:
        for batch, step in zip(batches, steps, strict=False):  # workers read ahead, so the sampler's count is too high
            self.steps.used(step + 1)
            yield batch

    def set_epoch(self, epoch: int) -> None:
        """Start the next pass with an epoch (see `Steps.set_epoch`)."""
        self.steps.set_epoch(epoch)

    def state_dict(self) -> dict[str, object]:
        """Return the next step, and the rows and options that determine the steps. It is the same on every rank."""
        return {"step": self.steps.position, **self.dataset.identity}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where another loader stopped, with any number of ranks and workers. Raise UsageError if its rows differ."""
        identity = self.dataset.identity
        different = [name for name in identity if state.get(name) != identity[name]]
        if different or "step" not in state:
            wrong = f"the state is of another loader ({', '.join(different) or 'no step'})"
            raise UsageError(f"load_state_dict: {wrong}. Use the same rows and options")
        self.steps.resume(int(state["step"]))

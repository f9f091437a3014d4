"""Train on one process: model and optimizer, a step on its share of a global batch, and an evaluation."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from ... import keys
from ...config.train import ModelConfig
from ...labels import IGNORED
from ...reports.metrics import SUMS
from ..attention import for_bert, for_masked_positions
from ..recipe import Recipe
from .model import BertForPreTraining, MaskedModel, score
from .optimizer import Optimizer
from .world import World

__all__ = ["Learner", "StepResult"]

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_MAX_GRAPHS = 64  # torch.compile makes one graph per width; torch's default limit is 8


class StepResult(NamedTuple):
    """A step's SUMS and gradient norm over the global batch, whether to stop, and whether all was finite (else no update)."""

    sums: list[float]
    norm: float
    stop: bool
    finite: bool


class Learner:
    """The model and optimizer in training. If rows have no label of pairs, the pair head does not change."""

    def __init__(self, recipe: Recipe, world: World) -> None:
        self.config, self.world, config, shape = recipe.config, world, recipe.config, recipe.model
        self.model: BertForPreTraining | MaskedModel
        # Every draw of torch's generator is preceded by a seed that names its use. So the weights
        # do not depend on earlier draws, and a resumed run needs no generator state.
        torch.manual_seed(keys.key(config.seed, "initial weights"))
        if isinstance(shape, ModelConfig):
            self.model = BertForPreTraining(shape, gradient_checkpointing=config.gradient_checkpointing)
            for part in (self.model.bert.pooler, self.model.cls.seq_relationship):
                part.requires_grad_(recipe.pairs)
            dropout = shape.attention_probs_dropout_prob > 0
            self._arguments: Any = partial(for_bert, unpadded=config.unpadded, dropout=dropout)
        else:
            self.model = MaskedModel(model := shape.build(recipe.parts[0].shards))
            if config.gradient_checkpointing:
                getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)()  # the older name warns
            self._arguments = partial(for_masked_positions, target=shape.target)
        self.model.to(world.device).train()
        self._vocab_size = shape.vocab_size
        self.optimizer = Optimizer(self.model, config.optimizer)
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=config.precision == "fp16")
        self._forward: Any = DistributedDataParallel(self.model) if world.size > 1 else self.model
        self._no_sync: Any = self._forward.no_sync if world.size > 1 else contextlib.nullcontext
        if config.compile:
            torch._dynamo.config.cache_size_limit = _MAX_GRAPHS
            self._forward = torch.compile(self._forward, dynamic=config.unpadded)

    def step(self, number: int, batch: dict[str, Tensor], parts: int, stop: Callable[[], bool]) -> StepResult:
        """Train on a batch, split into `parts` for gradient accumulation. If `stop` returns True, all processes stop."""
        config, device, ranks = self.config, self.world.device, self.world.size
        # Dropout: seeded by step and rank, so step 1000 drops the same units in a resumed run.
        torch.manual_seed(keys.key(config.seed, "dropout", number, self.world.rank))
        batch = {name: values.to(device, non_blocking=True) for name, values in batch.items()}
        labels = (batch["masked_lm_labels"], batch.get("next_sentence_label", torch.zeros(0, device=device)))
        # The loss is a mean over all predicted tokens of the global batch, so it needs their number
        # over all ranks before the first backward pass. A mean per micro-batch, then a mean of
        # these, would weight a token more in a micro-batch with few predictions.
        masked, pairs = (self.world.total((each != IGNORED).sum()) for each in labels)
        sums = torch.zeros(len(SUMS), dtype=torch.float64, device=device)
        # Gradient accumulation: `parts` micro-batches, whose gradients add up. Ranks exchange
        # gradients only in the last backward pass (`no_sync` before), which saves parts - 1
        # exchanges.
        pieces = list(zip(*(values.chunk(parts) for values in batch.values()), strict=True))
        for index, piece in enumerate(pieces):
            with contextlib.nullcontext() if index == len(pieces) - 1 else self._no_sync():
                mlm, nsp, sums_of_batch = self.score(self._forward, dict(zip(batch, piece, strict=True)))
                loss = (mlm / masked + nsp / pairs.clamp(1)) * ranks  # gradients are averaged over the ranks
                self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            sums += sums_of_batch
        # fp16: gradients are scaled up against underflow. Undo that before clipping, because the
        # limit is for the true norm. The scaler does nothing with bf16 and fp32.
        self.scaler.unscale_(cast(Any, self.optimizer))
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.optimizer.clip_norm or math.inf)
        # One exchange for all numbers of the step: the sums of the metrics, the norm (equal on all
        # ranks, so the sum of norm / ranks is the norm), and whether any process must stop.
        more = torch.stack([norm / ranks, torch.full_like(norm, float(stop()))]).double()
        *totals, gradient, stops = self.world.total(torch.cat([sums, more])).tolist()
        # With fp16, an infinite gradient only means that the scale was too high: the scaler skips
        # the update and halves the scale. Otherwise it is a real failure, and the weights are left
        # alone.
        if finite := math.isfinite(sum(totals)) and (math.isfinite(gradient) or config.precision == "fp16"):
            self.scaler.step(cast(Any, self.optimizer), config.rate(number))
            self.scaler.update()
        self.model.zero_grad()
        return StepResult(totals, gradient, stops > 0, finite)

    def score(self, forward: Any, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return `model.score` of a batch, with the model or a wrapper of it."""
        return score(*self._logits(forward, batch), batch)

    def _logits(self, forward: Any, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        kind = _DTYPES[self.config.precision]
        with torch.autocast(self.world.device.type, dtype=kind, enabled=kind != torch.float32):
            return cast("tuple[Tensor, Tensor | None]", forward(**self._arguments(batch)))

    @torch.no_grad()
    def evaluate(self, loader: Iterable[tuple[dict[str, Tensor], Any]], origins: int) -> tuple[list[list[float]], float]:
        """Return SUMS [origins] over the batches of all processes, and the entropy of the masked words' unigram distribution.

        `loader` yields batches with the origins of their rows [B].
        """
        self.model.eval()
        sums = torch.zeros(origins, len(SUMS), dtype=torch.float64, device=self.world.device)
        counts = torch.zeros(self._vocab_size, dtype=torch.float64, device=self.world.device)
        for batch, of_rows in loader:
            here = {name: values.to(self.world.device) for name, values in batch.items()}
            words, relations = self._logits(self.model, here)  # of all rows end to end, if they are without padding
            words = words.view(len(of_rows), -1, words.shape[-1])
            relations = None if relations is None else relations.view(len(of_rows), -1, 2)
            for origin in set(of_rows.tolist()):
                rows = torch.from_numpy(of_rows == origin).to(self.world.device)
                part = {name: values[rows] for name, values in here.items()}
                sums[origin] += score(words[rows], None if relations is None else relations[rows], part)[2]
            labels = here["masked_lm_labels"]
            counts += torch.bincount(labels[labels != IGNORED], minlength=len(counts))
        self.model.train()
        masked = self.world.total(counts).sum()  # a sample's entropy is too low by (words seen - 1) / 2n: Miller 1955
        entropy = -torch.special.xlogy(counts / masked, counts / masked).sum() + ((counts > 0).sum() - 1) / (2 * masked)
        return self.world.total(sums).tolist(), entropy.item()

"""Train in one process: take a step on this process's share of a global batch, and evaluate."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from ... import keys
from ...pieces import IGNORED
from ...reports.metrics import SUMS
from ..attention import inputs, unpadded
from ..recipe import Recipe
from .world import World

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_MAX_GRAPHS = 64  # torch.compile makes one graph per width; torch's default limit is 8


class MaskedModel(nn.Module):
    """A model of `transformers` that computes the logits of words at given positions, and those of pairs if it has this head."""

    # 15 % of the positions are predicted. Heads work position by position, so it is enough that they see the states
    # of these positions. With V = 30,522 this saves 85 % of the largest product of the model, and of its memory.

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.inner, self._positions = model, torch.empty(0)
        self._starts: Tensor | None = None
        model.base_model.register_forward_hook(self._select)

    def _select(self, module: Any, arguments: Any, output: Any) -> Any:
        hidden = output["last_hidden_state"]
        if self._starts is not None:  # packed pairs: the pooler reads the first token of each segment
            first = _at(hidden, self._starts)
            output["pooler_output"] = module.pooler(first.flatten(0, 1)[:, None]).view(first.shape)
        output["last_hidden_state"] = _at(hidden, self._positions)
        return output

    def forward(self, positions: Tensor, starts: Tensor | None = None, **arguments: Any) -> tuple[Tensor, Tensor | None]:
        """Return the logits of words at `positions` [B, P, V], and those of pairs [B, 2], or of `starts` [B, D, 2]."""
        self._positions, self._starts = positions, starts
        output = self.inner(**arguments)
        pairs = output.get("seq_relationship_logits", output.get("sop_logits"))
        return output["prediction_logits" if "prediction_logits" in output else "logits"], pairs


def _at(hidden: Tensor, positions: Tensor) -> Tensor:
    """Return the states [B, P, H] at positions [B, P]."""
    return hidden.gather(1, positions[:, :, None].expand(-1, -1, hidden.shape[2]))


def score(words: Tensor, relations: Tensor | None, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the summed losses of masked words and of pairs, and all sums that `reports.metrics.SUMS` names, in float64.

    words [B, P, V] and relations [B, (D,) 2] are logits. Without relations or ``next_sentence_label`` there
    is no pair loss.
    """
    labels, attention = batch["masked_lm_labels"], batch["attention_mask"]
    # Sums and not means, because the caller divides by the counts of the global batch. float()
    # because a softmax over the vocabulary needs more than 16 bits.
    logits = words.float().flatten(0, 1)
    mlm = functional.cross_entropy(logits, labels.flatten(), ignore_index=IGNORED, reduction="sum")
    sums = [mlm.detach(), (labels != IGNORED).sum(), (logits.detach().argmax(1) == labels.flatten()).sum()]
    nsp = none = torch.zeros((), device=labels.device)
    if relations is None or "next_sentence_label" not in batch:
        sums += [none, none, none]
    else:
        logits, truth = relations.float().flatten(0, -2), batch["next_sentence_label"].flatten()
        nsp = functional.cross_entropy(logits, truth, ignore_index=IGNORED, reduction="sum")
        sums += [nsp.detach(), (truth != IGNORED).sum(), (logits.detach().argmax(1) == truth).sum()]
    sums += [none + len(labels), attention.sum(), none + attention.numel()]
    return mlm, nsp, torch.stack([value.double() for value in sums])


class Learner:
    """A model, its optimizer and its loss scaler."""

    def __init__(self, recipe: Recipe, world: World) -> None:
        self.config, self.world, config = recipe.config, world, recipe.config
        self._target, self._vocab_size = recipe.encoder.target, recipe.encoder.config.vocab_size
        # Seed torch's generator before each use, with a key made from the use. So the weights do not
        # depend on earlier draws, and a resumed run needs no generator state.
        torch.manual_seed(keys.key(config.seed, "initial weights"))
        model = recipe.encoder.build()
        if config.gradient_checkpointing:
            # The older name warns in new versions of transformers.
            getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)()
        self.model = MaskedModel(model).to(world.device).train()
        self.named = {name: values for name, values in model.named_parameters() if values.requires_grad}
        # Weight decay pulls matrices towards zero. Norm weights and biases have one dimension and no decay.
        groups = [
            {"params": [values for values in self.named.values() if (values.ndim > 1) == matrices], "weight_decay": decay}
            for matrices, decay in ((True, config.optimizer.weight_decay), (False, 0.0))
        ]
        betas = config.optimizer.beta_1, config.optimizer.beta_2
        self.optimizer = torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=config.optimizer.epsilon, fused=True)
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=config.precision == "fp16")
        self._forward: Any = DistributedDataParallel(self.model) if world.size > 1 else self.model
        self._no_sync: Any = self._forward.no_sync if world.size > 1 else contextlib.nullcontext
        if config.compile:
            torch._dynamo.config.cache_size_limit = _MAX_GRAPHS
            self._forward = torch.compile(self._forward, dynamic=config.unpadded)

    def step(
        self, number: int, batch: dict[str, Tensor], micro_batches: int, stop: Callable[[], bool]
    ) -> tuple[list[float], float, bool, bool]:
        """Train on a batch, split into `micro_batches` for gradient accumulation. If `stop` returns True, all processes stop.

        Return the SUMS and gradient norm of the global batch, whether any process has to stop, and whether the step was taken.
        """
        config, device, ranks = self.config, self.world.device, self.world.size
        # Dropout: seeded by step and rank, so step 1000 drops the same units in a resumed run.
        torch.manual_seed(keys.key(config.seed, "dropout", number, self.world.rank))
        batch = {name: values.to(device, non_blocking=True) for name, values in batch.items()}
        labels = (batch["masked_lm_labels"], batch.get("next_sentence_label", torch.zeros(0, device=device)))
        # The loss is a mean over all predicted tokens of the global batch, so it needs their number
        # over all ranks before the first backward pass. A mean of the means of micro-batches would
        # give a token more weight if its micro-batch has few predictions.
        masked, pairs = (self.world.sum_((values != IGNORED).sum()) for values in labels)
        sums = torch.zeros(len(SUMS), dtype=torch.float64, device=device)
        # Gradient accumulation: the gradients of the micro-batches add up. Ranks exchange gradients
        # only in the last backward pass (`no_sync` before), which saves all other exchanges.
        chunks = list(zip(*(values.chunk(micro_batches) for values in batch.values()), strict=True))
        for index, chunk in enumerate(chunks):
            with contextlib.nullcontext() if index == len(chunks) - 1 else self._no_sync():
                rows = dict(zip(batch, chunk, strict=True))
                mlm, nsp, sums_of_chunk = score(*self._logits(self._forward, rows), rows)
                loss = (mlm / masked + nsp / pairs.clamp(1)) * ranks  # gradients are averaged over the ranks
                self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            sums += sums_of_chunk
        # fp16: gradients are scaled up against underflow. Undo that before clipping, because the
        # limit is for the true norm. The scaler does nothing with bf16 and fp32.
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.optimizer.clip_norm or math.inf)
        # One exchange for all numbers of the step: the sums of the metrics, the norm (equal on all
        # ranks, so the sum of norm / ranks is the norm), and whether any process must stop.
        more = torch.stack([norm / ranks, torch.full_like(norm, float(stop()))]).double()
        *totals, gradient, stops = self.world.sum_(torch.cat([sums, more])).tolist()
        # With fp16, an infinite gradient only means that the scale was too high: the scaler skips the update and halves the
        # scale. Otherwise the run fails, and the weights stay as they are.
        if finite := math.isfinite(sum(totals)) and (math.isfinite(gradient) or config.precision == "fp16"):
            for group in self.optimizer.param_groups:
                group["lr"] = config.rate(number)
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.model.zero_grad()
        return totals, gradient, stops > 0, finite

    def _logits(self, forward: Any, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """Return the logits of words and of pairs, computed by `forward`: the model, or its distributed or compiled wrapper."""
        dtype, starts = _DTYPES[self.config.precision], batch.get("document_starts")
        rows = unpadded(batch) if self._target.flash else batch
        arguments = inputs(rows, self._target)
        if starts is not None and self._target.pair_label:
            arguments["starts"] = starts
        with torch.autocast(self.world.device.type, dtype=dtype, enabled=dtype != torch.float32):
            return cast("tuple[Tensor, Tensor | None]", forward(rows["masked_lm_positions"], **arguments))

    @torch.no_grad()
    def evaluate(self, loader: Iterable[tuple[dict[str, Tensor], Any]], origins: int) -> tuple[list[list[float]], float]:
        """Return SUMS [origins] over the batches of all processes, and the entropy of the masked words' unigram distribution.

        `loader` yields the batches of this process, each with the origins of its rows [B].
        """
        self.model.eval()
        sums = torch.zeros(origins, len(SUMS), dtype=torch.float64, device=self.world.device)
        counts = torch.zeros(self._vocab_size, dtype=torch.float64, device=self.world.device)
        for batch, row_origins in loader:
            batch = {name: values.to(self.world.device) for name, values in batch.items()}
            words, relations = self._logits(self.model, batch)  # unpadded logits are [1, B P, V]: split them into rows again
            words = words.view(len(row_origins), -1, words.shape[-1])
            for origin in set(row_origins.tolist()):
                rows = torch.from_numpy(row_origins == origin).to(self.world.device)
                selected = {name: values[rows] for name, values in batch.items()}
                sums[origin] += score(words[rows], None if relations is None else relations[rows], selected)[2]
            labels = batch["masked_lm_labels"]
            counts += torch.bincount(labels[labels != IGNORED], minlength=len(counts))
        self.model.train()
        masked = self.world.sum_(counts).sum()  # in place: from here on, `counts` has those of all processes
        # The entropy of a sample is too low by (words seen - 1) / 2n: Miller 1955.
        entropy = -torch.special.xlogy(counts / masked, counts / masked).sum() + ((counts > 0).sum() - 1) / (2 * masked)
        return self.world.sum_(sums).tolist(), entropy.item()

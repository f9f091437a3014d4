"""Pretrain BERT with a module that contains its data and its steps, for Lightning and similar frameworks.

    python examples/lightning_style.py pairs-128 --steps 1000

`Pretraining` has the methods of a `LightningModule`.  If Lightning is installed (``pip install lightning``), it is one, and
`lightning.Trainer` trains it without adding samplers, because the batches are already split by rank.  Otherwise `fit` calls
the methods like a trainer.  If the pairs have a validation split, its loss is printed at the end.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import bertdata
from bertdata.errors import UsageError


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="a directory that make-pairs wrote")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--hidden", type=int, default=768, help="12 layers at 768; use less for a quick test")
    return parser.parse_args()


try:
    import torch
    import transformers
    from torch.utils.data import DataLoader
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers") from None

Batch = dict[str, torch.Tensor]


class Plain(torch.nn.Module):
    """The attributes of a LightningModule that refer to its trainer, for use without Lightning."""

    global_step, global_rank = 0, 0
    trainer = None


try:
    import lightning

    Base: Any = lightning.LightningModule
except ImportError:
    Base = Plain


class Pretraining(Base):  # type: ignore[misc]
    """BERT with both of its heads, and the batches it is trained on."""

    def __init__(self, pairs: Path, batch_size: int, steps: int, hidden: int = 768, rate: float = 1e-4) -> None:
        super().__init__()
        self.pairs, self.batch_size, self.steps, self.rate = pairs, batch_size, steps, rate
        self.shards = bertdata.Shards(pairs)
        size = {"hidden_size": hidden, "num_hidden_layers": max(2, hidden // 64), "num_attention_heads": max(2, hidden // 64)}
        size |= {"intermediate_size": 4 * hidden, "max_position_embeddings": max(512, self.shards.max_seq_length)}
        config = transformers.BertConfig(vocab_size=self.shards.vocab_size, **size)
        self.model = transformers.BertForPreTraining(config)

    def train_dataloader(self) -> DataLoader[Batch]:
        """Return the remaining batches."""
        left = self.steps - self.global_step
        return self._batches(self.shards, start_step=self.global_step, steps=left, workers=2)

    def val_dataloader(self) -> DataLoader[Batch]:
        """Return every row of the validation split once, with the same masks each time."""
        return self._batches(bertdata.Shards(self.pairs, split="validation"), whole=True)

    def _batches(self, shards: bertdata.Shards, **options: Any) -> DataLoader[Batch]:
        ranks = {"rank": self.global_rank, "world_size": self.trainer.world_size if self.trainer else 1}
        return bertdata.batches(shards, self.batch_size, **ranks, for_model=self.model, **options)

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        """Return the loss of a batch."""
        loss: torch.Tensor = self.model(**batch).loss
        return loss

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Print the loss of a step; Lightning passes the result of `training_step` as a dict."""
        loss = outputs["loss"] if isinstance(outputs, dict) else outputs
        print(f"step {batch_idx + 1}  loss {float(loss.detach()):.4f}", flush=True)

    def validation_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        """Return the loss of a batch of the validation split."""
        return self.training_step(batch, batch_idx)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer."""
        return torch.optim.AdamW(self.parameters(), lr=self.rate)


def fit(module: Pretraining) -> None:
    """Train with Lightning, or with a minimal loop."""
    if Base is not Plain:
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
        trainer = lightning.Trainer(max_steps=module.steps, use_distributed_sampler=False, limit_val_batches=0, **quiet)
        trainer.fit(module)
        return
    optimizer = module.configure_optimizers()
    module.train()
    for number, batch in enumerate(module.train_dataloader()):
        optimizer.zero_grad()
        loss = module.training_step(batch, number)
        torch.autograd.backward(loss)
        optimizer.step()
        module.global_step += 1
        module.on_train_batch_end(loss, batch, number)


@torch.no_grad()
def validate(module: Pretraining) -> float:
    """Return the mean loss of the validation split's batches."""
    module.eval()
    losses = [float(module.validation_step(batch, number)) for number, batch in enumerate(module.val_dataloader())]
    return sum(losses) / len(losses)


def main() -> None:
    """Train for some steps, then validate."""
    options = parse()
    torch.manual_seed(0)
    module = Pretraining(options.pairs, options.batch_size, options.steps, options.hidden, options.learning_rate)
    fit(module)
    try:
        print(f"validation loss {validate(module):.4f}")
    except UsageError as error:
        print(f"not validated: {error}")


if __name__ == "__main__":
    try:
        main()
    except bertdata.BertDataError as error:
        raise SystemExit(str(error)) from None

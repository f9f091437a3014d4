"""Pretrain BERT in your own training loop: bertdata provides the batches.

    python examples/train_loop.py pairs-128 --steps 1000 --checkpoint bert.pt
    torchrun --nproc-per-node 8 examples/train_loop.py pairs-128 --steps 100000 --batch-size 256 --checkpoint bert.pt

If you stop it and start it again, with any number of workers and processes, it continues with the next batch: the step number is
the complete state of the data.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import bertdata


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, nargs="+", help="directories that make-pairs wrote")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=32, help="total over all processes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--hidden", type=int, default=768, help="12 layers at 768; use less for a quick test")
    parser.add_argument("--checkpoint", type=Path, required=True, help="file to resume from, and to write at the end")
    return parser.parse_args()


try:
    import torch
    import transformers
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers") from None


def main() -> None:
    """Train for some steps, starting at the step of the checkpoint."""
    options = parse()
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))

    # The data.
    shards = bertdata.Shards(options.pairs)
    state = read(options.checkpoint, shards)
    first = int(state.get("step", 0))
    if first >= options.steps:
        if rank == 0:
            print(f"{options.checkpoint} has {first} steps: nothing to do; --steps says how many there are to be")
        return
    if world_size > 1:
        torch.distributed.init_process_group()
    model, optimizer = restore(state, shards, options.hidden, options.learning_rate)
    batches = bertdata.batches(
        shards,
        options.batch_size,
        rank=rank,
        world_size=world_size,
        start_step=first,
        steps=options.steps - first,
        workers=options.workers,
        for_model=model,
    )

    # The training.
    network = torch.nn.parallel.DistributedDataParallel(model) if world_size > 1 else model
    for step, batch in enumerate(batches, first):
        loss = network(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step}  loss {loss.item():.4f}", flush=True)
    if rank == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": options.steps, "data": shards.identity}
        torch.save(state, options.checkpoint)


def read(checkpoint: Path, shards: bertdata.Shards) -> dict[str, Any]:
    """Return the content of a checkpoint of these pairs, {} if there is no file."""
    if not checkpoint.exists():
        return {}
    state: dict[str, Any] = torch.load(checkpoint, weights_only=True)
    if state["data"] != shards.identity:
        raise SystemExit(f"{checkpoint} was trained on other pairs. Pass those pairs, or another --checkpoint")
    return state


def restore(state: dict[str, Any], shards: bertdata.Shards, hidden: int, rate: float) -> tuple[Any, torch.optim.Optimizer]:
    """Return model and optimizer, restored from a checkpoint or new."""
    torch.manual_seed(0)
    size = {"hidden_size": hidden, "num_hidden_layers": max(2, hidden // 64), "num_attention_heads": max(2, hidden // 64)}
    size |= {"intermediate_size": 4 * hidden, "max_position_embeddings": max(512, shards.max_seq_length)}
    config = transformers.BertConfig(vocab_size=shards.vocab_size, **size)
    model = transformers.BertForPreTraining(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    if state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    return model, optimizer


if __name__ == "__main__":
    try:
        main()
    except bertdata.BertDataError as error:
        raise SystemExit(str(error)) from None

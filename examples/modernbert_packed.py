"""Pretrain a small ModernBERT on packed rows, without attention between documents.

    bertdata make-pairs corpus --vocab vocab --objective documents --pack --max-seq-length 1024 --output rows-1024
    python examples/modernbert_packed.py rows-1024 --steps 1000

The attention masks are for PyTorch's own attention, so the example runs on any machine.  They are created on the model's device.
The share of masked tokens decreases from 0.30 to 0.15 over the run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import bertdata


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+", help="directories that make-pairs wrote with --objective documents --pack")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    return parser.parse_args()


try:
    import torch
    import transformers

    from bertdata.training import attention, models
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers") from None


def main() -> None:
    """Train for some steps, and print the loss of each."""
    options = parse()
    shards = bertdata.Shards(options.rows)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = build(shards, options.hidden, options.layers).to(device)
    models.target_of(model).check(shards)  # raises for rows that the model cannot train on
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
    masks = bertdata.MaskConfig(0.30)
    batches = bertdata.batches(
        shards,
        options.batch_size,
        steps=options.steps,
        masks=masks,
        workers=options.workers,
        for_model="custom",
    )
    for step, batch in enumerate(batches):
        on_device = {name: values.to(device) for name, values in batch.items()}
        loss = model(**attention.for_transformers(on_device, model)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}  loss {loss.item():.4f}", flush=True)


def build(shards: bertdata.Shards, hidden: int, layers: int) -> Any:
    """Return a new model for these rows."""
    tokens = shards.special
    special = {"pad_token_id": tokens.pad, "cls_token_id": tokens.cls, "sep_token_id": tokens.sep}
    special |= {"bos_token_id": tokens.cls, "eos_token_id": tokens.sep}
    config = transformers.ModernBertConfig(
        vocab_size=shards.vocab_size,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=max(1, hidden // 64),
        intermediate_size=hidden * 3 // 2,
        max_position_embeddings=shards.max_seq_length,
        attn_implementation="sdpa",
        **special,
    )
    return transformers.ModernBertForMaskedLM(config)


if __name__ == "__main__":
    try:
        main()
    except bertdata.BertDataError as error:
        raise SystemExit(str(error)) from None

"""Prepare the same corpus for GPT as full rows of running text, and train a small GPT-2 on it.

    bertdata make-pairs corpus --vocab vocab --objective causal --validation-fraction 0.1 --output rows
    python examples/gpt.py rows --steps 1000

Rows of `--objective causal` are running text, cut every `--max-seq-length` tokens, with ``[SEP]`` after each document.
Masks are not used. The labels are the ids, which the model shifts by one.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import bertdata


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "rows", type=Path, help="a directory that make-pairs wrote with --objective causal and --validation-fraction"
    )
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    return parser.parse_args()


try:
    import torch
    import transformers
except ImportError as lacking:
    parse()  # --help works without these packages
    raise SystemExit(f"{lacking}: pip install torch transformers") from None


def main() -> None:
    """Train for some steps, and print the perplexity on held-out text."""
    options = parse()
    torch.manual_seed(0)
    shards, held_out = bertdata.Shards(options.rows), bertdata.Shards(options.rows, split="validation")
    end = shards.special.sep
    size = {"n_embd": options.hidden, "n_layer": options.layers, "n_head": max(2, options.hidden // 64)}
    config = transformers.GPT2Config(
        vocab_size=shards.vocab_size, n_positions=shards.max_seq_length, bos_token_id=end, eos_token_id=end, **size
    )
    model = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
    for step, batch in enumerate(bertdata.batches(shards, options.batch_size, steps=options.steps, for_model=model)):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}  loss {loss.item():.4f}", flush=True)
    batches = bertdata.batches(held_out, options.batch_size, whole=True, for_model=model)
    with torch.no_grad():
        found = [float(model.eval()(**batch).loss) for batch in batches]
    print(f"held out: perplexity {math.exp(sum(found) / len(found)):.1f}, of {shards.vocab_size} pieces")


if __name__ == "__main__":
    try:
        main()
    except bertdata.BertDataError as error:
        raise SystemExit(str(error)) from None

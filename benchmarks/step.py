"""Measure a training step: bertdata's BERT beside Hugging Face's, the loader's share, and peak memory.

    python benchmarks/step.py                            # base in bf16 at 128 and 512 on a GPU; a tiny one in fp32 on a CPU
    python benchmarks/step.py --size base --lengths 128 --batch 32 --precision bf16 --compile

A step is forward, backward, clipping and Adam on one batch, with dropout.  Both models take the same batches in turn, in one run,
from a data set of pairs that is made for it: rows as long as the length, 15 % masked.  Hugging Face's model has the same weights,
is trained by the same optimizer, and computes words at all positions, as it does; ours at the masked ones.
On a CPU times are of the process' CPU, on a GPU from the first batch to the last, waited for.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertdata import Shards
from bertdata.build.rows.commit import describe
from bertdata.config import PairsConfig
from bertdata.config.train import ModelConfig, OptimizerConfig
from bertdata.dataset import manifest, shards
from bertdata.io.files import file_entry
from bertdata.report import card
from bertdata.tally import Tally
from bertdata.tokens import vocab
from bertdata.training import loader
from bertdata.training.trainer.model import BertForPreTraining, score
from bertdata.training.trainer.optimizer import AdamWeightDecay

SIZES = {
    "tiny": ModelConfig(vocab_size=30522, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512),
    "base": ModelConfig(vocab_size=30522),
}
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
ROWS = 4096
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
Batch = dict[str, Tensor]
Losses = Callable[[Batch], Tensor]


def main() -> int:
    """Print a line for each length and model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="base" if CUDA else "tiny")
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 512] if CUDA else [128])
    parser.add_argument("--batch", type=int, default=0, help="rows in a batch; by default 32,768 tokens on a GPU, 2,048 on a CPU")
    parser.add_argument("--precision", choices=TYPES, default="bf16" if CUDA else "fp32")
    parser.add_argument("--compile", action="store_true", help="compile both models")
    parser.add_argument("--steps", type=int, default=30 if CUDA else 6, help="steps that are measured, of each model")
    options = parser.parse_args()
    print(
        f"{torch.cuda.get_device_name() if CUDA else 'CPU'}, torch {torch.__version__}, BERT {options.size}, {options.precision}"
    )
    for length in options.lengths:
        rows = options.batch or (32768 if CUDA else 2048) // length
        with tempfile.TemporaryDirectory() as directory:
            data = _pairs(Path(directory), length)
            batches = loader.batches(Shards(data), rows, steps=10**6, widths=[length], workers=2 if CUDA else 0, pin_memory=CUDA)
            _measure(options, length, rows, iter(batches))
    return 0


def _measure(options: argparse.Namespace, length: int, rows: int, batches: Iterator[Batch]) -> None:
    """Train both models on the same batches in turn; print times, rates, memory, and the time that is spent on the loader."""
    models = _models(SIZES[options.size], options.compile)
    steps = {name: _Step(model, losses, TYPES[options.precision]) for name, (model, losses) in models.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    peaks = dict.fromkeys(steps, 0.0)
    waits = []
    for number in range(-3, options.steps):  # the first three warm up
        started = _now()
        batch = {name: values.to(DEVICE, non_blocking=True) for name, values in next(batches).items()}
        waits.append(_now() - started)
        for name, step in steps.items():
            if CUDA:
                torch.cuda.reset_peak_memory_stats()
            started = _now()
            step(batch)
            if number >= 0:
                times[name].append(_now() - started)
            peaks[name] = torch.cuda.max_memory_allocated() / 1e9 if CUDA else 0.0
    middle = {name: statistics.median(spent) for name, spent in times.items()}
    wait = statistics.median(waits[3:])
    for name, seconds in middle.items():
        memory = f"  peak {peaks[name]:.1f} GB (both models' weights in it)" if CUDA else ""
        print(
            f"{rows} x {length}  {name:14} {1000 * seconds:8.1f} ms a step  {rows / seconds:8.0f} sequences/s  "
            f"{seconds / middle['bertdata']:.2f} x{memory}"
        )
    started = _now()
    for _ in range(20):
        next(batches)
    alone = (_now() - started) / 20
    share = f"{1000 * wait:8.1f} ms a step are waited for, {wait / middle['bertdata']:.1%} of ours"
    print(f"{rows} x {length}  loader         {share}; {1000 * alone:.1f} ms a batch with nothing else to do")


def _now() -> float:
    if CUDA:
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def _models(config: ModelConfig, compiled: bool) -> dict[str, tuple[nn.Module, Losses]]:
    """Return each model with what makes the loss of a batch."""
    torch.manual_seed(0)
    ours = BertForPreTraining(config).to(DEVICE)
    run: Any = torch.compile(ours, dynamic=False) if compiled else ours

    def own(batch: Batch) -> Tensor:
        words, relations = run(
            *(batch[name] for name in ("input_ids", "token_type_ids", "attention_mask", "masked_lm_positions"))
        )
        mlm, nsp, sums = score(words, relations, batch)
        return mlm / sums[1].float() + nsp / len(words)

    found: dict[str, tuple[nn.Module, Losses]] = {"bertdata": (ours, own)}
    try:
        import transformers
    except ImportError:
        print("Hugging Face's model is left out: pip install transformers", file=sys.stderr)
        return found
    theirs: Any = transformers.BertForPreTraining(transformers.BertConfig(**dataclasses.asdict(config)))
    theirs.to(DEVICE)
    theirs.load_state_dict(ours.state_dict(), strict=False)
    theirs.tie_weights()
    their: Any = torch.compile(theirs, dynamic=False) if compiled else theirs

    def other(batch: Batch) -> Tensor:
        labels = torch.full_like(batch["input_ids"], -100)
        labels.scatter_(1, batch["masked_lm_positions"], batch["masked_lm_labels"])
        names = ("input_ids", "token_type_ids", "attention_mask", "next_sentence_label")
        loss: Tensor = their(**{name: batch[name] for name in names}, labels=labels).loss
        return loss

    return {**found, "transformers": (theirs.train(), other)}


class _Step:
    """Forward, backward, clipping and Adam."""

    def __init__(self, model: nn.Module, losses: Losses, kind: torch.dtype) -> None:
        self.model, self.losses, self.kind = model, losses, kind
        self.optimizer = AdamWeightDecay(model, OptimizerConfig())

    def __call__(self, batch: Batch) -> None:
        with torch.autocast(DEVICE.type, dtype=self.kind, enabled=self.kind != torch.float32):
            loss = self.losses(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step(1e-4)
        self.model.zero_grad()


def _pairs(root: Path, length: int) -> Path:
    """Write pairs of random words, all of one length."""
    pieces = [*vocab.SPECIAL, *(f"w{number}" for number in range(30522 - len(vocab.SPECIAL)))]
    generator = np.random.default_rng(0)
    ids = generator.integers(len(vocab.SPECIAL), len(pieces), (ROWS, length))
    ids[:, 0], ids[:, length // 2], ids[:, -1] = (pieces.index(name) for name in ("[CLS]", "[SEP]", "[SEP]"))
    columns = {
        "ends": np.arange(ROWS + 1) * length,
        "input_ids": ids.astype(np.uint16).ravel(),
        "token_type_ids": np.tile(np.arange(length) > length // 2, ROWS).astype(np.uint8),
        "next_sentence_label": np.arange(ROWS) % 2,
    }
    config, schema = PairsConfig(max_seq_length=length, shards=1), shards.pair_schema(len(pieces), columns)
    entry = shards.write(
        root, shards.name("train", 0, 1, config.format), schema, [shards.pair_batch(schema, columns)], config.format
    )
    names = vocab.write(root, vocab.Vocabulary(pieces, True, True))
    about: dict[str, Any] = {"files": [file_entry(root, name) for name in names], "vocab_size": len(pieces)}
    tally = Tally("rows", entered=ROWS, left=ROWS)
    counts = Counter(rows=ROWS, documents=ROWS, tokens=ROWS * length, ones=ROWS // 2, text_tokens=ROWS * length)
    about |= {"statistics": describe(counts, config), "splits": {"train": {"shards": 1, **describe(counts, config)}}}
    made = manifest.make("pairs", config=config.identity(), inputs=[], shards=[entry], tallies=[tally], **about)
    manifest.write(root, made, card.write(made))
    return root


if __name__ == "__main__":
    sys.exit(main())

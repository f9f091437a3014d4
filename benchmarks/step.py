"""Measure a training step: bertdata's BERT compared with Hugging Face's, the loader's share, and peak memory.

    python benchmarks/step.py      # base in bf16 at 128, 512 and 1,024 packed on a GPU; a tiny one in fp32 on a CPU
    python benchmarks/step.py --size base --lengths 128 --packed --batch 32 --precision bf16 --compile

A step is forward, backward, clipping and Adam on one batch, with dropout.  Both models train on the same batches in turn, in one
run, from a generated dataset of pairs of full length, 15 % masked.  Hugging Face's model has the same weights,
uses the same optimizer, and like ours computes logits only at the masked positions, which takes its user a few lines;
its default forward computes them at all positions.

Packed rows are full of segments of 16 tokens up to the row length.  Attention has no dropout and is separate for each segment: in
ours without padding, with a varlen kernel; in ours as rows, with blocks; in theirs, with a mask of each pair of positions.
Times are CPU time on a CPU, and synchronized wall time from the first to the last batch on a GPU.
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
from ratios import ratio
from torch import Tensor, nn
from torch.nn import functional

from bertdata import Shards
from bertdata.config import PairsConfig
from bertdata.config.train import ModelConfig, OptimizerConfig
from bertdata.dataset import manifest, shards
from bertdata.dataset.manifest_types import PairsManifest
from bertdata.labels import IGNORED
from bertdata.reports import card
from bertdata.stages.rows.commit import describe
from bertdata.tally import Tally
from bertdata.tokens import vocab
from bertdata.training import attention, loader
from bertdata.training.trainer.model import BertForPreTraining, score
from bertdata.training.trainer.optimizer import Optimizer

SIZES = {
    "tiny": ["--lengths 32 --packed 64 --batch 4 --steps 1"],
    "small": [""],
    "full": ["--steps 20"],
}
MODELS = {
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
    parser.add_argument("--size", choices=MODELS, default="base" if CUDA else "tiny")
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 512] if CUDA else [128])
    parser.add_argument("--packed", type=int, nargs="*", default=[1024] if CUDA else [128], help="lengths of packed rows")
    parser.add_argument("--batch", type=int, default=0, help="rows in a batch; by default 32,768 tokens on a GPU, 2,048 on a CPU")
    parser.add_argument("--precision", choices=TYPES, default="bf16" if CUDA else "fp32")
    parser.add_argument("--compile", action="store_true", help="compile both models")
    parser.add_argument("--steps", type=int, default=30 if CUDA else 6, help="steps that are measured, of each model")
    options = parser.parse_args()
    print(
        f"{torch.cuda.get_device_name() if CUDA else 'CPU'}, torch {torch.__version__}, BERT {options.size}, {options.precision}"
    )
    for length, packed in [*((length, False) for length in options.lengths), *((length, True) for length in options.packed)]:
        rows = options.batch or (32768 if CUDA else 2048) // length
        with tempfile.TemporaryDirectory() as directory:
            data = _data(Path(directory), length, packed)
            format, workers = loader.BatchFormat(widths=(length,)), 2 if CUDA else 0
            batches = loader.batches(Shards(data), rows, steps=10**6, format=format, workers=workers, pin_memory=CUDA)
            _measure(options, length, rows, packed, iter(batches))
    return 0


def _measure(options: argparse.Namespace, length: int, rows: int, packed: bool, batches: Iterator[Batch]) -> None:
    """Train the models on the same batches in turn. Print times, rates, memory, and the time spent on the loader."""
    shape = dataclasses.replace(MODELS[options.size], max_position_embeddings=max(512, length))
    shape = dataclasses.replace(shape, attention_probs_dropout_prob=0.0) if packed else shape
    models, what = _models(shape, packed, options), f"{rows} x {length}{' packed' if packed else ''}"
    steps = {name: _Step(model, losses, TYPES[options.precision]) for name, (model, losses) in models.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    peaks = dict.fromkeys(steps, 0.0)
    waits, tokens = [], []
    warm = min(3, options.steps)
    for number in range(-warm, options.steps):
        started = _now()
        batch = {name: values.to(DEVICE, non_blocking=True) for name, values in next(batches).items()}
        waits.append(_now() - started)
        tokens.append(int(batch["attention_mask"].sum()))
        for name, step in steps.items():
            if CUDA:
                torch.cuda.reset_peak_memory_stats()
            started = _now()
            step(batch)
            if number >= 0:
                times[name].append(_now() - started)
            peaks[name] = torch.cuda.max_memory_allocated() / 1e9 if CUDA else 0.0
    middle = {name: statistics.median(spent) for name, spent in times.items()}
    wait = statistics.median(waits[warm:])
    for name, seconds in middle.items():
        memory = f"  peak {peaks[name]:.1f} GB (all models' weights in it)" if CUDA else ""
        print(
            f"{what}  {name:14} {1000 * seconds:8.1f} ms a step  {rows / seconds:8.0f} rows/s  "
            f"{statistics.fmean(tokens) / seconds:9.0f} tokens/s  {seconds / middle['bertdata']:.2f} x{memory}"
        )
    if "transformers" in middle:
        ours, theirs = (1000 * middle[name] for name in ("bertdata", "transformers"))
        ratio(f"training step, {options.size} BERT, {what}", ours, "ms", "transformers, masked positions", theirs, less=True)
    started = _now()
    for _ in range(20):
        next(batches)
    alone = (_now() - started) / 20
    share = f"{1000 * wait:8.1f} ms a step are waited for, {wait / middle['bertdata']:.1%} of ours"
    print(f"{what}  loader         {share}; {1000 * alone:.1f} ms a batch with nothing else to do")


def _now() -> float:
    if CUDA:
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def _models(config: ModelConfig, packed: bool, options: argparse.Namespace) -> dict[str, tuple[nn.Module, Losses]]:
    """Return each model with its loss function of a batch."""
    found = {"bertdata": _ours(config, options.compile, unpadded=packed)}
    if packed:
        found["bertdata, rows"] = _ours(config, options.compile)
    try:
        import transformers
    except ImportError:
        print("Hugging Face's model is left out: pip install transformers", file=sys.stderr)
        return found
    kind = transformers.BertForMaskedLM if packed else transformers.BertForPreTraining
    theirs: Any = kind(transformers.BertConfig(**dataclasses.asdict(config)))
    theirs.to(DEVICE)
    theirs.load_state_dict(found["bertdata"][0].state_dict(), strict=False)
    theirs.tie_weights()
    their: Any = torch.compile(theirs.bert, dynamic=False) if options.compile else theirs.bert

    def other(batch: Batch) -> Tensor:
        if packed:
            told = attention.for_transformers({**batch, "labels": batch["input_ids"]}, theirs)
            told.pop("labels")
        else:
            told = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
        output = their(**told)
        used = batch["masked_lm_labels"] != IGNORED
        row, nth = used.nonzero(as_tuple=True)
        hidden = output.last_hidden_state[row, batch["masked_lm_positions"][row, nth]]
        words = (theirs.cls if packed else theirs.cls.predictions)(hidden).float()
        loss = functional.cross_entropy(words, batch["masked_lm_labels"][used])
        if packed:
            return loss
        return loss + functional.cross_entropy(theirs.cls.seq_relationship(output.pooler_output), batch["next_sentence_label"])

    return {**found, "transformers": (theirs.train(), other)}


def _ours(config: ModelConfig, compiled: bool, unpadded: bool = False) -> tuple[nn.Module, Losses]:
    torch.manual_seed(0)
    model = BertForPreTraining(config).to(DEVICE)
    run: Any = torch.compile(model, dynamic=unpadded) if compiled else model

    def losses(batch: Batch) -> Tensor:
        words, relations = run(**attention.for_bert(batch, unpadded=unpadded))
        mlm, nsp, sums = score(words, relations, batch)
        return mlm / sums[1].float() + nsp / len(batch["input_ids"])

    return model, losses


class _Step:
    """Forward, backward, clipping and Adam."""

    def __init__(self, model: nn.Module, losses: Losses, kind: torch.dtype) -> None:
        self.model, self.losses, self.kind = model, losses, kind
        self.optimizer = Optimizer(model, OptimizerConfig())

    def __call__(self, batch: Batch) -> None:
        with torch.autocast(DEVICE.type, dtype=self.kind, enabled=self.kind != torch.float32):
            loss = self.losses(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step(1e-4)
        self.model.zero_grad()


def _data(root: Path, length: int, packed: bool) -> Path:
    """Write rows of random words, all of one length: pairs, or packed rows with segments of many lengths."""
    pieces = [*vocab.SPECIAL, *(f"w{number}" for number in range(30522 - len(vocab.SPECIAL)))]
    generator = np.random.default_rng(0)
    ids = generator.integers(len(vocab.SPECIAL), len(pieces), (ROWS, length))
    columns: dict[str, Any] = {"ends": np.arange(ROWS + 1) * length, "token_type_ids": np.zeros(ROWS * length, np.uint8)}
    if packed:
        starts = [_starts(generator, length) for _ in range(ROWS)]
        columns |= {"document_starts": np.concatenate(starts), "part_ends": np.cumsum([0, *map(len, starts)])}
        for row, own in zip(ids, starts, strict=True):
            row[own], row[[*(own[1:] - 1), -1]] = pieces.index("[CLS]"), pieces.index("[SEP]")
    else:
        ids[:, 0], ids[:, length // 2], ids[:, -1] = (pieces.index(name) for name in ("[CLS]", "[SEP]", "[SEP]"))
        types = np.tile(np.arange(length) > length // 2, ROWS).astype(np.uint8)
        columns |= {"token_type_ids": types, "next_sentence_label": np.arange(ROWS) % 2}
    columns["input_ids"] = ids.astype(np.uint16).ravel()
    config = PairsConfig(objective="documents" if packed else "nsp", pack=packed, max_seq_length=length, shards=1)
    schema = shards.pair_schema(len(pieces), columns)
    batch = shards.pair_batch(schema, columns)
    entry = shards.write(root, shards.name("train", 0, 1), schema, [batch])
    names = vocab.write(root, vocab.from_tokens(pieces, True, True))
    tally = Tally("rows", entered=ROWS, left=ROWS)
    parts = len(columns["part_ends"]) if packed else 0
    counts = Counter(rows=ROWS, parts=parts, documents=ROWS, tokens=ROWS * length, ones=ROWS // 2, text_tokens=ROWS * length)
    made = PairsManifest(
        **manifest.head("pairs", config, [entry], [tally]),
        inputs=[],
        shards=[entry],
        files=[manifest.entry(root, name) for name in names],
        vocab_size=len(pieces),
        statistics=describe(counts, config),
        splits={"train": describe(counts, config, shards=1)},
    )
    manifest.store(root, made, card.write(made))
    return root


def _starts(generator: np.random.Generator, length: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the segment starts of a row. Lengths are log-uniform, which is close to those of articles."""
    sizes = np.exp(generator.uniform(np.log(16), np.log(length), length // 16)).astype(np.int64)
    starts = np.append(0, np.cumsum(sizes))
    return starts[starts < length - 8]


if __name__ == "__main__":
    sys.exit(main())

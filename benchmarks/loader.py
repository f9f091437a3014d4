"""Measure the loader in rows per second, compared with loaders that a skilled user writes in an hour.

    python benchmarks/loader.py                            English dumps and books of ../shared/data, or the sample
    python benchmarks/loader.py --workers 0 --seconds 10

The others are a NumPy collator on rows of `datasets` and of litdata. All loaders return the same rows, shuffled and masked, in
the same tensors: padded, or joined without padding for packed rows. They take turns in one run, and the median of the rounds
counts: CPU time without workers, wall time with workers. What the others lack: the share of masked tokens is right only on
average, order and masks depend on the state of a generator and on the number of workers, and a resumed run has others.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from inputs import heading, rows
from torch.utils.data import DataLoader

import bertdata
from bertdata.dataset.rows import Shards

WARM, ROUNDS, SHARE = 10, 5, 0.15  # untimed warm-up batches; rounds; share of masked tokens
Make = Callable[[], Iterable[Any]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, action="append", help="may be repeated  [default: 0 and 2]")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long to measure each loader  [default: 4]")
    parser.add_argument("--work", type=Path, help="directory for inputs, which later runs use again")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(heading())
    print("\n| rows, workers | loader | tokens/s | ratio |\n|---|---|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        pairs = rows(work, "pairs", bertdata.PairsConfig())
        packed = rows(work, "packed", bertdata.PairsConfig(objective="documents", max_seq_length=1024, pack=True))
        for path, batch_size in ((pairs, 128), (packed, 16)):
            for workers in options.workers or [0, 2]:
                compare(Shards(path), batch_size, workers, options.seconds, Path(scratch))


def compare(shards: Shards, batch_size: int, workers: int, seconds: float, work: Path) -> None:
    """Measure all loaders on a dataset, and print their rows of the table."""
    shape: dict[str, Any] = {"unpadded": True} if shards.packed else {"widths": [shards.max_seq_length]}  # as the others
    runs: dict[str, Make] = {"bertdata": lambda: bertdata.batches(shards, batch_size, steps=1 << 30, workers=workers, **shape)}
    runs |= alternatives(shards, batch_size, workers, work)
    per_batch = batch_size * float(shards.lengths.mean())
    rates = {name: rate * per_batch for name, rate in measure(runs, seconds, by_clock=workers > 0).items()}
    kind = f"{'packed, ' if shards.packed else ''}up to {shards.max_seq_length} tokens, {workers} workers"
    for name, rate in rates.items():
        print(f"| {kind} | {name} | {rate:,.0f} | {rates['bertdata'] / rate:.2f} |", flush=True)


def measure(runs: dict[str, Make], seconds: float, *, by_clock: bool) -> dict[str, float]:
    """Return the batches per second of each loader: the median of rounds in which all take turns."""
    clock = time.perf_counter if by_clock else time.process_time
    iterators = {name: iter(make()) for name, make in runs.items()}
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(ROUNDS):
        for name, batches in iterators.items():
            for _ in range(WARM if number == 0 else 1):
                next(batches)
            start, count = clock(), 0
            while (took := clock() - start) < seconds / ROUNDS:
                next(batches)
                count += 1
            found[name].append(count / took)
    return {name: statistics.median(rates) for name, rates in found.items()}


class Collator:
    """Mask rows, and join packed rows or pad the others."""

    def __init__(self, shards: Shards) -> None:
        self.size, self.special, self.packed = shards.vocab_size, shards.special, shards.packed
        self.never = np.zeros(shards.vocab_size, bool)
        self.never[sorted(shards.special.never)] = True
        self.random = np.random.default_rng(0)

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        return self._joined(rows) if self.packed else self._padded(rows)

    def _joined(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        ids = np.concatenate([row["input_ids"] for row in rows]).astype(np.int64)
        begins = np.cumsum([0, *(len(row["input_ids"]) for row in rows)])
        starts = np.concatenate([*(row["document_starts"] + at for row, at in zip(rows, begins, strict=False)), begins[-1:]])
        sizes = np.diff(starts)
        batch = {"input_ids": ids, "labels": self._mask(ids), "position_ids": np.arange(len(ids)) - np.repeat(starts[:-1], sizes)}
        batch |= {"cu_seqlens": starts.astype(np.int32), "token_type_ids": np.zeros_like(ids)}
        return {**{name: torch.from_numpy(values) for name, values in batch.items()}, "max_seqlen": int(sizes.max())}

    def _padded(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        lengths = np.array([len(row["input_ids"]) for row in rows])
        seen = np.arange(lengths.max()) < lengths[:, None]
        batch = {"attention_mask": seen.astype(np.int64)}
        for name, fill in (("input_ids", self.special.pad), ("token_type_ids", 0)):
            batch[name] = np.full(seen.shape, fill, np.int64)
            batch[name][seen] = np.concatenate([row[name] for row in rows])
        batch["labels"] = self._mask(batch["input_ids"])
        batch["next_sentence_label"] = np.array([row["next_sentence_label"] for row in rows], np.int64)
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def _mask(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Mask ids in place, and return labels."""
        chosen = (self.random.random(ids.shape, np.float32) < SHARE) & ~self.never[ids]
        labels, at = np.where(chosen, ids, -100), np.flatnonzero(chosen)
        kinds, flat = self.random.random(len(at), np.float32), ids.reshape(-1)
        flat[at[kinds < 0.8]] = self.special.mask
        words = at[kinds >= 0.9]
        flat[words] = self.random.integers(0, self.size, len(words))
        return labels


class _Rows(torch.utils.data.Dataset[Any]):
    """Rows of `datasets` as NumPy arrays, one batch at a time."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows.with_format("numpy")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitems__(self, numbers: list[int]) -> list[dict[str, Any]]:
        columns = self.rows[numbers]
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _some_rows(shards: Shards, columns: list[str], start: int) -> Iterator[dict[str, Any]]:
    for row in shards[start : start + 1000]:
        yield {name: np.asarray(row[name]) for name in columns}


def alternatives(shards: Shards, batch_size: int, workers: int, work: Path) -> dict[str, Make]:
    """Return the endless loaders of other libraries, by name."""
    names = ["input_ids", "document_starts"] if shards.packed else ["input_ids", "token_type_ids", "next_sentence_label"]
    collate, found = Collator(shards), dict[str, Make]()
    try:
        import datasets

        files = sorted(map(str, (shards.paths[0] / "data").glob(f"{shards.split}-*.arrow")))
        table = datasets.load_dataset("arrow", data_files=files, split="train", cache_dir=str(work / "cache")).select_columns(
            names
        )
        loader = functools.partial(DataLoader, shuffle=True, drop_last=True, collate_fn=collate, num_workers=workers)
        found["a NumPy collator on `datasets`"] = lambda: again(loader(_Rows(table), batch_size))
        import litdata  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        print(f"{error}: install the extra `peers` of a clone", file=sys.stderr)
        return found
    path = work / f"litdata-{shards.paths[0].name}"
    os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = str(work / f"litdata-cache-{shards.paths[0].name}")
    if not path.exists():
        some = functools.partial(_some_rows, shards, names)
        litdata.optimize(some, list(range(0, len(shards), 1000)), output_dir=str(path), chunk_bytes="64MB", num_workers=1)

    def of_litdata() -> Any:
        streamed = litdata.StreamingDataset(str(path), shuffle=True, drop_last=True)
        return litdata.StreamingDataLoader(streamed, batch_size=batch_size, collate_fn=collate, num_workers=workers)

    return {**found, "a NumPy collator on litdata": lambda: again(of_litdata())}


def again(loader: Any) -> Iterator[Any]:
    """Repeat a loader without end."""
    while True:
        yield from loader


if __name__ == "__main__":
    main()

"""Measure the loader in batches per second, compared with loaders that a skilled user writes in an hour.

    python benchmarks/loader.py pairs-128
    python benchmarks/loader.py packed-1024 --batch-size 16 --workers 0 --workers 4 --seconds 10

DIR is an output of make-pairs. The default is pairs made from the sample.  The others are a NumPy collator on rows of `datasets`
and of litdata (benchmarks/alternatives.py lists their limits).  All loaders return masked batches of the same rows,
shuffled, in the same tensors, with the same number of workers: padded, or unpadded for packed rows.  They take turns in one run,
and the median of the rounds counts: wall time with workers, CPU time without.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from alternatives import Make, alternatives
from ratios import ratio

import bertdata
from bertdata.dataset.rows import Shards
from bertdata.training import loader

SIZES = {
    "tiny": ["{pairs} --seconds 0.1 --workers 0 --batch-size 32", "{packed} --seconds 0.1 --workers 0 --batch-size 4"],
    "small": ["{pairs} --seconds 3", "{packed} --seconds 3 --batch-size 16"],
    "full": ["{pairs} --seconds 20", "{packed} --seconds 20 --batch-size 16"],
}
WARM, ROUNDS = 10, 5  # untimed warm-up batches; rounds


def main() -> int:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR", nargs="?", help="pairs, as make-pairs writes them")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--workers", type=int, action="append", help="may be repeated; 0 and 2 if not given")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long to measure each")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        shards = Shards(options.directory or _sample(Path(scratch)))
        print(f"{shards.paths[0]}: {len(shards)} rows, batches of {options.batch_size} at up to {shards.max_seq_length}\n")
        for workers in options.workers or [0, 2]:
            _compare(shards, options.batch_size, workers, options.seconds, Path(scratch))
    return 0


def _compare(shards: Shards, batch_size: int, workers: int, seconds: float, work: Path) -> None:
    longest, steps = [shards.max_seq_length], 1 << 30

    def ours(**format: Any) -> Make:
        return lambda: loader.batches(shards, batch_size, steps=steps, workers=workers, format=loader.BatchFormat(**format))

    if shards.packed:
        runs, per_row = {"bertdata": ours(unpadded=True)}, float(shards.lengths.mean())
    else:
        runs, per_row = {"bertdata": ours(widths=longest, dense_labels=True)}, 1.0
        runs["bertdata, four widths"] = ours(dense_labels=True)
    if rows := _rows(shards):
        runs |= alternatives(shards, rows, batch_size, workers, work)
    rates = {name: rate * batch_size * per_row for name, rate in _rates(runs, seconds, by_clock=workers > 0).items()}
    kind = f"packed rows of {shards.max_seq_length}, masked, unpadded" if shards.packed else "padded and masked batches"
    unit = "tokens/s" if shards.packed else "rows/s"
    for name, rate in rates.items():
        print(f"{name:34} {workers:7} {rate:13,.0f} {unit}  {rates['bertdata'] / rate:6.2f} x")
        if not name.startswith("bertdata"):
            ratio(f"{kind}, {workers} workers", rates["bertdata"], unit, name, rate)
    print()


def _rows(shards: Shards) -> Any:
    """Return the rows of the same files, mapped by `datasets`."""
    try:
        import datasets
    except ImportError:
        print("the others are left out: pip install datasets litdata", file=sys.stderr)
        return None
    files = sorted((shards.paths[0] / "data").glob(f"{shards.split}-*.arrow"))
    rows = datasets.concatenate_datasets([datasets.Dataset.from_file(str(file)) for file in files])
    names = [name for name in shards.columns if not name.startswith("masked_lm_")]
    return rows.select_columns([name for name in names if not (shards.packed and name == "token_type_ids")])


def _sample(scratch: Path) -> Path:
    """Make pairs from the sample included with bertdata."""
    print("making pairs of the sample ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "bertdata", "demo", "--output", scratch], check=True, capture_output=True)
    return scratch / "pairs"


def _rates(runs: dict[str, Make], seconds: float, *, by_clock: bool) -> dict[str, float]:
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


if __name__ == "__main__":
    print(f"bertdata {bertdata.__version__}, torch {torch.__version__}")
    sys.exit(main())

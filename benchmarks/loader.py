"""Measure the loader: batches and rows a second, beside Hugging Face's DataLoader with DataCollatorForLanguageModeling.

    python benchmarks/loader.py pairs-128
    python benchmarks/loader.py --workers 0 --workers 4 --seconds 10

DIR is what make-pairs wrote; without it, pairs of the sample are made.  Both sides give padded and masked batches with segments
and labels of the same rows, shuffled, with as many workers.  Batches a second are by the clock, after the first batches; beside
them is the processor time of a batch, workers included, start and end as well.

Of packed rows the batches of both are unpadded, and ours padded as well; Hugging Face's are the same parts of rows, through
DataCollatorWithFlattening and then the masks of DataCollatorForLanguageModeling.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ratios import ratio
from torch.utils.data import DataLoader

import bertdata
from bertdata.dataset.shards import Shards
from bertdata.training import loader

SIZES = {
    "tiny": ["{pairs} --seconds 0.1 --workers 0 --batch-size 32", "{packed} --seconds 0.1 --workers 0 --batch-size 4"],
    "small": ["{pairs} --seconds 4 --workers 2", "{packed} --seconds 4 --workers 2 --batch-size 16"],
    "full": ["{pairs} --seconds 10 --workers 2", "{packed} --seconds 10 --workers 2 --batch-size 16"],
}
WARM = 10  # batches that are not timed


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
        what = "tokens/s" if shards.packed else "rows/s"
        print(f"{'':34} {'workers':>7} {'batches/s':>10} {what:>10} {'CPU ms/batch':>13}")
        for workers in options.workers or [0, 2]:
            _compare(shards, options.batch_size, workers, options.seconds)
    return 0


def _compare(shards: Shards, batch_size: int, workers: int, seconds: float) -> None:
    longest = [shards.max_seq_length]

    def ours(**options: Any) -> Callable[[], Iterable[Any]]:
        return lambda: loader.batches(shards, batch_size, steps=1 << 30, workers=workers, **options)

    if shards.packed:
        runs, per_row = {"bertdata, unpadded": ours(unpadded=True), "bertdata, padded": ours()}, float(shards.lengths.mean())
    else:
        runs, per_row = {"bertdata, one width": ours(widths=longest), "bertdata, four widths": ours()}, 1.0
    runs |= {"Hugging Face": theirs} if (theirs := _theirs(shards, batch_size, workers)) else {}
    rates = {}
    for name, make in runs.items():
        rates[name], spent = _rate(make, seconds)
        print(f"{name:34} {workers:7} {rates[name]:10.1f} {rates[name] * batch_size * per_row:10.0f} {1000 * spent:13.2f}")
    if theirs:
        kind = f"packed rows of {shards.max_seq_length}, masked, unpadded" if shards.packed else "padded and masked batches"
        unit = "tokens/s" if shards.packed else "rows/s"
        ours_of, theirs_of = (rates[name] * batch_size * per_row for name in (next(iter(runs)), "Hugging Face"))
        ratio(f"{kind}, {workers} workers", ours_of, unit, "Hugging Face's loader", theirs_of)
        print(f"{'bertdata is faster by a factor of':34} {rates[next(iter(runs))] / rates['Hugging Face']:18.1f}\n")


def _flat(shards: Shards, batch_size: int, workers: int, rows: Any, tokenizer: Any) -> Callable[[], Iterable[Any]]:
    """Return Hugging Face's loader of the parts of `batch_size` packed rows at a time, end to end and masked."""
    import datasets
    import transformers

    packed = rows.with_format("numpy")
    counts, parts = [], []
    for row in packed:
        own = np.split(row["input_ids"], row["document_starts"][1:])
        counts.append(len(own))
        parts += own
    documents = datasets.Dataset.from_dict({"input_ids": parts})
    flatten = transformers.DataCollatorWithFlattening(return_flash_attn_kwargs=True)
    masks = transformers.DataCollatorForLanguageModeling(tokenizer)

    def collate(features: list[dict[str, Any]]) -> dict[str, Any]:
        batch = flatten(features, return_tensors="pt")
        batch["input_ids"], batch["labels"] = masks.torch_mask_tokens(batch["input_ids"])
        return dict(batch)

    ends = np.append(0, np.cumsum(counts))

    def make() -> Iterable[Any]:
        while True:
            order = np.random.default_rng(1).permutation(len(counts))
            taken = [order[i : i + batch_size] for i in range(0, len(order) - batch_size + 1, batch_size)]
            batches = [[part for row in own for part in range(ends[row], ends[row + 1])] for own in taken]
            yield from DataLoader(documents, batch_sampler=batches, collate_fn=collate, num_workers=workers)

    return make


def _theirs(shards: Shards, batch_size: int, workers: int) -> Callable[[], Iterable[Any]] | None:
    """Return Hugging Face's loader of the same files, mapped by `datasets`, without its end."""
    try:
        import datasets
        import transformers
    except ImportError:
        print("Hugging Face's loader is left out: pip install transformers datasets", file=sys.stderr)
        return None
    files = sorted((shards.paths[0] / "data").glob(f"{shards.split}-*.arrow"))
    rows = datasets.concatenate_datasets([datasets.Dataset.from_file(str(file)) for file in files])
    rows = rows.select_columns([name for name in shards.columns if not name.startswith("masked_lm_")])
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(shards.paths[0]))
    if shards.packed:
        return _flat(shards, batch_size, workers, rows, tokenizer)
    collate = transformers.DataCollatorForLanguageModeling(tokenizer)

    def make() -> Iterable[Any]:
        one = DataLoader(rows, batch_size, shuffle=True, drop_last=True, collate_fn=collate, num_workers=workers)
        return itertools.chain.from_iterable(itertools.repeat(one))

    return make


def _sample(scratch: Path) -> Path:
    """Make pairs of the sample that comes with bertdata."""
    print("making pairs of the sample ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "bertdata", "demo", "--output", scratch], check=True, capture_output=True)
    return scratch / "pairs"


def _rate(make: Callable[[], Iterable[Any]], seconds: float) -> tuple[float, float]:
    """Return batches a second by the clock, and the seconds of processor time that a batch takes."""
    before, batches = _spent(), iter(make())
    for _ in range(WARM):
        next(batches)
    start, count = time.perf_counter(), 0
    while (took := time.perf_counter() - start) < seconds:
        next(batches)
        count += 1
    del batches  # ends the workers, and then their time is counted
    return count / took, (_spent() - before) / (count + WARM)


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    print(f"bertdata {bertdata.__version__}, torch {torch.__version__}")
    sys.exit(main())

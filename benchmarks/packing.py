"""Measure how full rows are without packing, with first fit and with best fit, from a packed or unpacked dataset.

    bertdata make-pairs corpus --vocab vocab --objective documents --max-seq-length 1024 --output rows
    python benchmarks/packing.py rows

First fit takes rows, or segments of packed rows, in random order, and puts each into the first row with enough room.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from ratios import ratio

from bertdata.dataset import manifest
from bertdata.dataset.manifest_types import PairsManifest
from bertdata.dataset.shards import read_batches
from bertdata.rows.pack import best_fit

SIZES = {"tiny": ["{documents}"], "small": ["{documents}"], "full": ["{documents}"]}


def first_fit(sizes: list[int], most: int) -> int:
    """Return the number of rows that first fit needs."""
    room = np.full(len(sizes), most)
    for size in sizes:
        room[int(np.argmax(room >= size))] -= size
    return int((room < most).sum())


def lengths(path: Path) -> list[int]:
    """Return the lengths of a shard's rows or segments."""
    found: list[int] = []
    for batch in read_batches(path):
        for row in batch.to_pylist():
            found += np.diff([*row.get("document_starts", [0]), len(row["input_ids"])]).tolist()
    return found


def main() -> None:
    """Print how full rows are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR", help="rows, as make-pairs writes them")
    directory = parser.parse_args().directory
    made = manifest.read(directory, PairsManifest)
    most = made.settings.max_seq_length
    rows, tokens = {"no packing": 0, "first fit": 0, "best fit": 0}, 0
    for shard in made.shards:
        sizes = np.random.default_rng(0).permutation(lengths(directory / shard.name)).tolist()
        tokens += sum(sizes)
        rows["no packing"] += len(sizes)
        rows["first fit"] += first_fit(sizes, most)
        rows["best fit"] += len(set(best_fit(sizes, most)))
    print(f"{directory}: {rows['no packing']:,} parts of {tokens / rows['no packing']:.1f} tokens, rows of {most}")
    for name, count in rows.items():
        print(f"  {name:12} {count:8,} rows, {tokens / (count * most):.2%} full")
    full = {name: tokens / (count * most) for name, count in rows.items()}
    for peer in ("no packing", "first fit"):
        ratio(f"positions that hold a token, packed rows of {most:,}", full["best fit"], "share", peer, full[peer])


if __name__ == "__main__":
    main()

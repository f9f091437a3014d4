"""Batches from a store 30 ms away beside the same from a local disk: seconds to the first batch, and for the rest of an epoch.

    python benchmarks/store.py pairs-128 --step 0.02

The store is an S3 server on this machine, of the tests, which waits before each answer.  A step takes `--step` seconds.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from ratios import ratio

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import bertdata  # noqa: E402

SIZES = {
    "tiny": ["{pairs} --step 0 --latency 0.001 --rounds 1 --workers 0 --batch-size 32 --share 4"],
    "small": ["{pairs} --rounds 2 --share 4"],
    "full": ["{pairs} --share 4"],
}


def _epoch(rows: Any, batch_size: int, workers: int, step: float) -> tuple[float, float]:
    """Return the seconds until the first batch of an epoch is there, and from there to its end."""
    start = time.perf_counter()
    batches = iter(bertdata.batches(rows, batch_size, workers=workers))
    next(batches)
    first = time.perf_counter()
    for _ in batches:
        time.sleep(step)
    return first - start, time.perf_counter() - first


def main() -> None:
    """Measure both, in turns."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("directory", type=Path)
    options.add_argument("--latency", type=float, default=0.03)
    options.add_argument("--step", type=float, default=0.02)
    options.add_argument("--batch-size", type=int, default=256)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--share", type=float, default=0.5, help="Of the shards' bytes, what the cache holds.")
    given = options.parse_args()
    total = sum(path.stat().st_size for path in (given.directory / "data").glob("train-*"))
    cache = int(total * given.share)
    server: Any = importlib.import_module("s3_server")
    found: dict[str, list[tuple[float, float]]] = {"disk": [], "store": []}
    with server.serving() as bucket:
        bucket.put(given.directory, "pairs")
        bucket.latency = given.latency
        os.environ.update(server.environment(bucket.url))
        _epoch(bertdata.Shards(str(given.directory)), given.batch_size, given.workers, 0)  # loads torch
        for _ in range(given.rounds):
            for name, where in (("disk", str(given.directory)), ("store", "s3://bucket/pairs")):
                rows = bertdata.Shards(where, cache_bytes=cache)
                found[name].append(_epoch(rows, given.batch_size, given.workers, given.step))
    print(f"{total / 1e6:.0f} MB in {len(rows.windows)} windows, a cache of {cache / 1e6:.0f} MB, {given.latency * 1e3:.0f} ms")
    for name, times in found.items():
        first, rest = (statistics.median(values) for values in zip(*times, strict=True))
        print(f"{name}: {first:.2f} s to the first batch, {rest:.2f} s for the others")
    store, disk = (statistics.median(map(sum, found[name])) for name in ("store", "disk"))
    ratio(f"an epoch from a store {given.latency * 1e3:g} ms away", store, "s", "from a local disk", disk, less=True)


if __name__ == "__main__":
    main()

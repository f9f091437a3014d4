"""What English Wikipedia takes on one machine, from dumps that are grown with new words and new templates at the true rate.

    python benchmarks/enwiki.py dumps/enwiki-*.xml.bz2 --minutes 30

The pages are grown as those of benchmarks/grow.py, with new words and templates (benchmarks/new_words.py), to 1, 2, 4, … times
the first size, as long as the minutes last.  A line through processor seconds by MB of XML gives the estimate for the whole dump;
its error is the standard error of that line there, and the distance to a power of the size that fits as well.  train-vocab is
foretold at the size of its sample, beyond which it reads no more.  Minutes are of as many cores as `--cores` says, as if they did
not hinder each other.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from grow import Dump, join_dumps, pages, read_dump, write_dump
from measured import Run, run, workplace
from new_words import renewed

# Of pages-articles-multistream, about: dumps.wikimedia.org lists 25 GB, and bzip2 packs wikitext four times
XML, ARTICLES = 100e9, 7_000_000
SAMPLED = 5e9  # bytes of XML, a fifth of them text, that train-vocab reads at most: four times its sample of 256 MiB
COMMANDS = ("build-corpus", "train-vocab", "make-pairs")


class Estimate(NamedTuple):
    """Processor seconds that are foretold for some bytes, and how far off that may be."""

    seconds: float
    error: float


def estimate(sizes: Sequence[float], seconds: Sequence[float], at: float) -> Estimate:
    """Foretell what `at` bytes take, from what some sizes took.

    >>> estimate([1e6, 2e6, 4e6], [3.0, 4.0, 6.0], 100e6)
    Estimate(seconds=102.0, error=0.0)
    """
    if len(sizes) < 3:
        raise ValueError("three sizes are the least that tell an error: give more minutes")
    table = np.stack([np.ones(len(sizes)), np.array(sizes) / at], axis=1)
    found, *_ = np.linalg.lstsq(table, np.array(seconds, float), rcond=None)
    left = table @ found - seconds
    spread = np.linalg.inv(table.T @ table) * (left @ left) / (len(sizes) - 2)
    told, far = np.array([1.0, 1.0]), float(found.sum())
    above = np.maximum(np.array(seconds) - min(found[0], min(seconds) * 0.9), 1e-3)  # without the start-up
    power, first = np.polyfit(np.log(table[:, 1]), np.log(above), 1)
    curved = math.exp(first) + found[0] if left @ left > 1e-9 else far
    error = math.hypot(math.sqrt(max(0.0, float(told @ spread @ told))), curved - far)
    return Estimate(round(far, 3), round(error, 3))


def grown(dump: Dump, target: Path, copies: int) -> int:
    """Write a dump of so many copies, all but the first with new words; return its bytes before compression."""
    found = list(renewed(pages(dump, copies), len(dump.pages)))
    return write_dump(dump._replace(pages=found), target, 1)


def commands(dump: Path, out: Path) -> dict[str, list[str]]:
    """Return the words of each command."""
    more = ["--workers", "1", "--no-check-space", "--quiet"]
    return {
        "build-corpus": ["build-corpus", "--wikipedia", str(dump), "--output", str(out / "corpus"), *more],
        "train-vocab": ["train-vocab", str(out / "corpus"), "--output", str(out / "vocab"), *more],
        "make-pairs": ["make-pairs", str(out / "corpus"), "--vocab", str(out / "vocab"), "--output", str(out / "pairs"), *more],
    }


def measure(dump: Dump, minutes: float, work: Path, most: int = 1 << 20) -> tuple[list[int], list[dict[str, Run]]]:
    """Run the commands on dumps of 1, 2, 4, … copies, as long as the next one is likely to end in time."""
    sizes, runs, copies = list[int](), list[dict[str, Run]](), 1
    end = time.monotonic() + minutes * 60
    while copies <= most:
        began, out = time.monotonic(), work / str(copies)
        out.mkdir()
        sizes.append(grown(dump, path := out / "enwiki-20260901-pages-articles-multistream.xml.bz2", copies))
        runs.append({name: run(words) for name, words in commands(path, out).items()})
        took = time.monotonic() - began
        print(f"{sizes[-1] / 1e6:,.0f} MB of XML in {took:,.0f} s", file=sys.stderr, flush=True)
        if time.monotonic() + 2.2 * took > end and len(sizes) >= 3:
            break
        copies *= 2
    return sizes, runs


def report(sizes: list[int], runs: list[dict[str, Run]], cores: int, at: float = XML) -> str:
    """Print what was measured, and what follows for the whole dump."""
    said = ["| | " + " | ".join(f"{size / 1e6:,.0f} MB" for size in sizes) + " | English Wikipedia | on the cores |"]
    said.append("|---" * (len(sizes) + 3) + "|")
    for name in COMMANDS:
        taken = [each[name].cpu for each in runs]
        found = estimate(sizes, taken, min(at, SAMPLED) if name == "train-vocab" else at)
        hours = f"{found.seconds / 3600:.2f} ± {found.error / 3600:.2f} CPU hours | {found.seconds / 60 / cores:,.0f} min"
        said.append(f"| {name} | " + " | ".join(f"{seconds:.1f} s" for seconds in taken) + f" | {hours} |")
    return "\n".join(said)


def main(arguments: list[str] | None = None) -> int:
    """Grow, measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("dumps", type=Path, nargs="+")
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--cores", type=int, default=8)
    options.add_argument("--per-stream", type=int, default=100, help="Pages in a bzip2 stream, as in the dumps of Wikimedia.")
    options.add_argument("--work", type=Path, help="Where the dumps and data sets are made, and removed at the end.")
    given = options.parse_args(arguments)
    with workplace(given.work) as work:
        dump = join_dumps(map(read_dump, given.dumps), given.per_stream)
        print(report(*measure(dump, given.minutes, work), given.cores))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measure how a run scales: grow a corpus 1, 4 and 16 times, and run each command on it with 1 and 2 workers.

    python benchmarks/scale.py                              the sample that comes with the project
    python benchmarks/scale.py dumps/*.xml*.bz2 --base-mb 40 --sizes 1,4,16 --workers 1,2

New pages are real ones with new titles and ids and exchanged sentences (benchmarks/grow.py).  Memory is VmHWM, the peak
resident memory: of the driver, and of the largest worker, not their sum. With one worker,
the driver does the work.  The number of shards of pairs is proportional to the text, so partitions are as full at every size.

A run takes some seconds to start at any size.  So seconds per MB refer to the MB that a size adds to the previous
size, and start-up time is the value at 0 MB of a line through the first two sizes.  Each run is made three times, alternating
the numbers of workers, and the minimum time counts, so a slow period of the machine does not matter.

The exit code is 1 unless, for build-corpus and make-pairs, the last MB take at most 1.10 times the seconds of the first; no
process of
any command needs more than 1.10 times the memory of the first size; the bytes are the same for any number of workers; and the
last MB are 1.8 times as fast with 2 workers.  For comparison, the table shows how much two independent runs slow each other
down at the last size: no program with two workers can be faster on that machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from grow import Dump, join_dumps, read_dump, wiki, write_dump
from measured import Run, numbers, run, workplace
from ratios import ratio

SIZES = {
    "tiny": ["--base-mb 0.4 --sizes 1 --repeats 1 --vocab-size 500"],
    "small": ["--base-mb 8 --sizes 1,4 --repeats 1"],
    "full": [""],
}
COMMANDS = ("build-corpus", "train-vocab", "make-pairs")
JUDGED = ("build-corpus", "make-pairs")  # commands with time limits; train-vocab mostly trains, on a sample
ALLOWED = 1.10  # maximum growth of seconds per MB and of memory
FASTER = 1.8  # minimum speedup with 2 workers
PAGES = 100  # pages in a stream of a multistream dump
SAMPLE = Path(__file__).resolve().parents[1] / "bertdata" / "sample"


class Row(NamedTuple):
    """One command on one size. `apart` is the time of two simultaneous, independent runs with one worker each, if measured."""

    command: str
    size: int
    workers: int
    mb: float
    run: Run
    apart: float | None = None


class Fit(NamedTuple):
    """A command's seconds by size, as a line: at 0 MB, and per MB in the first and in the last step."""

    start: float
    first: float
    last: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table. Return the exit code."""
    options = _options(arguments)
    dumps = _wikis(options.dumps)
    rows: list[Row] = []
    digests: set[tuple[int, str, str]] = set()
    with workplace(options.work) as work:
        for size in options.sizes:
            wiki = work / f"wiki-{size}"
            print(f"{size}x …", file=sys.stderr, flush=True)
            mb = _grow(dumps, wiki, options.base_mb * size)
            for command, workers, runs, written, apart in _measure(wiki, size, options):
                rows.append(Row(command, size, workers, mb, _least(runs), apart))
                digests |= {(size, command, digest) for digest in written}
            shutil.rmtree(wiki)
    print(table(rows))
    faults = judge(rows)
    if len(digests) != len(options.sizes) * len(COMMANDS):
        faults.append("the bytes differ with the number of workers")
    print("\n".join(f"FAIL: {fault}" for fault in faults) or "PASS")
    return 1 if faults else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    sample = sorted(SAMPLE.glob("*multistream.xml.bz2"))
    add("dumps", nargs="*", type=Path, default=sample, help="dumps to grow  [default: the sample of the project]")
    add("--base-mb", type=float, default=40, help="XML of the first size, in MB  [default: 40]")
    add("--sizes", type=numbers, default=[1, 4, 16], help="sizes, as multiples of that  [default: 1,4,16]")
    add("--workers", type=numbers, default=[1, 2], help="numbers of workers  [default: 1,2]")
    add("--vocab-size", type=int, default=8000, help="pieces of the vocabulary  [default: 8000]")
    add("--repeats", type=int, default=3, help="runs of each kind, of which the fastest counts  [default: 3]")
    add("--work", type=Path, help="directory for the grown input and the output  [default: a temporary one]")
    return parser.parse_args(arguments)


def _wikis(paths: list[Path]) -> list[Dump]:
    """Read dumps, and join those of one wiki."""
    found: dict[str, list[Dump]] = {}
    for path in paths:
        try:
            dump = read_dump(path)
        except (OSError, ValueError) as error:
            sys.exit(f"scale.py: {error}")
        found.setdefault(wiki(dump), []).append(dump)
    return [join_dumps(dumps, PAGES) for dumps in found.values()]


def _grow(dumps: list[Dump], directory: Path, mb: float) -> float:
    """Write dumps with about `mb` MB of XML in total. Return the exact number."""
    directory.mkdir(parents=True)
    copies = max(1, round(mb * 1e6 / sum(len(page) for dump in dumps for page in dump.pages)))
    sizes = [write_dump(dump, directory / f"wiki{number}.xml.bz2", copies) for number, dump in enumerate(dumps)]
    return sum(sizes) / 1e6


def _apart(arguments: Sequence[str], work: Path, repeats: int) -> float:
    """Return the minimum time of two simultaneous runs, each with one worker and a separate output."""

    def once(name: str) -> float:
        took = run([*arguments, "--output", str(work / name), "--workers", "1"]).seconds
        shutil.rmtree(work / name)
        return took

    with ThreadPoolExecutor(2) as pool:
        return min(max(pool.map(once, ("left", "right"))) for _ in range(repeats))


def _measure(wiki: Path, size: int, options: argparse.Namespace) -> Iterator[tuple[str, int, list[Run], set[str], float | None]]:
    """Run the three commands with each number of workers. Yield the runs, and the digests of their outputs.

    With one worker and the last size, also yield the time of two simultaneous runs.
    """
    corpus, vocab, pairs = (wiki.with_name(name) for name in ("corpus", "vocab", "pairs"))
    for command in COMMANDS:
        if command == "build-corpus":
            arguments, output = ["--wikipedia", str(wiki)], corpus
        elif command == "train-vocab":
            arguments, output = [str(corpus), "--size", str(options.vocab_size)], vocab
        else:
            arguments, output = [str(corpus), "--vocab", str(vocab), "--shards", str(_shards(corpus, size))], pairs
        whole = [command, *arguments, "--output", str(output), "--overwrite", "--workers"]
        runs: list[tuple[str, int, list[Run], set[str]]] = [(command, workers, [], set()) for workers in options.workers]
        for _ in range(1 if command == "train-vocab" else options.repeats):
            for _, workers, took, written in runs:
                took.append(run([*whole, str(workers)]))
                written.add(hashlib.sha256((output / "manifest.json").read_bytes()).hexdigest())
                print(f"  {workers} workers: {took[-1]}", file=sys.stderr)
        for _, workers, took, written in runs:
            bound = workers == 1 and size == options.sizes[-1] and command in JUDGED
            apart = _apart([command, *arguments], wiki.parent, min(options.repeats, 2)) if bound else None
            yield command, workers, took, written, apart
    for output in (corpus, vocab, pairs):
        shutil.rmtree(output)


def _least(runs: Sequence[Run]) -> Run:
    """Return the fastest run, with the maximum memory of all runs."""
    least = min(runs)
    most = least._replace(driver=max(one.driver for one in runs), workers=[max(one.worker for one in runs)])
    return most if least.workers else most._replace(workers=[])


def _shards(corpus: Path, size: int) -> int:
    """Return the number of shards of pairs, in proportion to the size."""
    manifest = json.loads((corpus / "manifest.json").read_text(encoding="utf-8"))
    text: int = sum(shard["text_bytes"] for shard in manifest["shards"])
    return size * math.ceil(text / size / (12 << 20))


def fit(rows: Sequence[Row]) -> Fit:
    """Return the line of a command with a fixed number of workers. With one size, it has no start-up time.

    >>> def row(mb, seconds): return Row("build-corpus", 1, 1, mb, Run(seconds, 0, 0, []))
    >>> fit([row(10, 3), row(40, 6), row(160, 30)])
    Fit(start=2.0, first=0.1, last=0.2)
    """
    if len(rows) == 1:
        each = rows[0].run.seconds / rows[0].mb
        return Fit(0.0, each, each)
    steps = [(b.run.seconds - a.run.seconds) / (b.mb - a.mb) for a, b in zip(rows, rows[1:], strict=False)]
    return Fit(rows[0].run.seconds - steps[0] * rows[0].mb, steps[0], steps[-1])


def _lines(rows: Sequence[Row]) -> dict[tuple[str, int], list[Row]]:
    """Return the rows of each command and number of workers, by size."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (COMMANDS.index(row.command), row.workers, row.size)):
        found.setdefault((row.command, row.workers), []).append(row)
    return found


def table(rows: Sequence[Row]) -> str:
    """Return a line for each row. `s/MB` is the time of the added MB, and `x` its ratio to the first ones'."""
    head = f"{'':26}{'':>9}{'':>8}{'':>8}{'':>7}{'peak MB of':>16}{'added':>9}{'':>7}{'memory':>8}{'speed':>7}"
    names = f"{'command':14}{'size':>5}{'workers':>8}{'MB':>8}{'seconds':>9}{'CPU s':>8}{'MB/s':>7}{'driver':>8}{'worker':>8}"
    said = [head, f"{names}{'s/MB':>8}{'x':>7}{'x':>8}{'up':>7}"]
    alone = {(row.command, row.size): row.run.seconds for row in rows if row.workers == 1}
    for (command, workers), own in _lines(rows).items():
        line, before = fit(own), None
        for row in own:
            took, peak = row.run, _peak(row.run)
            each = (took.seconds - before.run.seconds) / (row.mb - before.mb) if before else line.first
            speed = f"{alone[command, row.size] / took.seconds:7.2f}" if workers > 1 and (command, row.size) in alone else ""
            said.append(
                f"{command:14}{row.size:>4}x{workers:8}{row.mb:8.1f}{took.seconds:9.2f}{took.cpu:8.2f}"
                f"{row.mb / took.seconds:7.2f}"
                f"{took.driver / 1e6:8.1f}{took.worker / 1e6:8.1f}{each:8.4f}{each / line.first:7.3f}"
                f"{peak / _peak(own[0].run):8.3f}{speed}"
            )
            before = row
        said.append(f"{'':14}start-up {line.start:.2f} s, then {1 / line.last:.1f} MB/s")
    return "\n".join(said)


def _peak(took: Run) -> int:
    return max(took.driver, took.worker)


def judge(rows: Sequence[Row]) -> list[str]:
    """Return the missed limits, and print all limits."""
    faults, lines = list[str](), _lines(rows)
    for (command, workers), own in lines.items():
        first, last = (_peak(row.run) / 1e6 for row in (own[0], own[-1]))
        if command in JUDGED and len(own) > 1:
            times = f"{own[-1].mb:,.0f} MB of XML, {workers} worker{'s' * (workers > 1)}"
            ratio(f"{command}, peak memory, {times}", last, "MB", f"on {own[0].mb:,.0f} MB of XML", first, less=True)
        line, name = fit(own), f"{command} with {workers} worker{'s' * (workers > 1)}"
        if command in JUDGED and line.last > ALLOWED * line.first:
            faults.append(f"{name}: the last MB take {line.last / line.first:.3f} times the seconds of the first")
        for what in ("driver", "worker"):
            more = getattr(own[-1].run, what) / getattr(own[0].run, what)
            if more > ALLOWED:
                faults.append(f"{name}: the {what} holds {more:.3f} times the memory of the first size")
        if command in JUDGED and workers == 2 and (command, 1) in lines:
            before = lines[command, 1]
            faster = fit(before).last / line.last
            alone, apart = before[-1].run.seconds, before[-1].apart
            if apart:
                faster_than, two = alone / own[-1].run.seconds, "two separate runs"
                ratio(f"{command}, two workers, start-up included", faster_than, "times one worker", two, 2 * alone / apart)
            bound = f" (two separate runs at once get {2 * alone / apart:.2f} times as much done as one)" if apart else ""
            print(
                f"{command}: {faster:.2f} times as fast with 2 workers, {alone / own[-1].run.seconds:.2f} with start-up; "
                f"asked: {FASTER}{bound}"
            )
            if faster < FASTER:
                faults.append(f"{name}: {faster:.2f} times as fast as 1 worker; asked: {FASTER}")
    return faults


if __name__ == "__main__":
    sys.exit(main())

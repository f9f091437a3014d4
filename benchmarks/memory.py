"""Show that memory does not grow with the input: run the commands on some input and on ten times as much, and compare.

    python benchmarks/memory.py                      the dumps and books of ../shared/data
    python benchmarks/memory.py --dumps 'dumps/*.xml.bz2' --books books --factor 10

Peak memory is VmHWM, the most that a process ever held at once, summed over all processes of the run: each counts with its
highest value, as if all had peaked together.  So it is never too low; pages of mapped files and shared libraries count too.
Exit code 1 when build-corpus or make-pairs takes more than 1.10 times the memory.
"""

from __future__ import annotations

import argparse
import glob
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from grow import grow_book, grow_dump

ALLOWED = 1.10
JUDGED = ("build-corpus", "make-pairs")
INTERVAL = 0.02  # seconds between two looks at the processes
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
_STATUS = re.compile(rb"^(PPid|VmHWM):\s+(\d+)", re.MULTILINE)


class Run(NamedTuple):
    """What one command took: bytes of its input as text or XML, peak memory in bytes, seconds."""

    command: str
    input: int
    peak: int
    seconds: float


def main() -> int:
    """Measure and print the table; return the exit code."""
    options = _options()
    dumps, books = _files(options.dumps, (".xml", ".xml.bz2", ".xml.gz")), _files(options.books, (".txt",))
    if not dumps and not books:
        sys.exit("memory.py: found no dump and no book: give some with --dumps and --books (files, globs or directories)")
    if options.work is not None:
        Path(options.work).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bertdata-memory-", dir=options.work) as work:
        runs = []
        for copies in (1, options.factor):
            print(f"{copies} x {len(dumps)} dumps, {len(books)} books …", file=sys.stderr, flush=True)
            runs.append(_measure_all(dumps, books, Path(work) / str(copies), copies, options))
    return _report(runs[0], runs[1], options.factor)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wiki = [str(path) for path in sorted(DATA.glob("wiki/*.xml*")) if "broken" not in path.name]
    add = parser.add_argument
    add("--dumps", nargs="*", default=wiki, help="dumps to grow  [default: ../shared/data/wiki, but the broken ones]")
    add("--books", nargs="*", default=[str(DATA / "books")], help="books to grow  [default: ../shared/data/books]")
    add("--factor", type=int, default=10, help="how many times the input is repeated  [default: 10]")
    add("--size", type=int, default=8000, help="pieces of the vocabulary  [default: 8000]")
    add("--max-seq-length", type=int, default=128, help="length of the pairs  [default: 128]")
    add("--work", type=Path, help="directory for the grown input and the output  [default: a temporary one]")
    options = parser.parse_args()
    if options.factor < 2:
        parser.error("--factor: use at least 2")
    return options


def _files(patterns: Sequence[str], suffixes: tuple[str, ...]) -> list[Path]:
    """Find the files that names, globs and directories stand for."""
    paths = [Path(match) for pattern in patterns for match in glob.glob(pattern, recursive=True)]
    found = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return sorted({file.resolve() for file in found if file.is_file() and file.name.endswith(suffixes)})


def _measure_all(dumps: list[Path], books: list[Path], work: Path, copies: int, options: argparse.Namespace) -> list[Run]:
    """Grow the input and run the three commands on it, one worker each."""
    wiki, shelf = work / "wiki", work / "books"
    wiki.mkdir(parents=True)
    shelf.mkdir()
    size = sum(grow_dump(path, wiki, copies) for path in dumps) + sum(grow_book(path, shelf, copies) for path in books)
    sources = [*(["--wikipedia", str(wiki)] if dumps else []), *(["--books", str(shelf)] if books else [])]
    corpus, vocab, pairs = (str(work / name) for name in ("corpus", "vocab", "pairs"))
    build = _measure(["build-corpus", *sources, "--dedup", "none", "--output", corpus], size)  # grown input repeats its text
    manifest = json.loads((work / "corpus" / "manifest.json").read_text(encoding="utf-8"))
    text = sum(shard["text_bytes"] for shard in manifest["shards"])
    train = _measure(["train-vocab", corpus, "--size", str(options.size), "--output", vocab], text)
    length = str(options.max_seq_length)
    make = _measure(["make-pairs", corpus, "--vocab", vocab, "--max-seq-length", length, "--output", pairs], text)
    return [build, train, make]


def _measure(arguments: list[str], size: int) -> Run:
    """Run a command of bertdata with one worker, and watch it and all processes it starts."""
    script = Path(sys.executable).with_name("bertdata")
    started = time.monotonic()
    peaks: dict[int, int] = {}
    with subprocess.Popen([str(script), *arguments, "--workers", "1"], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            for pid, peak in _peaks(process.pid).items():
                peaks[pid] = max(peak, peaks.get(pid, 0))
            time.sleep(INTERVAL)
    if process.returncode:
        sys.exit(f"memory.py: bertdata {' '.join(arguments)} ended with exit code {process.returncode}")
    return Run(arguments[0], size, sum(peaks.values()), time.monotonic() - started)


def _peaks(root: int) -> dict[int, int]:
    """Return the peak memory so far of a process and of all below it, in bytes."""
    parents: dict[int, int] = {}
    peaks: dict[int, int] = {}
    for status in glob.iglob("/proc/[0-9]*/status"):
        try:
            found = dict(_STATUS.findall(Path(status).read_bytes()))
        except OSError:
            continue  # it has ended in the meantime
        pid = int(status.split("/")[2])
        parents[pid], peaks[pid] = int(found.get(b"PPid", 0)), int(found.get(b"VmHWM", 0)) << 10
    return {pid: peaks[pid] for pid in peaks if _is_below(pid, root, parents)}


def _is_below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid and pid != root:
        pid = parents.get(pid, 0)
    return pid == root


def _report(small: list[Run], large: list[Run], factor: int) -> int:
    """Print the table and the verdict; return the exit code."""
    times = f"{factor}x"
    print(f"{'':14}{'input MB':>19}{'peak MB':>17}{'':>8}{'seconds':>16}{'MB/s':>14}")
    print(f"{'command':14}{'1x':>9}{times:>10}{'1x':>9}{times:>8}{'ratio':>8}{'1x':>8}{times:>8}{'1x':>7}{times:>7}")
    for a, b in zip(small, large, strict=True):
        print(
            f"{a.command:14}{a.input / 1e6:9.1f}{b.input / 1e6:10.1f}{a.peak / 1e6:9.1f}{b.peak / 1e6:8.1f}{b.peak / a.peak:8.3f}"
            f"{a.seconds:8.1f}{b.seconds:8.1f}{a.input / 1e6 / a.seconds:7.2f}{b.input / 1e6 / b.seconds:7.2f}"
        )
    worst = max(b.peak / a.peak for a, b in zip(small, large, strict=True) if a.command in JUDGED)
    verdict = "PASS" if worst < ALLOWED else "FAIL"
    print(f"{verdict}: {' and '.join(JUDGED)} take at most {worst:.3f} times the memory; allowed: {ALLOWED:.2f}")
    return 0 if worst < ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())

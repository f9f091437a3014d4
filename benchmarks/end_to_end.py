"""Measure a whole run, from a multistream dump to pairs: CPU seconds per GB of XML, stage by stage.

    python benchmarks/end_to_end.py                     the English dumps of ../shared/data
    python benchmarks/end_to_end.py --dumps 'dumps/*.xml*.bz2' --factor 5

The dumps, of one wiki, are joined and packed like Wikimedia's, with 100 pages per stream, once unchanged and once
grown.  A figure is the slope between the two: the CPU time of the added XML, over all processes of the run.  One-time
costs, such as startup, cancel.  Each command runs `--repeats` times, and its minimum time counts, because other
programs on the machine only add to it.  The vocabulary is trained on the unchanged dumps and used by both runs of make-pairs;
its training is shown, not counted.  Grown text has other sentences but no new words (benchmarks/grow.py), so caches of
words help as much as late in a large dump.
Exit code 1 when build-corpus and make-pairs together take more than 150.
"""

from __future__ import annotations

import argparse
import bz2
import glob
import json
import sys
import time
from pathlib import Path

from grow import Dump, join_dumps, read_dump, write_dump
from measured import run, workplace
from ratios import ratio

SIZES = {
    "tiny": ["--dumps {dump} --factor 12 --repeats 1 --size 1000"],
    "small": ["--dumps {dump} --factor 3 --repeats 1"],
    "full": ["--dumps {dump}"],
}
ALLOWED = 150.0  # CPU seconds per GB of XML
COUNTED = ("build-corpus", "make-pairs")
PAGES = 100  # pages in a stream of a multistream dump
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> int:
    """Measure and print the table. Return the exit code."""
    options = _options()
    dumps = sorted({Path(match).resolve() for pattern in options.dumps for match in glob.glob(pattern, recursive=True)})
    if not dumps:
        sys.exit("end_to_end.py: found no dump: pass some with --dumps")
    with workplace(options.work) as work:
        small, large = work / "small", work / "large"
        dump = join_dumps(map(read_dump, dumps), PAGES)
        sizes = [_grow(dump, directory, copies) for directory, copies in ((small, 1), (large, options.factor))]
        times = [_measure(directory, small / "vocab", options) for directory in (small, large)]
        counts = [_rows(directory) for directory in (small, large)]
    return _report(sizes, times, counts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    wiki = str(DATA / "wiki" / "enwiki*.xml.bz2")
    add("--dumps", nargs="*", default=[wiki], help="dumps of one wiki  [default: the English ones of ../shared/data/wiki]")
    add("--factor", type=int, default=5, help="how many times the input is repeated  [default: 5]")
    add("--size", type=int, default=30522, help="pieces of the vocabulary  [default: 30522]")
    add("--max-seq-length", type=int, default=128, help="length of the pairs  [default: 128]")
    add("--repeats", type=int, default=3, help="runs of each command, of which the least counts  [default: 3]")
    add("--work", type=Path, help="directory for the grown input and the output  [default: a temporary one]")
    options = parser.parse_args()
    if options.factor < 2:
        parser.error("--factor: use at least 2")
    return options


def _grow(dump: Dump, directory: Path, copies: int) -> int:
    """Write a dump with its pages `copies` times, below a directory. Return its bytes of XML."""
    (directory / "wiki").mkdir(parents=True)
    return write_dump(dump, directory / "wiki" / "multistream.xml.bz2", copies)


def _measure(directory: Path, vocab: Path, options: argparse.Namespace) -> dict[str, float]:
    """Return the CPU seconds of each stage on the dumps below a directory."""
    corpus, pairs, length = str(directory / "corpus"), str(directory / "pairs"), str(options.max_seq_length)
    train = ["train-vocab", corpus, "--size", str(options.size), "--output"]
    commands = {
        "build-corpus": ["build-corpus", "--wikipedia", str(directory / "wiki"), "--output", corpus],
        "train-vocab": [*train, str(directory / "vocab")],
        "make-pairs": ["make-pairs", corpus, "--vocab", str(vocab), "--max-seq-length", length, "--output", pairs],
    }
    unpacking = min(_decompress(directory / "wiki") for _ in range(options.repeats))
    return {"bz2 alone": unpacking} | {name: _least(command, options.repeats) for name, command in commands.items()}


def _decompress(directory: Path) -> float:
    started = time.process_time()
    for path in sorted(directory.iterdir()):
        with bz2.open(path) as file:
            while file.read(1 << 20):
                pass
    return time.process_time() - started


def _least(arguments: list[str], repeats: int) -> float:
    return min(run([*arguments, "--overwrite", "--workers", "1"]).cpu for _ in range(repeats))


def _rows(directory: Path) -> dict[str, int]:
    """Count the documents and pairs."""
    manifests = {name: directory / name / "manifest.json" for name in ("corpus", "pairs")}
    shards = {name: json.loads(path.read_text(encoding="utf-8"))["shards"] for name, path in manifests.items()}
    return {name: sum(shard["rows"] for shard in found) for name, found in shards.items()}


def _report(sizes: list[int], times: list[dict[str, float]], counts: list[dict[str, int]]) -> int:
    """Print the table and the verdict. Return the exit code."""
    added = (sizes[1] - sizes[0]) / 1e9
    slopes = {stage: (times[1][stage] - times[0][stage]) / added for stage in times[0]}
    print(f"{'':14}{'CPU seconds':>22}{'CPU seconds':>14}{'MB of XML':>12}")
    print(f"{'stage':14}{sizes[0] / 1e6:8.1f} MB{sizes[1] / 1e6:8.1f} MB{'per GB of XML':>14}{'per second':>12}")
    for stage, slope in slopes.items():
        print(f"{stage:14}{times[0][stage]:11.2f}{times[1][stage]:11.2f}{slope:14.1f}{1000 / slope:12.1f}")
    for name in ("corpus", "pairs"):
        print(f"{name:14}{counts[0][name]:11}{counts[1][name]:11} rows")
    total = sum(slopes[stage] for stage in COUNTED)
    ratio("from bz2 to pairs", total, "CPU s/GB of XML", "unpacking alone", slopes["bz2 alone"], less=True)
    verdict = "PASS" if total <= ALLOWED else "FAIL"
    print(f"{verdict}: {' and '.join(COUNTED)} take {total:.1f} CPU seconds per GB of XML; allowed: {ALLOWED:.0f}")
    return 0 if total <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())

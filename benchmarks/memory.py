"""Measure a worker's peak memory in each command, for every option, objective and format, at growing sizes.

    python benchmarks/memory.py                                  the sample that comes with the project, 1 and 4 times 8 MB
    python benchmarks/memory.py dumps/*.xml*.bz2 --base-mb 40 --sizes 1,10,100
    python benchmarks/memory.py --only pairs,export              the cases with these name prefixes, and their inputs

The input is grown as in benchmarks/scale.py. Half of its text comes from the dump, half from a table of the same
documents, so that there are sources to mix and copies to drop.  The trained vocabulary is padded to `--vocab-size` tokens.
Memory is VmHWM, the peak resident memory, of the largest worker.

The exit code is 1 if a worker exceeds 400 MB. With more than 32,000 tokens, the limit is higher by the memory
of the additional vocabulary, which is measured and printed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from grow import Dump, read_dump, write_dump
from measured import numbers, run, workplace

from bertdata.config.objectives import OBJECTIVES
from bertdata.exports import FORMATS
from bertdata.tokens import vocab
from bertdata.tokens.read import read_any

MAX_WORKER_BYTES = 400_000_000  # maximum bytes of a worker
PIECES = 32_000  # size of a vocabulary included in MAX_WORKER_BYTES
SAMPLE = Path(__file__).resolve().parents[1] / "bertdata" / "sample"
_SIZE = """
import sys
from pathlib import Path
from bertdata.tokens import vocab
from bertdata.tokens.read import read_any
def held(): return int(Path("/proc/self/statm").read_text().split()[1])
vocab.from_tokens([*vocab.SPECIAL, "a"], True, True).encoder().encode(["a"])
before = held()
encoder = read_any(sys.argv[1]).encoder()
encoder.encode(["a"])
print((held() - before) * 4096)
"""


class Case(NamedTuple):
    """A run: its name, also used for its output, and its arguments, in which ``{name}`` is another run's output."""

    name: str
    arguments: str


class Row(NamedTuple):
    """Peak memory of a run's processes, in bytes."""

    name: str
    size: int
    seconds: float
    driver: int
    worker: int


def cases(workers: int) -> list[Case]:
    """Return all cases, each after those whose output it reads."""
    corpus = "build-corpus --wikipedia {wiki} "
    both = "build-corpus --wikipedia {wiki} --text {table} --text-column text --id-column id "
    rows = "make-pairs {corpus} --vocab {pieces} "
    found = [
        Case("corpus", corpus),
        Case("table", "export {corpus} --to parquet"),
        Case("corpus table", "build-corpus --text {table} --text-column text --id-column id"),
        Case("corpus near", both + "--dedup near"),
        Case("corpus paragraphs", both + "--dedup-paragraphs"),
        Case("corpus mix", both + "--dedup none --mix wikipedia=1,text=1"),
        Case("corpus sample", both + "--sample-documents 100"),
        Case("corpus words", both + "--max-words text=10000"),
        Case("corpus exclude", corpus + "--exclude {excluded}"),
        Case("vocab", "train-vocab {corpus} --size 8000"),
        *(Case(f"vocab {model}", f"train-vocab {{corpus}} --size 8000 --model {model}") for model in ("bpe",)),
        *(Case(f"pairs {objective}", f"{rows}--objective {objective}") for objective in OBJECTIVES),
        *(Case(f"pairs {objective} packed", f"{rows}--objective {objective} --pack") for objective in OBJECTIVES),
        Case("pairs static", rows + "--masking static"),
        Case("pairs whole words", rows + "--masking static --whole-word"),
        Case("pairs two lengths", rows + "--max-seq-length 128 --max-seq-length 512"),
        Case("pairs bpe", "make-pairs {corpus} --vocab {vocab bpe} --objective documents"),
    ]
    reads = {"documents": "{corpus}", "pairs": "{pairs static}"}
    for name, form in FORMATS.items():
        given = " --vocab {pieces}" if form.needs_vocabulary else ""
        found.append(Case(f"export {name}", f"export {reads[form.of]} --to {name}{given}"))
    return [case._replace(arguments=f"{case.arguments} --workers {workers}") for case in found]


def chosen(every: Sequence[Case], only: Sequence[str]) -> list[Case]:
    """Return the cases with a name prefix in `only` (all if empty), and the cases that they read.

    >>> every = [Case("corpus", ""), Case("vocab", "{corpus}"), Case("pairs", "{corpus} {pieces}"), Case("table", "{corpus}")]
    >>> [case.name for case in chosen(every, ["pairs"])]
    ['corpus', 'vocab', 'pairs']
    """
    wanted = {case.name for case in every if not only or case.name.startswith(tuple(only))}
    for case in reversed(every):
        if case.name in wanted:
            told = case.arguments.replace("{pieces}", "{vocab}")
            wanted |= {other.name for other in every if f"{{{other.name}}}" in told}
    return [case for case in every if case.name in wanted]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table. Return the exit code."""
    options = _options(arguments)
    dumps = list(map(read_dump, options.dumps))
    rows, own = list[Row](), 0
    with workplace(options.work) as work:
        for size in options.sizes:
            directory = work / str(size)
            _grow(dumps, directory / "wiki", options.base_mb * size)
            for row in _measure(directory, size, options):
                rows.append(row)
                print(f"  {row.name}: {row.worker / 1e6:.0f} MB", file=sys.stderr, flush=True)
            own = max(own, _size(directory / "pieces"))
            shutil.rmtree(directory)
    allowed = MAX_WORKER_BYTES + (own if options.vocab_size > PIECES else 0)
    print(table(rows, options.sizes))
    print(f"\nA vocabulary of {options.vocab_size:,} pieces takes {own / 1e6:.0f} MB.  Allowed: {allowed / 1e6:.0f} MB a worker.")
    faults = [f"{row.name} at {row.size}x: {row.worker / 1e6:.0f} MB" for row in rows if row.worker > allowed]
    print("\n".join(f"FAIL: {fault}" for fault in faults) or "PASS")
    return 1 if faults else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    sample = [next(iter(sorted(SAMPLE.glob("*enwiki*multistream.xml.bz2"))))]
    add("dumps", nargs="*", type=Path, default=sample, help="dumps to grow  [default: the sample of the project]")
    add("--base-mb", type=float, default=8, help="XML of the first size, in MB  [default: 8]")
    add("--sizes", type=numbers, default=[1, 4], help="sizes, as multiples of that  [default: 1,4]")
    add("--vocab-size", type=int, default=PIECES, help=f"pieces of the vocabulary  [default: {PIECES}]")
    add("--workers", type=int, default=2, help="worker processes  [default: 2]")
    add("--only", type=lambda text: text.split(","), default=[], help="beginnings of the names of cases, by commas")
    add("--work", type=Path, help="directory for input and output  [default: a temporary one]")
    return parser.parse_args(arguments)


def _grow(dumps: list[Dump], directory: Path, mb: float) -> None:
    directory.mkdir(parents=True)
    copies = max(1, round(mb * 1e6 / sum(len(page) for dump in dumps for page in dump.pages)))
    for number, dump in enumerate(dumps):
        write_dump(dump, directory / f"wiki{number}.xml.bz2", copies)


def _measure(directory: Path, size: int, options: argparse.Namespace) -> Iterator[Row]:
    """Run the cases below a directory with dumps, and yield the peak memory of each."""
    places = {"wiki": directory / "wiki", "excluded": directory / "excluded.txt", "pieces": directory / "pieces"}
    places["excluded"].write_text("This sentence of thirteen words or more is not on any page of any wiki.\n")
    for case in chosen(cases(options.workers), options.only):
        output = directory / case.name.replace(" ", "-")
        words = [word.replace("\0", " ") for word in _filled(case.arguments, places).split()]
        took = run([*words, "--output", f"{output}{'-{length}' if case.name == 'pairs two lengths' else ''}"])
        places[case.name] = output / "data" if case.name == "table" else output
        if case.name == "vocab":
            make_up(output, places["pieces"], options.vocab_size)
        yield Row(case.name, size, took.seconds, took.driver, took.worker)


def _filled(text: str, places: dict[str, Path]) -> str:
    for name, path in places.items():
        text = text.replace(f"{{{name}}}", str(path).replace(" ", "\0"))
    return text


def make_up(trained: Path, directory: Path, count: int) -> None:
    """Write a vocabulary of `count` tokens: the trained ones, and words that no text contains."""
    found = read_any(trained)
    more = [f"{'##' * (number % 2)}qzx{number}" for number in range(count - len(found.pieces))]
    vocab.write(directory, found._replace(pieces=[*found.pieces, *more]))


def _size(pieces: Path) -> int:
    """Return the bytes that a process holds for a vocabulary, or 0 if none was trained."""
    if not pieces.is_dir():
        return 0
    return int(subprocess.run([sys.executable, "-c", _SIZE, str(pieces)], check=True, capture_output=True).stdout)


def table(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """Return the Markdown table: the peak MB of a worker, and of the driver at the last size.

    >>> print(table([Row("corpus", 1, 2.0, 25 * 10**7, 26 * 10**7), Row("corpus", 4, 4.0, 251 * 10**6, 281 * 10**6)], [1, 4]))
    | case | 1x | 4x | driver |
    |---|---:|---:|---:|
    | corpus | 260 | 281 | 251 |
    """
    said = [f"| case | {' | '.join(f'{size}x' for size in sizes)} | driver |", f"|---|{'---:|' * (len(sizes) + 1)}"]
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        said.append(f"| {name} | {' | '.join(f'{row.worker / 1e6:.0f}' for row in own)} | {own[-1].driver / 1e6:.0f} |")
    return "\n".join(said)


if __name__ == "__main__":
    sys.exit(main())

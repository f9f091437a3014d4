"""Measure time and memory of each command as the input grows, with one and two workers.

    python benchmarks/scale.py                             the English dumps of ../shared/data, or the sample
    python benchmarks/scale.py --sizes 1,4,16 --base-mb 40

The input has the pages of the dumps again and again, with new ids and titles, so deduplication is off. Memory is VmHWM, the peak
resident memory of the largest process. A run takes some seconds to start. So MB/s is that of the MB that a size adds to the size
before. The last line compares two workers with one, and with two independent runs at the same time, which show what the machine
can do. The exit code is 1 if a process needs more than 400 MB, or 1.25 times the memory of the first size.

The first size is a task or two per process, which do not fill its caches: with two workers, build-corpus needed 124, 131, 131,
155 and 162 MB for 10, 20, 40, 80 and 160 MB of XML.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from inputs import SHARED, heading

from bertdata.sample import sample

MAX_MB, MAX_GROWTH, PAGES_PER_STREAM, INTERVAL_S = 400, 1.25, 100, 0.05
PAGE = re.compile(rb"[ \t]*<page>.*?</page>[ \t]*\n?", re.DOTALL)


class Run(NamedTuple):
    """Resources of a command: seconds, CPU seconds of all its processes, and the peak MB of the largest one."""

    seconds: float
    cpu: float
    peak: float


def main() -> int:
    """Print the table. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-mb", type=float, default=20, help="XML of the first size, in MB  [default: 20]")
    parser.add_argument("--sizes", default="1,4", help="sizes, as multiples of that  [default: 1,4]")
    parser.add_argument("--vocab-size", type=int, default=8000, help="tokens of the vocabulary  [default: 8000]")
    options = parser.parse_args()
    dumps = sorted((SHARED / "data" / "wiki").glob("enwiki-2016*.xml.bz2")) or sorted(
        sample().glob("sampleenwiki*multistream.xml.bz2")
    )
    print(heading())
    print("\n| command | XML, MB | workers | seconds | CPU seconds | MB/s added | peak MB |\n|---|---:|---:|---:|---:|---:|---:|")
    runs: dict[tuple[str, int], list[tuple[float, Run]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        for size in map(int, options.sizes.split(",")):
            megabytes = grow(dumps[0], work / "enwiki-20260101-pages.xml.bz2", options.base_mb * size)
            for command, arguments in commands(work, options.vocab_size):
                for workers in (1, 2):
                    took = run([command, *arguments, "--overwrite", "--workers", str(workers)])
                    of_size = runs.setdefault((command, workers), [])
                    before, first = of_size[-1] if of_size else (0.0, Run(0.0, 0.0, 0.0))
                    of_size.append((megabytes, took))
                    speed = (megabytes - before) / max(took.seconds - first.seconds, 1e-9)
                    cells = (command, f"{megabytes:.0f}", workers, f"{took.seconds:.1f}", f"{took.cpu:.1f}", f"{speed:.1f}")
                    print(f"| {' | '.join(map(str, cells))} | {took.peak:.0f} |", flush=True)
        command, arguments = commands(work, options.vocab_size)[0]
        alone, together = runs[command, 1][-1][1].seconds, twice([command, *arguments[:-1]], work)
        faster = alone / runs[command, 2][-1][1].seconds
    print(f"\nbuild-corpus is {faster:.2f} times as fast with two workers. The machine limits it: two separate runs at once")
    print(f"do {2 * alone / together:.2f} times as much as one.")
    faults = []
    for (command, workers), sizes in runs.items():
        least, last = sizes[0][1].peak, sizes[-1][1].peak
        if last > MAX_MB or last > MAX_GROWTH * least + 5:
            faults.append(f"FAIL: {command} with {workers} workers needs {last:.0f} MB, and {least:.0f} MB at the first size")
    print("\n".join(faults))
    return 1 if faults else 0


def commands(work: Path, vocab_size: int) -> list[tuple[str, list[str]]]:
    """Return the commands and their arguments, the output last."""
    corpus, vocab, pairs = (str(work / name) for name in ("corpus", "vocab", "pairs"))
    dump = str(work / "enwiki-20260101-pages.xml.bz2")
    return [
        ("build-corpus", ["--wikipedia", dump, "--dedup", "none", f"--output={corpus}"]),
        ("train-vocab", [corpus, "--size", str(vocab_size), f"--output={vocab}"]),
        ("make-pairs", [corpus, "--vocab", vocab, f"--output={pairs}"]),
    ]


def grow(dump: Path, target: Path, megabytes: float) -> float:
    """Write a dump with the pages of another one until it has this many MB of XML. Return the MB."""
    data = bz2.decompress(dump.read_bytes())
    pages = PAGE.findall(data)
    head, size, copy = data[: data.index(pages[0])], 0, 0
    with target.open("wb") as file, ThreadPoolExecutor() as pool:
        file.write(bz2.compress(head))
        while size < megabytes * 1e6:
            copied, room = [_copied(page, copy) for page in pages], megabytes * 1e6 - size
            sizes = np.cumsum([len(page) for page in copied])
            copied = copied[: int(np.searchsorted(sizes, room)) + 1]
            streams = [b"".join(copied[at : at + PAGES_PER_STREAM]) for at in range(0, len(copied), PAGES_PER_STREAM)]
            size, copy = size + sum(map(len, streams)), copy + 1
            file.writelines(pool.map(bz2.compress, streams))
        file.write(bz2.compress(b"</mediawiki>\n"))
    return size / 1e6


def _copied(page: bytes, copy: int) -> bytes:
    """Return a page with another title and id. The first id is the page's, those of its revision and author follow."""
    page = page.replace(b"</title>", b" (%d)</title>" % copy, 1)
    return re.sub(rb"<id>(\d+)</id>", lambda match: b"<id>%d</id>" % (int(match[1]) + copy * 10**9), page, count=1)


def twice(arguments: Sequence[str], work: Path) -> float:
    """Return the seconds of two runs at the same time, each with one worker."""
    with ThreadPoolExecutor(2) as pool:
        outputs = [str(work / name) for name in ("left", "right")]
        return max(pool.map(lambda output: run([*arguments, "--output", output, "--workers", "1"]).seconds, outputs))


def run(arguments: Sequence[str]) -> Run:
    """Run a command to its end, and watch all its processes."""
    started, peaks = time.monotonic(), dict[int, int]()
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "bertdata", *arguments]
        process = subprocess.Popen(command, stdout=output, stderr=output)
        while True:
            for pid in family(process.pid):
                with contextlib.suppress(OSError, TypeError):  # it has ended
                    status = Path(f"/proc/{pid}/status").read_text()
                    peaks[pid] = int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]
            ended, code, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            time.sleep(INTERVAL_S)
        process.returncode = os.waitstatus_to_exitcode(code)
        if process.returncode:
            output.seek(0)
            sys.exit(f"bertdata {' '.join(arguments)} failed:\n{output.read().decode(errors='replace')}")
    return Run(time.monotonic() - started, usage.ru_utime + usage.ru_stime, max(peaks.values(), default=0) * 1024 / 1e6)


def family(root: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [root]
    for pid in found:
        with contextlib.suppress(OSError):  # it has ended
            for task in os.listdir(f"/proc/{pid}/task"):
                found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


if __name__ == "__main__":
    sys.exit(main())

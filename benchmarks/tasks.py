"""Measure what a run holds and takes for each of its tasks: build-corpus with many small tasks, one process.

    python benchmarks/tasks.py                        1,000 and 10,000 tasks of 48 kB of text
    python benchmarks/tasks.py --sizes 1000,100000    more: 100,000 take 5 GB of disk and half an hour
    python benchmarks/tasks.py --idle                 tasks that do nothing and report 1 kB: what the engine takes

A task is a file of JSON lines with documents of made-up words, about 3 kB each; equal texts are looked for.  Memory is VmHWM,
the most that the process ever held.  CPU time per task is that of all but the first tasks, which the start-up is in.

Exit code 1 where a process holds 500 MB or more, or where tasks of the largest size take over 1.2 times as long as of the next.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bertdata.pipelines.engines import local
from bertdata.pipelines.steps import Map, Steps
from bertdata.pipelines.transforms import Chain, Gather, Tasks
from measured import run, workplace

from bertdata.dataset import reports
from bertdata.io.files import write_json
from bertdata.records import FileRange, Report, Task, pack

MOST = 500_000_000  # bytes that a process may hold
SLOWER = 1.2  # times as long as a task of a smaller run
TASK = 48_000  # bytes of text in a task
DOCUMENT = 3000
FIRST = 10  # tasks of the run that only its start-up is measured by
_PEAK = re.compile(r"^VmHWM:\s+(\d+)", re.MULTILINE)


class Row(NamedTuple):
    """A run of so many tasks: seconds, processor seconds, and the most bytes that a process held."""

    tasks: int
    seconds: float
    cpu: float
    peak: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; return the exit code."""
    options = _options(arguments)
    if options.alone:
        print(json.dumps(idle(options.alone)))
        return 0
    with workplace(options.work) as work:
        rows = [_alone(count) if options.idle else _build(work, count) for count in [FIRST, *options.sizes]]
    print(table(rows))
    faults = judge(rows)
    print("\n".join(f"FAIL: {fault}" for fault in faults) or "PASS")
    return 1 if faults else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        found = sorted({int(part) for part in text.split(",")})
        if found[0] <= FIRST:
            raise ValueError
        return found

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--sizes", type=numbers, default=[1000, 10_000], help="numbers of tasks  [default: 1000,10000]")
    add("--idle", action="store_true", help="tasks that do nothing but report")
    add("--work", type=Path, help="directory for input and output  [default: a temporary one]")
    add("--alone", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _build(work: Path, count: int) -> Row:
    """Run build-corpus on so many files."""
    text = work / f"text-{count}"
    write_files(text, count)
    took = run(["build-corpus", "--text", str(text), "--task-bytes", "65536", "--output", str(work / "out"), "--workers", "1"])
    for path in (text, work / "out"):
        subprocess.run(["rm", "-r", str(path)], check=True)
    return Row(count, took.seconds, took.cpu, took.driver)


def write_files(directory: Path, count: int) -> None:
    """Write files of JSON lines, each of which makes a task: two are more than a task takes."""
    directory.mkdir(parents=True)
    draw = random.Random(count)
    words = ["".join(draw.choices("aeioulnrst", k=draw.randrange(2, 9))) for _ in range(5000)]
    for number in range(count):
        lines = list[str]()
        while sum(map(len, lines)) < TASK - DOCUMENT // 2:
            sentences = [" ".join(draw.choices(words, k=12)).capitalize() + "." for _ in range(DOCUMENT // 75)]
            lines.append(json.dumps({"text": " ".join(sentences)}))
        (directory / f"part-{number:06d}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _alone(count: int) -> Row:
    """Run idle tasks in a process of their own."""
    told = subprocess.run([sys.executable, __file__, "--alone", str(count)], check=True, capture_output=True, text=True).stdout
    return Row(*json.loads(told))


def idle(count: int) -> Row:
    """Run tasks that do nothing but report a kB, in this process."""
    with TemporaryDirectory(prefix="bertdata-idle-") as directory:
        root, started = Path(directory), time.monotonic()
        write_json(root / ".bertdata" / "run.json", {})
        before = time.process_time()
        local.run(Idle(root, tasks_of(count)))
        peak = _PEAK.search(Path("/proc/self/status").read_text(encoding="utf-8"))
        assert peak is not None
        return Row(count, time.monotonic() - started, time.process_time() - before, int(peak[1]) << 10)


def tasks_of(count: int) -> list[Task]:
    """Return tasks as a dump gives them."""
    name = "enwiki-20261101-pages-articles-multistream7.xml-p1p2.bz2"
    ranges = (FileRange(name, f"/data/dumps/{name}", number * TASK, (number + 1) * TASK) for number in range(count))
    return [Task(number, "wikipedia", pack([part])) for number, part in enumerate(ranges)]


class Idle(Chain):  # type: ignore[misc]
    """Tasks -> a report of each -> their sum."""

    def expand(self, begin: Steps) -> Steps:
        """Put the steps together."""
        tasks = begin | "Tasks" >> Tasks(self._root, self._tasks)
        return tasks | "Report" >> Map(_report, self._root) | "Commit" >> Gather(_Sum(self._root), len(self._tasks))


_BODY = {"body": "x" * 1000}


def _report(task: Task, root: Path) -> Report:
    path = reports.record_path(root, "idle", task.number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"task": task.number, "report": _BODY}), encoding="utf-8")
    return reports.reference(task.number, "idle", [_BODY])


class _Sum:
    """Add up the bytes of reports."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def roots(self) -> list[Path]:
        return [self._root]

    def add_up(self, found: Iterable[list[dict[str, Any]]]) -> tuple[int, list[int]]:
        sizes = [len(report["body"]) for (report,) in found]
        return sum(sizes), sizes

    def __call__(self, sums: Iterable[int], entries: Iterable[int], /) -> None:
        assert sum(sums) == sum(entries)
        write_json(self._root / "manifest.json", {})


def table(rows: Sequence[Row]) -> str:
    """Return the table, in Markdown.

    >>> print(table([Row(10, 2.0, 1.5, 220_000_000), Row(1000, 25.0, 21.3, 240_000_000)]))
    | tasks | seconds | CPU s | ms CPU each | peak MB |
    |---:|---:|---:|---:|---:|
    | 10 | 2.0 | 1.5 |  | 220 |
    | 1,000 | 25.0 | 21.3 | 20.00 | 240 |
    """
    said = ["| tasks | seconds | CPU s | ms CPU each | peak MB |", "|---:|---:|---:|---:|---:|"]
    for row in rows:
        each = f"{1000 * _each(rows[0], row):.2f}" if row is not rows[0] else ""
        said.append(f"| {row.tasks:,} | {row.seconds:.1f} | {row.cpu:.1f} | {each} | {row.peak / 1e6:.0f} |")
    return "\n".join(said)


def _each(first: Row, row: Row) -> float:
    """Return the processor seconds of a task, without the start-up."""
    return (row.cpu - first.cpu) / (row.tasks - first.tasks)


def judge(rows: Sequence[Row]) -> list[str]:
    """Return what is wrong."""
    faults = [f"{row.tasks:,} tasks: {row.peak / 1e6:.0f} MB; allowed: {MOST / 1e6:.0f}" for row in rows if row.peak >= MOST]
    for before, row in zip(rows[1:], rows[2:], strict=False):
        if (ratio := _each(rows[0], row) / _each(rows[0], before)) > SLOWER:
            faults.append(f"{row.tasks:,} tasks take {ratio:.2f} times as long each as {before.tasks:,}; allowed: {SLOWER}")
    return faults


if __name__ == "__main__":
    sys.exit(main())

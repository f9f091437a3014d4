"""What 10 TB of text cost on 1,000 workers: requests, bytes and processor time are counted on small runs, fitted and multiplied.

    python benchmarks/ten_terabytes.py                      a few minutes; mostly waiting
    python benchmarks/ten_terabytes.py --check              and a run ten times as large as the largest that was fitted
    python benchmarks/ten_terabytes.py --faults 0.05        with 5 % of the requests refused or slow

Every command runs on an S3 server on loopback (of the tests), which waits 30 ms before each answer, at three sizes, each with few
and with many tasks, as a scale model: bytes of a request and of a record batch are 4 to 16 times smaller, so that small inputs
ask as large ones do (benchmarks/scale_model.py).  Each number that is counted is fitted as a sum of shares of bytes, requests'
worth of bytes, tasks and buckets.  What tasks send to buckets and back goes through the engine, which takes its price for bytes.

A command takes what its work takes, shared by the workers, and what its driver and its last step take alone: processor time, and
30 ms for each request.  That is counted and not timed, so that other work on the
machine does not matter.  Each worker is one vCPU.  What an engine itself does, such as starting its workers, is not in it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fitting import fit, predict
from prices import SHUFFLED, WORKER, of_requests
from scale_model import RANGE

from bertdata.sample import sample

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

BYTES, WORKERS = 10e12, 1000
LATENCY, IN_FLIGHT = 0.03, 16  # seconds of a request; how many requests the last step has on their way at a time
SPILLED = 2.3 / 4.3  # bytes of tokens that are shuffled for a byte of text (docs/explanation/scale.md)
DOCUMENT, NEAR = 3000, 0.05  # bytes of a document; the share of copies, and that of near-copies
SHUFFLED_BYTES = {  # that the engine moves for a byte of text: tokens; claims of texts, with ids; bands, and signatures of pairs
    "make-pairs": SPILLED,
    "build-corpus": 44 / DOCUMENT,
    "near-duplicates": (44 + 21 * 12 + 1.5 * NEAR * 140) / DOCUMENT,
}
COMMANDS = ("build-corpus", "near-duplicates", "train-vocab", "make-pairs", "export")
HOURS, DOLLARS = dict.fromkeys(COMMANDS, 1.0) | {"near-duplicates": 3.0}, 200.0  # what each may take
# CPU seconds for a GB of text, of which runs this small tell nothing; all other processor time is fitted.  Of scale.py and
# end_to_end.py on a quiet machine (docs/explanation/scale.md); signatures beside it by `Signer` on the documents of this file.
RATES = {"build-corpus": 60.0, "near-duplicates": 130.0, "train-vocab": 34.0, "make-pairs": 50.0, "export": 10.0}
SHOWN = 12  # shards that the report of a data set is made of (report/page/sample.py)
KINDS = ("GET", "RANGE", "HEAD", "LIST", "PUT", "COPY", "POST", "DELETE")
Counts = dict[str, float]


class Point(NamedTuple):
    """A size: bytes of text, tasks they are cut into, buckets, and by how much requests are smaller than they are at 1:1."""

    bytes: int
    tasks: int
    buckets: int
    scale: int


MB = 1_000_000
POINTS = [Point(MB, 4, 4, 16), Point(4 * MB, 20, 12, 16), Point(MB, 10, 12, 4), Point(4 * MB, 6, 16, 4), Point(2 * MB, 8, 6, 8)]
CHECK = Point(40 * MB, 60, 24, 16)


class Run(NamedTuple):
    """A command at a point: what it may grow with, and what was counted of it."""

    command: str
    features: Counts
    counted: Counts


def features(command: str, bytes: float, tasks: float, buckets: float, scale: float = 1) -> Counts:
    """Return what the numbers of a command may grow with; `tasks` and `buckets` are those of this command."""
    found = {"one": 1.0, "byte": bytes, "range": bytes * scale / RANGE, "task": tasks, "shown": min(tasks, SHOWN)}
    return found | ({"bucket": buckets} if command == "make-pairs" else {})


def lines(size: int) -> Iterator[bytes]:
    """Yield documents of about 3 kB, of sentences of the sample: a few are copies of others, a few near-copies."""
    text = " ".join(
        path.read_text(encoding="utf-8") for path in sorted((sample() / "books").glob("*.txt")) if "shui" not in path.name
    )
    pool = [s.strip() + "." for s in text.replace("\n", " ").split(".") if 30 < len(s) < 300]
    words = sorted({word for s in pool for word in s.split()})
    chance, done, last = random.Random(size), 0, [""]
    while done < size:
        fate = chance.random()
        if fate > NEAR * 2:
            last = []
            while sum(map(len, last)) < DOCUMENT - 100:  # words of other sentences, or all documents would be near-copies
                last.append(" ".join([*chance.choice(pool).split()[:-4], *chance.choices(words, k=6)]) + ".")
        elif fate > NEAR:
            last[chance.randrange(len(last))] = chance.choice(pool)
        data = json.dumps({"text": " ".join(last)}).encode() + b"\n"
        done += len(data)
        yield data


class Model:
    """A process that runs commands as scale models; see benchmarks/scale_model.py."""

    def __enter__(self) -> Model:
        program = [sys.executable, str(Path(__file__).with_name("scale_model.py"))]
        self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, store: Any, environment: dict[str, str], point: Point, words: list[str]) -> Counts:
        """Run a command, and return what was counted of it, by phase."""
        assert self._process.stdin and self._process.stdout
        store.counts.clear()
        store.moved.clear()
        asked = {"environment": environment, "scale": point.scale, "buckets": point.buckets, "words": words}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        if told["code"]:
            sys.exit(f"ten_terabytes.py: {' '.join(words)} ended with exit code {told['code']}:\n{told['said']}")
        counted: Counts = {f"{phase} {kind}": store.counts[phase, kind] for phase in told["took"] for kind in KINDS}
        for name, kinds in (("sent MB", ("PUT", "POST")), ("fetched MB", ("GET", "RANGE"))):
            counted[name] = sum(size for (_, kind), size in store.moved.items() if kind in kinds) / MB
        return counted | {f"{phase} CPU s": cpu for phase, cpu in told["took"].items()}


def measure(model: Model, point: Point, faults: float, latency: float) -> Iterator[Run]:
    """Run the commands at a point, one after the other, on a store of its own."""
    server: Any = importlib.import_module("s3_server")
    with server.serving() as store:
        store.objects["in/text.jsonl"] = b"".join(lines(point.bytes))
        store.latency, store.faults = latency, faults
        size = len(store.objects["in/text.jsonl"])
        for command, words in _words(point, size).items():
            counted = model.run(store, server.environment(store.url), point, [*words, "--output", _output(command)])
            made = json.loads(store.objects["build-corpus/manifest.json"])
            tasks = [math.ceil(shard["batches"] / 8) for shard in made["shards"]]
            own = sum(tasks) if command == "make-pairs" else len(tasks)
            own, read = (min(own, 64), min(size, 1 << 20)) if command == "train-vocab" else (own, size)
            yield Run(command, features(command, read, own, point.buckets, point.scale), counted)


def measured(points: list[Point], kept: Path | None, faults: float, latency: float) -> list[Run]:
    """Measure these points, but for what an earlier call has kept in a file: a line of JSON for each run."""
    lines = kept.read_text().splitlines() if kept and kept.exists() else []
    found = [(Point(*point), _again(Point(*point), *run)) for point, run in map(json.loads, lines)]
    whole = [point for point in points if len([at for at, _ in found if at == point]) == len(COMMANDS)]
    found = [(at, run) for at, run in found if at in whole or at not in points]
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(Model()) if len(whole) < len(points) else None
        for point in points:
            for run in measure(model, point, faults, latency) if model and point not in whole else ():
                found.append((point, run))
                print(f"{run.command} at {point}", file=sys.stderr, flush=True)
                if kept:
                    kept.write_text("".join(json.dumps(each) + "\n" for each in found))
    return [run for at, run in found if at in points]


def _again(point: Point, command: str, known: Counts, counted: Counts) -> Run:
    return Run(command, features(command, known["byte"], known["task"], point.buckets, point.scale), counted)


def _output(command: str) -> str:
    return f"s3://bucket/{command.replace(' ', '-')}"


def _words(point: Point, size: int) -> dict[str, list[str]]:
    """Return the words of each command."""
    text = ["build-corpus", "--text", "s3://bucket/in/text.jsonl", "--task-bytes", str(max(1 << 16, size // point.tasks + 1))]
    pairs = ["make-pairs", "s3://bucket/build-corpus", "--vocab", "s3://bucket/train-vocab", "--shards", str(point.buckets)]
    return {
        "build-corpus": text,
        "near-duplicates": [*text, "--dedup", "near"],
        "train-vocab": ["train-vocab", "s3://bucket/build-corpus", "--size", "2000", "--sample-bytes", str(1 << 18)],
        "make-pairs": pairs,
        "export": ["export", "s3://bucket/build-corpus", "--to", "jsonl"],
    }


class Row(NamedTuple):
    """What a command takes."""

    command: str
    requests: Counts
    cpu: float
    hours: float
    dollars: float


def _may(name: str) -> tuple[str, ...]:
    """Return what a number may grow with: no other request than a RANGE is asked for more often for more bytes of a task.

    The last step reads a few shards for the report, and moves those that have lost documents.
    """
    phase, _, kind = name.partition(" ")
    if phase == "driver":
        return ("one", "task") if kind in ("COPY", "DELETE") else ("one", "shown")
    if kind in ("RANGE", "CPU s"):
        return ("one", "range", "task", "bucket")
    return ("one", "byte") if kind == "MB" else ("one", "task", "bucket")


def extrapolate(runs: list[Run], command: str, at: Counts) -> dict[str, float]:
    """Fit all that was counted of a command, and return it for other features."""
    own = [run for run in runs if run.command == command]
    rate = RATES[command.partition(" ")[0]] / 1e9
    found: dict[str, float] = {}
    for name in own[0].counted:
        known = rate if name == "work CPU s" else 0.0
        left = [max(0.0, run.counted[name] - known * run.features["byte"]) for run in own]
        seen = [{key: value for key, value in run.features.items() if key in _may(name)} for run in own]
        found[name] = predict(fit(seen, left), at) + known * at["byte"]
    found["driver HEAD"] += 2 * found["driver COPY"]  # before each move
    return found


def waits(found: Counts, phase: str) -> float:
    """Return the seconds that one worker waits for so many requests, one after the other."""
    return LATENCY * sum(found[f"{phase} {kind}"] for kind in KINDS)


def row(command: str, found: Counts, shuffled: float = 0.0) -> Row:
    """Say what a command takes on `WORKERS` workers: what each of them does, and what the driver does alone."""
    requests = {kind: found[f"work {kind}"] + found[f"driver {kind}"] for kind in KINDS}
    moves = {name: found[name] / IN_FLIGHT for name in ("driver HEAD", "driver COPY", "driver DELETE")}
    hours = (
        (found["work CPU s"] + waits(found, "work")) / WORKERS + found["driver CPU s"] + waits({**found, **moves}, "driver")
    ) / 3600
    dollars = hours * WORKERS * WORKER + of_requests(requests) + shuffled / 1e9 * SHUFFLED
    return Row(command, requests, found["work CPU s"] + found["driver CPU s"], hours, dollars)


def targets() -> dict[str, Counts]:
    """Return the features of each command at 10 TB: tasks and buckets as the commands choose them."""
    tasks, pairs = 40_000, math.ceil(BYTES / (128 << 20))
    own = dict.fromkeys(("build-corpus", "near-duplicates", "export"), (tasks, 0))
    own["make-pairs"] = (pairs, 99_999)
    found = {name: features(name, BYTES, *of) for name, of in own.items()}
    return found | {"train-vocab": features("train-vocab", 4 * (256 << 20), 64, 0)}


def table(runs: list[Run]) -> str:
    """Print what 10 TB take, in Markdown."""
    said = ["| | GET, HEAD | PUT, LIST | CPU hours | hours | dollars | |", "|---|---|---|---|---|---|---|"]
    at = targets()
    for command in (name for name in COMMANDS if any(run.command == name for run in runs)):
        found = extrapolate(runs, command, at[command])
        made = row(command, found, SHUFFLED_BYTES.get(command, 0.0) * BYTES)
        cheap = sum(made.requests[kind] for kind in ("GET", "RANGE", "HEAD")) / 1e6
        dear = sum(made.requests[kind] for kind in ("LIST", "PUT", "COPY", "POST")) / 1e6
        over = made.hours > HOURS[command] or made.dollars > DOLLARS
        told = f"{cheap:,.1f} M | {dear:,.2f} M | {made.cpu / 3600:,.0f} | {made.hours:,.2f} | ${made.dollars:,.0f}"
        said.append(f"| {command} | {told} | {'over' if over else ''} |")
    return "\n".join(said)


def check(runs: list[Run], others: list[Run]) -> str:
    """Say how far the fit is from runs that it has not seen."""
    said = ["ten times the largest: counted, foretold"]
    for other in others:
        found = extrapolate(runs, other.command, other.features)
        sums = [
            sum(of[f"{phase} {kind}"] for phase in ("work", "driver") for kind in KINDS[:-1]) for of in (other.counted, found)
        ]
        cpu = [sum(of[f"{phase} CPU s"] for phase in ("work", "driver")) for of in (other.counted, found)]
        said.append(f"{other.command}: {sums[0]:,.0f}, {sums[1]:,.0f} requests; {cpu[0]:.1f}, {cpu[1]:.1f} CPU s")
    return "\n".join(said)


def main(arguments: list[str] | None = None) -> int:
    """Measure, fit, and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="Run ten times the largest size too, and compare with the fit.")
    options.add_argument("--faults", type=float, default=0.0, help="The share of requests that are refused or slow.")
    options.add_argument("--size", type=float, default=1.0, help="MB of the smallest runs; the largest have four times as many.")
    options.add_argument("--latency", type=float, default=LATENCY, help="Seconds added to each request.")
    options.add_argument("--json", type=Path, help="Where counts are kept, and come from where they are.")
    given = options.parse_args(arguments)
    points, far = ([p._replace(bytes=int(p.bytes * given.size)) for p in own] for own in (POINTS, [CHECK]))
    print(table(runs := measured(points, given.json, given.faults, given.latency)))
    if given.check:
        print(check(runs, measured(far, given.json, given.faults, given.latency)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

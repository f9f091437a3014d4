"""Kill runs at random moments, finish them by the same command, and compare every byte with that of a run nobody broke.

    python benchmarks/kills.py                            34 kills of each command, of four kinds, with 1 and 2 workers
    python benchmarks/kills.py --command make-pairs --rounds 200 --seed 7

The driver is killed (SIGKILL) at a moment between its start and the end that an unbroken run of the kind has reached: one kill in
five at any time, Python's own start included, the others after its first file.  A round that is over before its kill counts as
finished, and another one is drawn.

    resume      a run is killed, and the same command given again
    twice       the second run is killed as well, and then finished
    overwrite   a run that replaces a data set is killed; what stands in its place must be the old data set or the new one
    choosing    the same as resume, with rounds that choose documents across the corpus (of build-corpus)

Wrong: bytes that differ, at the end or in a data set that a manifest calls whole.  Left: files that a finished run must not
leave.  Exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from measured import workplace

COMMANDS = ("build-corpus", "train-vocab", "make-pairs")
KINDS = {command: ["resume", "twice", "overwrite"] for command in COMMANDS}
KINDS["build-corpus"].append("choosing")
_CHOOSING = ("--dedup", "near", "--near-threshold", "0.6", "--dedup-paragraphs", "--sample-documents", "150")
_OTHER = {"build-corpus": ("--dedup", "none"), "train-vocab": ("--seed", "7"), "make-pairs": ("--seed", "7")}
_COMMAND = (sys.executable, "-m", "bertdata")
_DRAWS = 3  # as many rounds as kills are wanted, at most


class Case(NamedTuple):
    """A kind of round: the command, the arguments that stay the same, and where it writes."""

    command: str
    kind: str
    workers: int
    arguments: tuple[str, ...]

    def run(self, output: Path, *more: str) -> subprocess.Popen[bytes]:
        """Start the command in a group of processes of its own."""
        where = output / ("out-{length}" if self.command == "make-pairs" else "out")
        line = (*_COMMAND, self.command, *self.arguments, "--workers", str(self.workers), "--output", str(where), *more)
        return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)

    def finish(self, output: Path, *more: str) -> None:
        """Run it to its end; stop everything with what it said if that is no success."""
        process = self.run(output, *more)
        _, said = process.communicate(timeout=300)
        if process.returncode:
            sys.exit(f"kills.py: {self} {' '.join(more)}: exit code {process.returncode}: {said.decode(errors='replace')}")


class Whole(NamedTuple):
    """What an unbroken run wrote, file by file, and when it wrote its first file and ended, in seconds."""

    digests: dict[str, str]
    first: float
    end: float


def main() -> int:
    """Kill, resume, compare, and print the table; return the exit code."""
    options = _options()
    counts: dict[tuple[str, str, int], Counter[str]] = {}
    with workplace(options.work) as work:
        made = _inputs(work)
        for number, command in enumerate(options.command or COMMANDS):
            chance = random.Random(f"{options.seed} {command}")
            for case, share in _cases(command, made, options.rounds):
                counts[command, case.kind, case.workers] = _rounds(case, share, chance, work / f"rounds-{number}")
    return _report(counts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=34, help="kills of each command (34)")
    parser.add_argument("--seed", type=int, default=12345, help="seed of the moments")
    parser.add_argument("--command", action="append", choices=COMMANDS, help="command to kill; may be repeated (all)")
    parser.add_argument("--work", type=Path, help="directory for the runs (that of the system)")
    return parser.parse_args()


def _cases(command: str, made: Path, rounds: int) -> list[tuple[Case, int]]:
    """Share the rounds out among the kinds, with 1 and 2 workers."""
    inputs = {
        "build-corpus": ("--text", f"{made}/text.jsonl", "--task-bytes", "65536"),
        "train-vocab": (f"{made}/corpus", "--size", "700"),
        "make-pairs": (f"{made}/corpus", "--vocab", f"{made}/vocab", "--shards", "6"),
    }[command]
    if command == "make-pairs":
        inputs += ("--max-seq-length", "64", "--max-seq-length", "128")
    cases = [
        Case(command, kind, workers, inputs + (_CHOOSING if kind == "choosing" else ()))
        for kind in KINDS[command]
        for workers in (1, 2)
    ]
    return [(case, (rounds + number) // len(cases)) for number, case in enumerate(cases)]


def _inputs(work: Path) -> Path:
    """Write a text of 240 stories, some told twice, in other words or with a paragraph of another; make its corpus and words."""
    chance, stories = random.Random(1), list[list[str]]()
    words = ("ferry", "miller", "glass", "tide", "heron", "harbour", "marsh", "lamp", "bridge", "crossed", "saw", "drew", "left")
    shared = " ".join(chance.choices(words, k=40)).capitalize() + "."
    for number in range(240):
        paragraphs = [" ".join([*chance.choices(words, k=12), f"{number}.{place}."]) for place in range(8 + number % 40)]
        if number % 5 == 4:
            paragraphs = [*stories[-1][:-1], f"And so it ended {number} times."]
        if number % 7 == 3:
            paragraphs.append(shared)
        stories.append(paragraphs)
    lines = (json.dumps({"title": f"Story {n}", "text": "\n\n".join(story)}) + "\n" for n, story in enumerate(stories))
    (work / "text.jsonl").write_text("".join(lines), encoding="utf-8")
    _make(work, "corpus", "build-corpus", "--text", "text.jsonl", "--task-bytes", "65536")
    _make(work, "vocab", "train-vocab", "corpus", "--size", "700")
    return work


def _make(work: Path, name: str, *arguments: str) -> None:
    line = (*_COMMAND, *arguments, "--workers", "1", "--output", name)
    subprocess.run(line, cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _rounds(case: Case, wanted: int, chance: random.Random, work: Path) -> Counter[str]:
    """Kill until there are as many kills in mid-run as wanted."""
    counts: Counter[str] = Counter(rounds=0, killed=0, finished=0, wrong=0, left=0)
    if not wanted:
        return counts
    started = time.monotonic()
    whole = _unbroken(case, work)
    for _ in range(_DRAWS * wanted):
        if counts["killed"] >= wanted:
            break
        counts.update(_round(case, whole, chance, work))
    seconds = time.monotonic() - started
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    print(f"{case.command} {case.kind}, {case.workers} workers: {told} ({seconds:.0f} s)", file=sys.stderr, flush=True)
    return counts


def _unbroken(case: Case, work: Path) -> Whole:
    """Run a case to its end, and remember what it writes and how long that takes."""
    shutil.rmtree(work, ignore_errors=True)
    old = _old(case, work)
    started, first = time.monotonic(), 0.0
    process = case.run(work, *_how(case))
    while process.poll() is None:
        if not first and _begun(work):
            first = time.monotonic() - started
        time.sleep(0.005)
    said = process.communicate()[1]
    if process.returncode or _digests(work) == old:
        sys.exit(f"kills.py: {case} fails without a kill: {said.decode(errors='replace')}")
    return Whole(_digests(work), first, time.monotonic() - started)


def _how(case: Case) -> tuple[str, ...]:
    return ("--overwrite",) if case.kind == "overwrite" else ()


def _old(case: Case, work: Path) -> dict[str, str]:
    """Make what is to be replaced: the same with another option."""
    if case.kind != "overwrite":
        return {}
    case.finish(work, *_OTHER[case.command])
    return _digests(work)


def _begun(work: Path) -> bool:
    """Tell whether a run has written a first file."""
    return any(work.glob("out*/.bertdata/build-*"))


def _round(case: Case, whole: Whole, chance: random.Random, work: Path) -> Counter[str]:
    """Kill once or twice, run again, and compare."""
    kept = work.with_name(f"{work.name}-{case.workers}-old")
    shutil.rmtree(work, ignore_errors=True)
    if case.kind == "overwrite":
        if not kept.exists():
            _old(case, kept)
        shutil.copytree(kept, work)
    old = _digests(work) if case.kind == "overwrite" else {}
    count: Counter[str] = Counter(rounds=1)
    for _ in range(2 if case.kind == "twice" else 1):
        killed = _kill(case, whole, chance, work, *_how(case))
        count["killed" if killed else "finished"] += 1
        count["wrong"] += not _whole_or_nothing(work, whole, old)
    case.finish(work, *_how(case))
    count["wrong"] += _digests(work) != whole.digests
    count["left"] += len(_left(work))
    return count


def _kill(case: Case, whole: Whole, chance: random.Random, work: Path, *how: str) -> bool:
    """Start a run and kill its driver; tell whether it was running."""
    anywhere, moment = chance.random() < 0.2, chance.random()
    process = case.run(work, *how)
    if not anywhere:
        limit = time.monotonic() + 3 * whole.end
        while process.poll() is None and not _begun(work) and time.monotonic() < limit:
            time.sleep(0.002)
    try:
        process.wait(moment * (whole.end if anywhere else whole.end - whole.first))
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate(timeout=60)  # until its workers are gone as well: they hold the pipe
    return process.returncode == -signal.SIGKILL


def _whole_or_nothing(work: Path, whole: Whole, old: dict[str, str]) -> bool:
    """Tell whether each directory with a manifest holds exactly the old or the new data set."""
    found = _digests(work)
    for manifest in work.glob("[!.]*/manifest.json"):
        name = manifest.parent.name
        own, *known = ({k: d for k, d in digests.items() if k.startswith(f"{name}/")} for digests in (found, old, whole.digests))
        if own not in known:
            return False
    return all((work / key.partition("/")[0]).exists() for key in old)


def _digests(work: Path) -> dict[str, str]:
    """Hash every file that a reader sees."""
    files = [path for path in sorted(work.rglob("*")) if path.is_file()]
    names = ((path.relative_to(work), path) for path in files)
    return {n.as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for n, p in names if not any(x[0] == "." for x in n.parts)}


def _left(work: Path) -> list[str]:
    """Name what a finished run must not leave: temporary files, records and spills, directories half replaced."""
    state = {"lock", "commit", "run.json", "timings.json"}
    hidden = [path for path in work.rglob("*") if any(part[0] == "." for part in path.relative_to(work).parts)]
    kept = (".bertdata", *(f".bertdata/{name}" for name in state))
    return [str(path) for path in hidden if not path.as_posix().endswith(kept)]


def _report(counts: dict[tuple[str, str, int], Counter[str]]) -> int:
    columns = ("rounds", "killed", "finished", "wrong", "left")
    print(f"{'command':14}{'kind':11}{'workers':>7}" + "".join(f"{name:>10}" for name in columns))
    for (command, kind, workers), own in counts.items():
        print(f"{command:14}{kind:11}{workers:>7}" + "".join(f"{own[name]:>10}" for name in columns))
    total = sum(counts.values(), Counter[str]())
    print(f"{'all':32}" + "".join(f"{total[name]:>10}" for name in columns))
    bad = total["wrong"] + total["left"]
    print(f"{'FAIL' if bad else 'PASS'}: {total['killed']} kills in mid-run, {total['wrong']} wrong, {total['left']} files left")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

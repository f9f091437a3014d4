"""Runs killed at random moments: the same command, given again, ends in the same bytes as a run that nobody killed.

One kill in five comes at any time, Python's start-up included; the others come after the run has written its first file.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND, digests

pytestmark = pytest.mark.nightly

COMMANDS = ("build-corpus", "train-vocab", "make-pairs")
CHOOSING = ("--dedup", "near", "--near-threshold", 0.6, "--dedup-paragraphs", "--sample-documents", 150)
OTHER = {"build-corpus": ("--dedup", "none"), "train-vocab": ("--seed", 7), "make-pairs": ("--seed", 7)}
KEPT = {".bertdata", ".bertdata/lock", ".bertdata/commit", ".bertdata/run.json", ".bertdata/run.sha256"}
KILLS = 3  # in mid-run, of each case
CASES = [(command, kind, workers) for command in COMMANDS for kind in ("resume", "twice", "overwrite") for workers in (1, 2)]
CASES += [("build-corpus", "choosing", workers) for workers in (1, 2)]


def start(output: Path, *words: object) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own."""
    line = [*COMMAND, *map(str, words), "--output", str(output)]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def finish(output: Path, *words: object) -> None:
    """Run a command to its end."""
    process = start(output, *words)
    _, printed = process.communicate(timeout=300)
    assert process.returncode == 0, printed.decode()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """240 stories, some with near-copies and shared paragraphs, their corpus and their vocabulary."""
    work, chance, stories = tmp_path_factory.mktemp("inputs"), random.Random(1), list[list[str]]()
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
    finish(work / "corpus", "build-corpus", "--text", work / "text.jsonl", "--task-bytes", 65536, "--workers", 1)
    finish(work / "vocab", "train-vocab", work / "corpus", "--size", 700, "--workers", 1)
    return work


def visible(work: Path) -> dict[str, str]:
    """Hash every file that a reader sees."""
    return {path: digest for path, digest in digests(work).items() if not any(part[0] == "." for part in Path(path).parts)}


def has_begun(work: Path) -> bool:
    return any(work.glob("out*/.bertdata/build-*"))


def hidden(work: Path) -> list[str]:
    """Name the hidden files and folders that a finished run must not leave."""
    paths = [path.relative_to(work) for path in work.rglob("*")]
    return [f"{path}" for path in paths if any(part[0] == "." for part in path.parts) and "/".join(path.parts[1:]) not in KEPT]


def kill(output: Path, words: list[object], chance: random.Random, first: float, end: float) -> bool:
    """Start a run and kill its driver at a random moment; return whether it was still running."""
    anywhere, moment = chance.random() < 0.2, chance.random()
    process = start(output, *words)
    limit = time.monotonic() + 3 * end
    while not anywhere and process.poll() is None and not has_begun(output.parent) and time.monotonic() < limit:
        time.sleep(0.002)
    try:
        process.wait(moment * (end if anywhere else end - first))
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate(timeout=60)  # until its workers have ended too: they hold the pipe
    return process.returncode == -signal.SIGKILL


def is_old_or_new(found: dict[str, str], old: dict[str, str], new: dict[str, str]) -> bool:
    """Return whether each directory with a manifest has exactly the old files or exactly the new ones."""
    for name in {path.partition("/")[0] for path in found if path.endswith("/manifest.json")}:
        own, *allowed = ({k: d for k, d in files.items() if k.startswith(f"{name}/")} for files in (found, old, new))
        if own not in allowed:
            return False
    return all(path.partition("/")[0] in {each.partition("/")[0] for each in found} for path in old)


@pytest.mark.long
@pytest.mark.parametrize(("command", "kind", "workers"), CASES)
def test_killed_run_ends_in_the_same_bytes(inputs: Path, tmp_path: Path, command: str, kind: str, workers: int) -> None:
    lines: dict[str, list[object]] = {
        "build-corpus": ["--text", inputs / "text.jsonl", "--task-bytes", 65536],
        "train-vocab": [inputs / "corpus", "--size", 700],
        "make-pairs": [inputs / "corpus", "--vocab", inputs / "vocab", "--shards", 6, "--max-seq-length", 64],
    }
    words = [command, *lines[command], *(CHOOSING if kind == "choosing" else ()), "--workers", workers]
    name = "out"
    if command == "make-pairs":
        words, name = [*words, "--max-seq-length", 128], "out-{length}"
    chance, work, before = random.Random(f"{command} {kind} {workers}"), tmp_path / "work", tmp_path / "before"
    work.mkdir()
    old: dict[str, str] = {}
    if kind == "overwrite":
        finish(work / name, *words, *OTHER[command])
        old = visible(work)
        shutil.copytree(work, before)
        words.append("--overwrite")
    started, first = time.monotonic(), 0.0
    process = start(work / name, *words)
    while process.poll() is None:
        first = first or (time.monotonic() - started if has_begun(work) else 0.0)
        time.sleep(0.005)
    end, new = time.monotonic() - started, visible(work)
    _, printed = process.communicate()
    assert process.returncode == 0 and new != old, printed.decode()
    kills = 0
    for _ in range(3 * KILLS):
        shutil.rmtree(work)
        if kind == "overwrite":
            shutil.copytree(before, work)
        else:
            work.mkdir()
        for _ in range(2 if kind == "twice" else 1):
            kills += kill(work / name, words, chance, first, end)
            if (work / name / "manifest.json").exists():  # killed between the renames of a commit: the next command finishes it
                assert is_old_or_new(visible(work), old, new)
        finish(work / name, *words)
        assert visible(work) == new
        assert hidden(work) == []
        if kills >= KILLS:
            break
    assert kills

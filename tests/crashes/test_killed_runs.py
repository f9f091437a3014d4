"""Runs killed before a change on the disk, or at any moment: the same command ends in the same bytes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest
from conftest import STEPS, Build, Run, command_line, digests, leftovers
from processes import Started, start

pytestmark = pytest.mark.long
NIGHTLY = pytest.mark.nightly
CHOOSING = ("--dedup", "near", "--near-threshold", 0.6, "--dedup-paragraphs", "--sample-documents", 40)
CASES = [  # command, whether it replaces a dataset, first change to kill at, step, full disk
    ("build-corpus", True, 12, 55, False),
    ("train-vocab", True, 12, 30, False),
    ("make-pairs", True, 12, 55, False),
    *(pytest.param(name, replaces, 1, 9, False, marks=NIGHTLY) for name in STEPS for replaces in (False, True)),
    *(pytest.param(name, False, 3, 31, True, marks=NIGHTLY) for name in STEPS),
]


@pytest.fixture(scope="session")
def small(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of 80 documents, 20 of them near-copies, its corpus and its vocabulary."""
    root = tmp_path_factory.mktemp("small")
    lines = text.read_text(encoding="utf-8").splitlines(keepends=True)
    copies = [line.replace("ferry", "barge", 1) for line in lines[:20]]
    (root / "text.jsonl").write_text("".join([*lines[:60], *copies]), encoding="utf-8")
    build("build-corpus", root / "corpus", "--text", root / "text.jsonl", "--task-bytes", 1 << 16)
    build("train-vocab", root / "vocab", root / "corpus", "--size", 500)
    return root


@pytest.mark.parametrize(("name", "replaces", "first", "step", "full"), CASES)
def test_a_kill_before_a_change(
    small: Path, tmp_path: Path, name: str, replaces: bool, first: int, step: int, full: bool
) -> None:
    output = tmp_path / "all" / "work" / ("out-{length}" if name == "make-pairs" else "out")
    words: dict[str, list[object]] = {
        "build-corpus": ["--text", small / "text.jsonl", "--task-bytes", 1 << 16, *CHOOSING],
        "train-vocab": [small / "corpus", "--size", 500],
        "make-pairs": [small / "corpus", "--vocab", small / "vocab", "--shards", 2],
    }
    words["make-pairs"] += ["--max-seq-length", 64, "--max-seq-length", 128]
    line = [*map(str, [name, *words[name], "--workers", 1, "--output", output])]
    other = ["--max-documents", "70"] if name == "build-corpus" else ["--seed", "7"]
    told = {"old": [*line, *other] if replaces else [], "arguments": [*line, *["--overwrite"] * replaces]}
    told |= {"first": first, "step": step, "full": full}
    code = Path(__file__).with_name("every_change.py").read_text(encoding="utf-8")
    process = Started([str(tmp_path / "all"), json.dumps(told)], Path.cwd(), {**os.environ}, code)
    try:
        assert process.wait(1200) == 0, process.communicate()
    finally:
        process.kill()
    found = json.loads(process.communicate()[0])
    assert found["wrong"] == [] and found["changes"] > 50


@NIGHTLY
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", STEPS)
def test_kills_at_random_moments(run: Run, parts: Path, text: Path, tmp_path: Path, name: str, workers: int) -> None:
    """From the start of Python to the commit, once and twice in a row."""
    arguments = [name, *command_line(name, text, parts), "--workers", workers, "--output"]
    begun = time.monotonic()
    run(*arguments, tmp_path / "whole")
    whole, chance = time.monotonic() - begun, random.Random(f"{name} {workers}")
    for number in range(8):
        output = tmp_path / f"out-{number}"
        for _ in range(1 + number % 2):
            process = start(*arguments, output)
            try:
                process.wait(chance.random() * whole)
            except subprocess.TimeoutExpired:
                process.kill()
        run(*arguments, output)
        assert digests(output) == digests(parts / name) and leftovers(output) == []

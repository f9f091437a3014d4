"""Runs killed before every change they make on the disk: given again, they end in the same bytes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Build
from processes import Started

pytestmark = pytest.mark.long

COMMANDS = ("build-corpus", "train-vocab", "make-pairs")
CHOOSING = ("--dedup", "near", "--near-threshold", 0.6, "--dedup-paragraphs", "--sample-documents", 40)


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


def at_every_change(small: Path, directory: Path, name: str, overwrite: bool, **more: Any) -> dict[str, Any]:
    """Kill a command before its changes `first`, `first` + `step` and so on, and give it again; return what was wrong."""
    output = directory / "work" / ("out-{length}" if name == "make-pairs" else "out")
    lines: dict[str, list[object]] = {
        "build-corpus": ["build-corpus", "--text", small / "text.jsonl", "--task-bytes", 1 << 16],
        "train-vocab": ["train-vocab", small / "corpus", "--size", 500],
        "make-pairs": ["make-pairs", small / "corpus", "--vocab", small / "vocab", "--shards", 2],
    }
    lines["choosing"] = [*lines["build-corpus"], *CHOOSING]
    lines["make-pairs"] += ["--max-seq-length", 64, "--max-seq-length", 128]
    where = ["--workers", 1, "--output", output]
    other = ["--dedup", "none"] if name in ("build-corpus", "choosing") else ["--seed", 7]
    old = [*lines["build-corpus" if name == "choosing" else name], *other, *where] if overwrite else []
    told = {"old": [*map(str, old)], "arguments": [*map(str, [*lines[name], *where])], "how": ["--overwrite"] * overwrite, **more}
    code = Path(__file__).with_name("every_change.py").read_text(encoding="utf-8")
    done = Started([str(directory), json.dumps(told)], Path.cwd(), {**os.environ}, code)
    try:
        assert done.wait(1200) == 0, done.communicate()
    finally:
        done.kill()
    found: dict[str, Any] = json.loads(done.communicate()[0])
    return found


CASES = [(name, overwrite) for name in (*COMMANDS, "choosing") for overwrite in (False, True)]
STEP = {"build-corpus": 17, "train-vocab": 13, "make-pairs": 29, "choosing": 41}  # of 60 to 280 changes


@pytest.mark.long
@pytest.mark.parametrize(("name", "overwrite"), CASES)
def test_a_kill_before_each_change(small: Path, tmp_path: Path, name: str, overwrite: bool) -> None:
    found = at_every_change(small, tmp_path / "all", name, overwrite, first=1 + overwrite * 3, step=STEP[name])
    assert found["wrong"] == []
    assert found["changes"] > 50


@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill_before_some_changes(small: Path, tmp_path: Path, name: str) -> None:
    """Three moments of a replacement: begun, at work, and between its last renames."""
    found = at_every_change(small, tmp_path / "some", name, True, first=12, step=55 if name != "train-vocab" else 30)
    assert found["wrong"] == []


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill_of_the_run_that_resumes(small: Path, tmp_path: Path, name: str) -> None:
    found = at_every_change(small, tmp_path / "again", name, False, first=2, step=3 * STEP[name], again=40)
    assert found["wrong"] == []


@pytest.mark.long
@pytest.mark.parametrize("name", [*COMMANDS, "choosing"])
def test_a_disk_that_is_full_from_each_change_on(small: Path, tmp_path: Path, name: str) -> None:
    """Exit code 4, and a message that names the way out, whatever file it strikes."""
    found = at_every_change(small, tmp_path / "full", name, False, first=3, step=2 * STEP[name], full=True)
    assert found["wrong"] == []

"""benchmarks/pairs.py: what it says of our pairs, of the same as a peer would write them, and of its control."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import REPOSITORY, read_rows
from hypothesis import given, settings
from hypothesis import strategies as st


def _load(name: str) -> Any:
    sys.path.insert(0, str(REPOSITORY / "benchmarks"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(REPOSITORY / "benchmarks"))


@pytest.mark.parametrize("name", ["pairs", "locate", "google_pairs"])
def test_doctests(name: str) -> None:
    assert doctest.testmod(_load(name)).failed == 0


IDS = st.lists(st.integers(0, 3), min_size=1, max_size=60)


@settings(deadline=None, max_examples=50)
@given(text=IDS, start=st.integers(0, 59), length=st.integers(1, 20))
def test_segments_are_found_wherever_they_stand(text: list[int], start: int, length: int) -> None:
    locate = _load("locate")
    start = min(start, len(text) - 1)
    segment = text[start : start + length]
    index, rows = locate.Index(np.array(text)), locate.Hashes(np.array([7, *segment]))
    _, positions = index.find(rows, np.array([1]), np.array([len(segment)]))
    assert positions.tolist() == [i for i in range(len(text)) if text[i : i + len(segment)] == segment]


def test_the_fit_sees_a_leak_and_sees_none_in_noise() -> None:
    fitted = _load("pairs").fitted
    random = np.random.default_rng(1)
    facts, label = random.integers(0, 100, (4000, 3)), np.arange(4000) % 2
    assert abs(fitted(facts, label) - 0.5) < 0.03
    facts[:, 2] = (facts[:, 0] > 50) ^ label  # only a product of facts tells
    assert fitted(facts, label) > 0.8


def _measure(*arguments: object) -> dict[str, list[str]]:
    """Run benchmarks/pairs.py; return its table by row."""
    command = [sys.executable, "benchmarks/pairs.py", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert done.returncode in (0, 1), done.stderr  # so few pairs may miss a promise by chance
    return {line[:36].strip(): line[52:].split() for line in done.stdout.splitlines() if not line.startswith("NOT")}


def test_the_benchmark_measures_ours_and_others(sample_pairs: Path, sample_corpus: Path, tmp_path: Path) -> None:
    """Ours keeps what it promises; the same as JSONL measures the same; the control shows what is wrong with it."""
    rows = read_rows(sample_pairs)
    (tmp_path / "theirs.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    theirs = (tmp_path / "theirs.jsonl", "--vocab", sample_pairs, "--length", 128)
    table = _measure(sample_pairs, "--corpus", sample_corpus, "--control")
    other = _measure(*theirs, "--corpus", sample_corpus)
    assert table["rows"][0] == f"{len(rows):,}"
    assert table["junction kept, of IsNext"][0] == "1.0000" and float(table["found, of segments"][0]) > 0.99
    for name in ("B from A's document, of NotNext", "starts inside a word, of segments", "tokens used too often"):
        assert table[name][0] == "0.0000"
    assert {name: cells[0] for name, cells in table.items() if cells and name not in ("", "bytes a token")} == {
        name: cells[0] for name, cells in other.items() if cells and name != ""
    }
    assert float(table["junction kept, of IsNext"][1]) < 0.6 and float(table["starts inside a word, of segments"][1]) > 0.005
    assert float(table["tokens used too often"][1]) > 0

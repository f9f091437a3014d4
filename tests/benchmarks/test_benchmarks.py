"""Every benchmark runs on tiny input, and the tables in README.md and docs/ match the measurements in docs/benchmarks.json."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

pytestmark = pytest.mark.nightly

BENCHMARKS = REPOSITORY / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import all as runner  # noqa: E402


def run_script(name: str, *arguments: object) -> str:
    """Run a benchmark in a new process; return what it printed."""
    command = [sys.executable, str(BENCHMARKS / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_tables_match_measurements() -> None:
    assert runner.main(["--check"]) == 0, "python benchmarks/all.py --render"
    rows = runner.shown(runner._known())
    assert len(rows) == len(runner.SHOWN), "README.md shows a row that docs/benchmarks.json does not have"
    assert doctest.testmod(runner).failed == 0


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(runner.benchmarks()))
def test_benchmark_runs_on_tiny_input(name: str) -> None:
    """`all.py` fails for a benchmark that fails or has no ratio; at `tiny` it keeps no measurement."""
    assert "| bertdata |" in run_script("all.py", "--size", "tiny", "--only", name)


@pytest.mark.long
def test_memory_benchmark_runs(tmp_path: Path) -> None:
    options = ["--base-mb", 0.2, "--sizes", 1, "--only", "pairs nsp packed", "--workers", 1, "--work", tmp_path]
    assert "| pairs nsp packed |" in run_script("memory.py", *options)

"""Every benchmark runs, and prints a table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "arguments",
    [
        ["extraction.py", "--sources", "en14", "--rounds", "1"],
        ["tokens.py", "--size", "4000"],
        ["pairs.py"],
        ["loader.py", "--seconds", "0.2", "--workers", "0"],
        ["scale.py", "--base-mb", "1", "--sizes", "1"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_benchmark_prints_a_table(arguments: list[str], shared: Path) -> None:
    command = [sys.executable, str(REPOSITORY / "benchmarks" / arguments[0]), *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert (
        "| bertdata" in done.stdout
        or "| make-pairs" in done.stdout
        or "bertdata, MB/s |" in done.stdout
        or "| 128 tokens" in done.stdout
    )

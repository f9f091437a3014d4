"""benchmarks/step.py runs on a CPU, in bf16 too, and measures both models."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import REPOSITORY


@pytest.mark.slow
def test_step_benchmark() -> None:
    pytest.importorskip("transformers")
    options = ["--lengths", "32", "--batch", "4", "--steps", "1", "--precision", "bf16"]
    command = [sys.executable, str(REPOSITORY / "benchmarks" / "step.py"), *options]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200).stdout
    assert [line.split()[3] for line in said.splitlines()[1:]] == ["bertdata", "transformers", "loader"]

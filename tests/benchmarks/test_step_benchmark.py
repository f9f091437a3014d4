"""benchmarks/step.py runs on a CPU, in bf16 too, and measures both models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY


@pytest.mark.slow
def test_step_benchmark(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    options = ["--lengths", "32", "--packed", "64", "--batch", "4", "--steps", "1", "--precision", "bf16"]
    environment = {**os.environ, "BERTDATA_RATIOS": str(tmp_path / "ratios")}
    command = [sys.executable, str(REPOSITORY / "benchmarks" / "step.py"), *options]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200, env=environment).stdout
    lines = [line.split("  ")[:2] for line in said.splitlines()[1:]]
    names = [["bertdata", "transformers", "loader"], ["bertdata", "bertdata, rows", "transformers", "loader"]]
    assert [name for what, name in lines if what == "4 x 32"] == names[0]
    assert [name for what, name in lines if what == "4 x 64 packed"] == names[1]
    assert said.count(" tokens/s") == 5
    told = [json.loads(line) for line in (tmp_path / "ratios").read_text().splitlines()]
    assert [one["what"] for one in told] == [f"training step, tiny BERT, {what}" for what in ("4 x 32", "4 x 64 packed")]

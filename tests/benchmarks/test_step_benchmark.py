"""benchmarks/step.py runs on a CPU, in bf16 too, and measures both models."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

SCRIPT = REPOSITORY / "benchmarks" / "step.py"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of transformers are not ours
def test_step_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers")
    options = ["--lengths", "32", "--packed", "64", "--batch", "4", "--steps", "1", "--precision", "bf16"]
    monkeypatch.setenv("BERTDATA_RATIOS", str(tmp_path / "ratios"))
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *options])
    monkeypatch.syspath_prepend(str(SCRIPT.parent))  # as Python does with a script
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert end.value.code == 0
    said = capsys.readouterr().out
    lines = [line.split("  ")[:2] for line in said.splitlines()[1:]]
    names = [["bertdata", "transformers", "loader"], ["bertdata", "bertdata, rows", "transformers", "loader"]]
    assert [name for what, name in lines if what == "4 x 32"] == names[0]
    assert [name for what, name in lines if what == "4 x 64 packed"] == names[1]
    assert said.count(" tokens/s") == 5
    told = [json.loads(line) for line in (tmp_path / "ratios").read_text().splitlines()]
    assert [one["what"] for one in told] == [f"training step, tiny BERT, {what}" for what in ("4 x 32", "4 x 64 packed")]

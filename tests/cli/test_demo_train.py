"""`bertdata demo --train`: what the sample teaches a very small BERT."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from bertdata.cli import cli, demo
from bertdata.reports.metrics import read_metrics

pytestmark = pytest.mark.long


@pytest.mark.slow
def test_it_learns_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six tenths of its steps teach words better than by frequency. No leak gives labels of pairs away: they stay near chance."""
    monkeypatch.setattr(demo, "_RECIPE", demo._RECIPE.replace("steps = 1000", "steps = 600"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # the demo sets it: other tests of this process do not get it
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        done = CliRunner().invoke(cli, ["demo", "--output", str(tmp_path / 'my "demo"'), "--n", "1", "--train"])
    finally:
        torch.set_num_threads(threads)
    assert done.exit_code == 0, done.output
    run = tmp_path / 'my "demo"' / "train-run"
    told = [record for record in read_metrics(run / "metrics.jsonl") if record["kind"] == "evaluation"]
    assert [record["step"] for record in told] == [250, 500, 600]
    assert told[-1]["mlm_loss"] < told[0]["mlm_loss"]
    assert told[-1]["mlm_loss"] < told[-1]["unigram_entropy"] - 0.2
    assert 0.4 < told[-1]["nsp_accuracy"] < 0.6
    assert "The sample is too small to learn NSP." in done.output
    assert (run / "report.html").is_file()
    assert (run / "checkpoint-600" / "model.safetensors").is_file()
    assert re.search(r"the NSP accuracy is \d\d%. The NSP baseline is 50 %", done.output)
    assert re.search(r"\d\d% for one that sees only their sources", done.output)

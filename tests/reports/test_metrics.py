"""The metrics of a run: resuming drops the lines of repeated steps, and rates count only time spent on steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from bertdata.reports.metrics import Metrics, RunningSums, read_metrics
from bertdata.storage.files import write_text


def test_resume_drops_repeated_steps_and_errors(tmp_path: Path) -> None:
    lines = '{"kind": "train", "step": 5}\n{"kind": "error", "step": 5}\n{"kind": "train", "step": 10}\n{"kind": "tra'
    write_text(tmp_path / "metrics.jsonl", lines)
    Metrics(tmp_path, 5)
    assert read_metrics(tmp_path / "metrics.jsonl") == [{"kind": "train", "step": 5}]


def test_rates_are_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    window = RunningSums([6.0, 2, 0, 0, 0, 0, 8, 80, 100])
    window.add([4.0, 2, 2, 1.0, 8, 8, 8, 60, 100])
    now[0] += 10
    window.pause(6)
    record = window.close(steps_left=5)
    assert (record["mlm_loss"], record["mlm_accuracy"]) == (2.5, 0.5)
    assert record["padding_share"] == pytest.approx(0.3)
    assert (record["sequences_per_second"], record["tokens_per_second"], record["seconds_left"]) == (2, 15, 20)
    assert window.sums == [0.0] * 9

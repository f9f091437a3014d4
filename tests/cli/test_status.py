"""`bertdata status`: complete, running, unfinished or missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bertdata
from bertdata.dataset.build import STATE, building
from bertdata.storage.files import write_json
from bertdata.storage.lock import lock

Run = Any


def test_a_complete_dataset(run: Run, sample_corpus: Path) -> None:
    found = bertdata.status(sample_corpus)
    assert (found.state, found.contents, found.by) == ("complete", "documents", "") and found.rows > 0
    assert f"complete: documents, {found.rows:,} rows" in run("status", sample_corpus).stdout


def test_nothing_is_there(run: Run, tmp_path: Path) -> None:
    assert "no dataset and no run" in run("status", tmp_path / "nothing", code=2).stdout
    assert not (tmp_path / "nothing").exists()


def test_a_run_stopped_before_its_first_task(run: Run, tmp_path: Path) -> None:
    """The same story as `train`, which refuses such a directory as one whose run did not finish."""
    with pytest.raises(KeyboardInterrupt), building(tmp_path / "out", {"command": "build-corpus"}):
        raise KeyboardInterrupt
    assert "unfinished" in run("status", tmp_path / "out", code=3).stdout
    assert bertdata.status(tmp_path / "out") == ("unfinished", "", "", {}, 0)


def test_training_runs(run: Run, tmp_path: Path) -> None:
    directory, record = tmp_path / "run", {"identity": {"phases": {"1": {"steps": 3}, "2": {"steps": 2}}}}
    write_json(directory / STATE / "run.json", record)
    assert "0 steps" in run("status", directory, code=3).stdout
    for step in (2, 5):
        write_json(directory / f"checkpoint-{step}" / "state.json", record)
        found = bertdata.status(directory)
        assert found[:2] == ("complete" if step == 5 else "unfinished", "train") and found.finished == {"train": step}
    assert "complete: train; train: 5 steps" in run("status", directory).stdout


def test_a_run_is_running_and_then_unfinished(run: Run, tmp_path: Path) -> None:
    directory, identity = tmp_path / "out", {"command": "build-corpus"}
    with pytest.raises(KeyboardInterrupt), building(directory, identity) as root:
        tasks = root / STATE / "tasks" / "extract"
        tasks.mkdir(parents=True)
        (tasks / "0.json").write_text("{}")
        found = json.loads(run("status", directory, "--json", code=5).stdout)
        assert found["state"] == "running" and found["by"].startswith("process ") and found["finished"] == {"extract": 1}
        raise KeyboardInterrupt
    assert bertdata.status(directory)[:2] == ("unfinished", "build-corpus")
    assert "extract: 1 task finished" in run("status", directory, code=3).stdout
    with lock(directory / STATE / "lock"):
        pass  # `status` has left no lock behind

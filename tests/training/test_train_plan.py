"""The plan of a training run, and its progress."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from tiny import write_pairs

from bertdata.cli import cli, train, train_progress


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred rows that fill 64 positions each."""
    return write_pairs(tmp_path_factory.mktemp("trial") / "pairs", {"train": [[64] * 100]})


def test_a_plan_names_the_tokens(tmp_path: Path) -> None:
    """Each directory counts by its weight."""
    long, short = write_pairs(tmp_path / "a", {"train": [[64] * 32]}), write_pairs(tmp_path / "b", {"train": [[16] * 96]})
    run = tmp_path / "run.toml"
    run.write_text(f'batch_size = 10\n[[phases]]\nshards = ["{long}", "{short}"]\nweights = [2, 1]\nsteps = 50\n')
    shown = CliRunner().invoke(cli, ["train", str(run), "--dry-run"])
    mean = (64 * 64 + 96 * 16) / (64 + 96)
    assert f"about {50 * 10 * mean:,.0f} tokens, " in shown.output


@pytest.mark.parametrize(("steps", "epochs"), [(41_538, "13,846"), (303, "101"), (300, "")])
def test_a_plan_of_many_epochs_is_warned_of(data: Path, tmp_path: Path, steps: int, epochs: str) -> None:
    """Of 100 rows in batches of 32 an epoch has 3: more than a hundred epochs are warned of before the run."""
    run = tmp_path / "run.toml"
    run.write_text(f'batch_size = 32\n[[phases]]\nshards = "{data}"\nsteps = {steps}\n')
    shown = CliRunner().invoke(cli, ["train", str(run), "--dry-run"])
    assert shown.exit_code == 0, shown.output
    warning = f"  warning: each row is read {epochs} times, in BERT 40: build pairs from more text, or use fewer steps"
    assert [line for line in shown.output.splitlines() if "warning: each row" in line] == ([warning] if epochs else [])


def test_the_time_left_is_that_of_the_tokens_left(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After two steps to warm up, each step takes a second here, and a step of the second phase has a quarter of the tokens."""
    monkeypatch.setattr(train_progress, "_LINE_INTERVAL_S", 0.0)
    monkeypatch.setattr(train, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    short, run = write_pairs(tmp_path / "short", {"train": [[16] * 96]}), tmp_path / "run.toml"
    model = "hidden_size = 16\nnum_hidden_layers = 1\nnum_attention_heads = 2\nintermediate_size = 32"
    phases = "".join(f'[[phases]]\nshards = "{path}"\nsteps = 8\n' for path in (data, short))
    run.write_text(f"batch_size = 10\nworkers = 0\n[model]\n{model}\n{phases}")
    shown = CliRunner().invoke(cli, ["train", str(run), "--output", str(tmp_path / "run"), "--log-json"])
    assert shown.exit_code == 0, shown.output
    events = [json.loads(line) for line in shown.stderr.splitlines()]
    counts = [event["counts"] for event in events if event["event"] == "progress"]
    first = next(each for each in counts if each["step"] == 4)
    assert first["seconds_left"] == pytest.approx((4 * 640 + 8 * 160) / first["tokens_per_second"])

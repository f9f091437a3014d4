"""The estimate of how long a run takes: near what it takes, of what is left of it, and without a trace in the model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from tiny import write_pairs
from torch import Tensor

from bertdata.cli import cli
from bertdata.cli.output import duration
from bertdata.cli.train import _line
from bertdata.config.train import ModelConfig, Phase, TrainConfig
from bertdata.training import trial
from bertdata.training.recipe import prepare

DAY = 86400.0
MODEL = ModelConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, max_position_embeddings=64)


class Slow(torch.nn.Module):
    """A model that takes 1 ms a position, by a clock that it moves itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.weight, self.now, self.rows = torch.nn.Parameter(torch.ones(())), 100.0, list[int]()
        monkeypatch.setattr(trial.time, "perf_counter", lambda: self.now)

    @staticmethod
    def score(model: Any, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        model.now += batch["input_ids"].numel() / 1000
        model.rows.append(len(batch["input_ids"]))
        return model.weight * 2, model.weight * 3, torch.zeros(5)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred rows that fill 64 positions each."""
    return write_pairs(tmp_path_factory.mktemp("trial") / "pairs", {"train": [[64] * 100]})


def config(data: Path, *steps: int, accumulation: int = 1, batch_size: int = 32) -> TrainConfig:
    phases = tuple(Phase(shards=(str(data),), steps=each, widths=(64,), accumulation=accumulation) for each in steps)
    return TrainConfig(batch_size=batch_size, workers=0, phases=phases, model=MODEL)


@pytest.mark.parametrize(
    ("step", "ranks", "positions"),
    [(0, 1, 3000 * 32 * 64), (500, 1, 2500 * 32 * 64), (1500, 1, 1500 * 32 * 64), (0, 4, 3000 * 8 * 64)],
)
def test_it_is_the_time_of_all_places_to_come(
    data: Path, monkeypatch: pytest.MonkeyPatch, step: int, ranks: int, positions: int
) -> None:
    """Of phases that are over nothing, of one that is begun the rest; processes share the rows."""
    model = Slow(monkeypatch)
    told = trial.estimate(prepare(config(data, 1000, 2000), ranks), step, ranks, model, Slow.score)
    assert (told["kind"], told["step"], told["of"]) == ("trial", step, 3000)
    assert told["seconds_left"] == pytest.approx(positions / 1000)
    assert model.weight.grad is None


@pytest.mark.parametrize(("accumulation", "rows"), [(1, [1, 2, 4, 8]), (8, [1, 2, 4]), (32, [1])])
def test_it_takes_as_many_rows_as_tell_enough(
    data: Path, monkeypatch: pytest.MonkeyPatch, accumulation: int, rows: list[int]
) -> None:
    """No more than the part of a step that fits into memory, and none after half a second: 8 rows of 64 positions here."""
    model = Slow(monkeypatch)
    trial.estimate(prepare(config(data, 10, accumulation=accumulation)), 0, 1, model, Slow.score)
    assert model.rows == rows


def test_a_run_that_is_complete(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert trial.estimate(prepare(config(data, 10)), 10, 1, Slow(monkeypatch), Slow.score)["seconds_left"] == 0


def test_years_are_told_with_advice_and_minutes_without() -> None:
    told: dict[str, Any] = {"kind": "trial", "step": 0, "of": 1_000_000, "seconds_left": 400 * DAY}
    assert _line(told).endswith(
        "1,000,000 steps to go take about 400 days here, by a timed part of one: use GPUs, a smaller model "
        "(examples/bert-tiny.toml) or fewer steps"
    )
    assert _line({**told, "seconds_left": 600.0}).endswith("steps to go take about 0:10:00 here, by a timed part of one")
    assert [duration(days * DAY) for days in (14, 13.9)] == ["14 days", "333:36:00"]


@pytest.mark.parametrize(("steps", "epochs"), [(41_538, "13,846"), (303, "101"), (300, "")])
def test_a_plan_of_many_epochs_is_warned_of(data: Path, tmp_path: Path, steps: int, epochs: str) -> None:
    """Of 100 rows in batches of 32 an epoch has 3: more than a hundred epochs are warned of before the run."""
    run = tmp_path / "run.toml"
    run.write_text(f'batch_size = 32\n[[phases]]\nshards = "{data}"\nsteps = {steps}\n')
    shown = CliRunner().invoke(cli, ["train", str(run), "--dry-run"])
    assert shown.exit_code == 0, shown.output
    warning = f"  warning: each row is read {epochs} times, in BERT 40: build pairs from more text, or take fewer steps"
    assert [line for line in shown.output.splitlines() if "warning" in line] == ([warning] if epochs else [])


def test_it_is_near_what_a_part_of_a_step_takes(data: Path) -> None:
    """With a model that sleeps for 2 ms a row and its gradient: no arithmetic of torch, whose threads others may hold up."""

    class Sleeping(torch.nn.Linear):
        pass

    def score(model: torch.nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        time.sleep(0.002 * len(batch["input_ids"]))
        total = model(torch.ones(1)).sum()
        return total, total, torch.zeros(5)

    model = Sleeping(1, 1)
    told = trial.estimate(prepare(config(data, 1000)), 0, 1, model, score)
    assert 64 <= told["seconds_left"] < 64 * 5
    assert all(parameter.grad is None for parameter in model.parameters())

"""The estimate of how long a run takes comes from its first warm steps, and is near the time that the rest takes."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tiny import write_pairs

from bertdata.cli import cli
from bertdata.config.train import ModelConfig, Phase, TrainConfig
from bertdata.training import time_estimate
from bertdata.training.recipe import prepare
from bertdata.training.trainer import train

DAY = 86400.0
MODEL = ModelConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, max_position_embeddings=64)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred rows that fill 64 positions each."""
    return write_pairs(tmp_path_factory.mktemp("trial") / "pairs", {"train": [[64] * 100]})


def config(data: Path, *steps: int, accumulation: int = 1, batch_size: int = 32) -> TrainConfig:
    phases = tuple(Phase(shards=(str(data),), steps=each, widths=(64,), accumulation=accumulation) for each in steps)
    return TrainConfig(batch_size=batch_size, workers=0, phases=phases, model=MODEL)


class Clock:
    """A clock that a test moves, in place of that of the estimate."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time_estimate.time, "perf_counter", lambda: self.now)

    def run(self, timed: time_estimate.Trial, step: int, seconds: list[float], positions: int = 32 * 64) -> list[dict[str, Any]]:
        """Train steps that take these seconds; return the records."""
        found = []
        for number, each in enumerate(seconds, step + 1):
            self.now += each
            found.append(timed.add(number, positions))
        return [record for record in found if record]


@pytest.mark.parametrize(("step", "ranks", "left"), [(0, 1, 2993), (500, 1, 2493), (1500, 1, 1493), (0, 4, 2993)])
def test_the_estimate_is_the_time_of_the_steps_to_come(
    data: Path, monkeypatch: pytest.MonkeyPatch, step: int, ranks: int, left: int
) -> None:
    """Two cold steps do not count, nor do phases that are over; each process computes its share."""
    timed = time_estimate.Trial(prepare(config(data, 1000, 2000), ranks), ranks)
    (told,) = Clock(monkeypatch).run(timed, step, [60.0, 30.0, *[0.5, 0.3, 0.4, 0.6, 0.2], *[9.0] * 5], 32 * 64 // ranks)
    assert (told["kind"], told["step"], told["of"], told["timed"]) == ("trial", step + 7, 3000, 5)
    assert told["seconds_left"] == pytest.approx(left * 0.4)


def test_one_long_step_is_enough(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed = time_estimate.Trial(prepare(config(data, 1000)), 1)
    (told,) = Clock(monkeypatch).run(timed, 0, [60.0, 30.0, 11.0, 12.0])
    assert (told["step"], told["timed"], told["seconds_left"]) == (3, 1, pytest.approx(997 * 11.0))


def test_a_pause_is_no_part_of_a_step(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed, clock = time_estimate.Trial(prepare(config(data, 1000)), 1), Clock(monkeypatch)
    assert not clock.run(timed, 0, [1.0] * 4)
    clock.now += 500
    timed.pause(500)
    (told,) = clock.run(timed, 4, [1.0] * 3)
    assert told["seconds_left"] == pytest.approx(993)


def test_evaluations_count_a_third_of_a_step_for_each_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_pairs(tmp_path / "pairs", {"train": [[64] * 100], "validation": [[64] * 320]})
    rows = dataclasses.replace(config(data, 990), evaluate_every=100, evaluate_batches=6)
    (told,) = Clock(monkeypatch).run(time_estimate.Trial(prepare(rows), 1), 0, [1.0] * 7)
    assert told["seconds_left"] == pytest.approx(983 + 10 * 6 / 3)
    few = dataclasses.replace(rows, evaluate_batches=100)  # more than there are
    (told,) = Clock(monkeypatch).run(time_estimate.Trial(prepare(few), 1), 0, [1.0] * 7)
    assert told["seconds_left"] == pytest.approx(983 + 10 * 10 / 3)


def test_a_short_run_has_no_estimate(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Clock(monkeypatch).run(time_estimate.Trial(prepare(config(data, 6)), 1), 0, [1.0] * 6)


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


@pytest.mark.long
def test_the_estimate_of_a_real_run_is_near(data: Path, tmp_path: Path) -> None:
    """Within a factor of three on a machine that other tests use as well; it was off by 24."""
    told: list[dict[str, Any]] = []
    began = dict[int, float]()

    def stop(done: int, saved: int) -> bool:
        began.setdefault(done, time.perf_counter())
        return False

    run = dataclasses.replace(config(data, 200), log_every=1000, workers=2)
    train(run, tmp_path / "run", report=told.append, stop=stop)
    (estimate,) = (record for record in told if record["kind"] == "trial")
    took = began[199] - began[7]
    assert took / 3 < estimate["seconds_left"] < took * 3

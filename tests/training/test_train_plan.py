"""The plan of a training run, and its progress."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny import write_pairs

from bertdata.cli import cli


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
    warning = f"  warning: each row is read {epochs} times, in BERT 40. Use more text or fewer steps"
    assert [line for line in shown.output.splitlines() if "warning: each row" in line] == ([warning] if epochs else [])

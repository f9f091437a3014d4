"""Mixtures by language and source: exact over a phase, the same with any number of ranks, and inverted by steps_of."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import Build

from bertdata.cli import cli
from bertdata.config.mixture import Mixture
from bertdata.config.train import Phase, TrainConfig, parse_training
from bertdata.dataset.rows import Shards
from bertdata.errors import UsageError
from bertdata.training.mixture import counts, drawn
from bertdata.training.plans import plan_of
from bertdata.training.recipe import prepare
from bertdata.training.row_plan import BatchPlan
from bertdata.training.served import steps_of


@pytest.fixture(scope="module")
def rows(build: Build, tmp_path_factory: pytest.TempPathFactory, sample_corpus: Path, sample_vocab: Path) -> Path:
    options = ["--vocab", sample_vocab, "--objective", "documents", "--max-seq-length", 64, "--provenance", "--shards", 16]
    return build("make-pairs", tmp_path_factory.mktemp("mixture") / "rows", sample_corpus, *options)


def _rows_of(plan: BatchPlan, steps: int) -> np.ndarray:
    return np.concatenate([plan[step].rows for step in range(steps)])


@pytest.mark.parametrize(
    "mixture",
    [
        Mixture(by="language", temperature=0.3),
        Mixture(by="source", temperature=0.0),
        Mixture(by="source", weights={"books": 3.0, "wikipedia": 1.0}),
        Mixture(by="language", weights={"en": 0.0, "zh": 2}),
    ],
)
def test_shares_are_exact_over_a_phase(rows: Path, mixture: Mixture) -> None:
    shards, steps, size = Shards(rows), 53, 24
    plan = plan_of(shards, size, seed=7, mixture=dataclasses.replace(mixture, epoch_steps=steps))
    assert isinstance(plan, BatchPlan) and (plan.batches, plan.left) == (steps, 0)
    served = _rows_of(plan, steps)
    groups = [getattr(origin, mixture.by) for origin in shards.origins]
    names = sorted(set(groups))
    sizes = Counter(groups[origin] for origin in shards.origins_of(np.arange(len(shards))).tolist())
    weights = [mixture.weights.get(name, 0) if mixture.weights else sizes[name] ** mixture.temperature for name in names]
    expected = dict(zip(names, counts(weights, steps * size), strict=True))
    metrics = drawn(shards, plan, range(steps))
    assert {name: metrics[f"rows_by_{mixture.by}"][name] for name in names} == expected
    assert sum(expected.values()) == steps * size == len(served)
    times = np.bincount(served, minlength=len(shards))  # each row equally often within its group, or once more
    origins = shards.origins_of(np.arange(len(shards)))
    for name in names:
        of_group = times[[groups[origin] == name for origin in origins.tolist()]]
        assert of_group.max() - of_group.min() <= 1
    copies = {
        (row, copy)
        for step in range(steps)
        for row, copy in zip(plan[step].rows.tolist(), plan[step].copies.tolist(), strict=True)
    }
    assert len(copies) == steps * size, "a row that is served again has another mask"


def test_a_step_is_a_function_of_the_seed_and_its_number(rows: Path) -> None:
    mixture = Mixture(by="language", temperature=0.5)
    one, two = (plan_of(Shards(rows), 8, seed=7, mixture=dataclasses.replace(mixture, epoch_steps=40)) for _ in range(2))
    shares = [two[31].share(rank, 4).rows for rank in range(4)]
    assert np.array_equal(one[31].rows, np.concatenate(shares)) and not np.array_equal(one[31].rows, one[30].rows)


def test_phases_of_a_run_have_their_mixtures(rows: Path) -> None:
    text = f"""
        [[phases]]
        shards = "{rows}"
        steps = 30
        mixture = {{ by = "language", temperature = 0.7 }}
        [[phases]]
        shards = "{rows}"
        steps = 20
        mixture = {{ by = "source", weights = {{ wikipedia = 1, books = 3.0 }} }}
    """
    config = dataclasses.replace(parse_training("run.toml", text), batch_size=16)
    parts = prepare(config).parts
    assert parts[1].drawn(parts[1].plan(), 50, 100)["rows_by_source"] == {"books": 240, "wikipedia": 80}
    assert config.phases[1].identity()["mixture"]["weights"] == {"wikipedia": 1.0, "books": 3.0}
    document = next(row["documents"][0] for row in Shards(rows) if row["origin"] == 0)
    found = {(each.step, each.place, each.row, each.copy) for each in steps_of(config, document)}
    mine = {number for number, row in enumerate(Shards(rows)) if document in row["documents"]}
    seen = set()
    for part in parts:
        plan = part.plan()
        for step in range(part.phase.steps):
            batch = plan[step]
            for place, (row, copy) in enumerate(zip(batch.rows.tolist(), batch.copies.tolist(), strict=True)):
                if row in mine:
                    seen.add((part.first + step, place, row, copy))
    assert found == seen and len(seen) > 3


@pytest.mark.parametrize("mixture", [None, Mixture(by="language", temperature=0.0)])
def test_a_dry_run_shows_the_tokens_of_each_language(rows: Path, tmp_path: Path, mixture: Mixture | None) -> None:
    shards, steps, size = Shards(rows), 90, 8
    run = tmp_path / "run.toml"
    mixed = 'mixture = { by = "language", temperature = 0 }' if mixture else ""
    run.write_text(f'batch_size = {size}\n[[phases]]\nshards = "{rows}"\nsteps = {steps}\n{mixed}\n', "utf-8")
    shown = CliRunner().invoke(cli, ["train", str(run), "--dry-run"])
    assert shown.exit_code == 0, shown.output
    served = _rows_of(plan_of(shards, size, seed=7, mixture=mixture and dataclasses.replace(mixture, epoch_steps=steps)), steps)
    shards = Shards(rows)
    origins = shards.origins_of(served)
    (line,) = (line for line in shown.output.splitlines() if "tokens by language" in line)
    for code in ("en", "zh"):
        mine = served[[shards.origins[number].language == code for number in origins]]
        tokens, times = re.search(rf"{code} ([\d,]+) \([\d.]+%, each row ([\d.]+) times\)", line).groups()  # type: ignore[union-attr]
        assert int(tokens.replace(",", "")) == pytest.approx(int(shards.lengths[mine].sum()), rel=0.1)
        available = sum(shards.origins[number].language == code for number in shards.origins_of(np.arange(len(shards))))
        assert float(times) == pytest.approx(len(mine) / available, rel=0.1)


@pytest.mark.parametrize(
    ("mixture", "problem"),
    [
        (Mixture(by="language", weights={"en": 1.0}), "zh"),
        (Mixture(by="source", weights={"books": 1.0, "wikipedia": 1.0, "web": 1.0}), "web"),
    ],
)
def test_wrong_groups_are_refused(rows: Path, mixture: Mixture, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        plan_of(Shards(rows), 8, seed=7, mixture=mixture)


def test_the_same_rows_thousands_of_times_are_refused(rows: Path) -> None:
    with pytest.raises(UsageError, match="times"):
        plan_of(Shards(rows), 1024, seed=7, mixture=Mixture(by="language", temperature=0.0, epoch_steps=5000))


def test_a_mixture_is_checked() -> None:
    for wrong in ({"by": "title"}, {"by": "source", "temperature": 2.0}, {"by": "source", "weights": {"a": -1.0}}):
        with pytest.raises(UsageError):
            Mixture(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="weights"):
        TrainConfig(phases=(Phase(shards=("a",), steps=1, weights=(1.0,), mixture=Mixture(by="source")),))
    with pytest.raises(UsageError, match="epoch_steps"):
        Phase(shards=("a",), steps=1, mixture=Mixture(by="source", epoch_steps=2))
    with pytest.raises(UsageError, match="temperatur"):
        parse_training("run.toml", 'phases = [{ shards = "a", steps = 1, mixture = { by = "source", temperatur = 1 } }]')

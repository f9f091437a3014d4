"""benchmarks/ten_terabytes.py: fits, prices and rows by hand, and a small run of the real commands on a store that counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import ten_terabytes  # noqa: E402
from fitting import fit, predict  # noqa: E402
from prices import WORKER, of_requests  # noqa: E402
from ten_terabytes import COMMANDS, KINDS, MB, Counts, Point, Run, features  # noqa: E402

POINTS = [(MB, 4, 4, 16), (4 * MB, 20, 12, 16), (MB, 10, 12, 4), (4 * MB, 6, 16, 4), (2 * MB, 8, 6, 8)]


def test_a_sum_of_shares_is_found_again_and_nothing_falls() -> None:
    at = [features("make-pairs", *point) for point in POINTS]
    values = [7 + 2 * each["range"] + 15 * each["task"] + 1.5 * each["bucket"] for each in at]
    found = fit(at, values)
    assert found == pytest.approx({"one": 7, "range": 2, "task": 15, "bucket": 1.5}, rel=1e-6)
    large = features("make-pairs", 10e12, 40_000, 4657)
    assert predict(found, large) == pytest.approx(7 + 2 * 10e12 / (2 << 20) + 15 * 40_000 + 1.5 * 4657)
    assert all(value >= 0 for value in fit(at, [10 - each["task"] for each in at]).values())
    assert fit(at, [0.0] * 5) == {}


def _counted(**own: float) -> Counts:
    zeros = {f"{phase} {kind}": 0.0 for phase in ("work", "driver") for kind in (*KINDS, "CPU s")}
    return {**zeros, "sent MB": 0.0, "fetched MB": 0.0, **{name.replace("_", " "): value for name, value in own.items()}}


def test_hours_and_dollars_by_hand() -> None:
    work = {"work RANGE": 2e9, "work PUT": 1e6, "work CPU s": 3_600_000.0, "driver CPU s": 360.0}
    made = ten_terabytes.row("export", _counted(**work) | {"driver HEAD": 12_000.0}, shuffled=1e12)
    waits = (2e9 + 1e6) * 0.03 / 1000 + 12_000 / 16 * 0.03
    assert made.hours == pytest.approx((3600 + 360 + waits) / 3600)
    assert made.dollars == pytest.approx(made.hours * 1000 * WORKER + 2e9 * 0.4e-6 + 12_000 * 0.4e-6 + 5 + 11)
    assert of_requests({"DELETE": 1e9, "LIST": 1000}) == pytest.approx(0.005)


def test_the_table_says_what_is_over() -> None:
    runs = []
    for point in POINTS:
        for command in COMMANDS:
            at = features(command, *point)
            requests = 40_000.0 * at["task"] if command == "near-duplicates" else 10.0 * at["task"]
            runs.append(Run(command, at, _counted(**{"work RANGE": requests, "work CPU s": 60 * at["byte"] / 1e9})))
    lines = ten_terabytes.table(runs).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == list(COMMANDS)
    over = {line.split("|")[1].strip() for line in lines if line.endswith("| over |")}
    assert over == {"near-duplicates"}
    assert ten_terabytes.check(runs, runs[:1]).splitlines()[1] == "build-corpus: 40, 40 requests; 0.1, 0.1 CPU s"


@pytest.mark.slow
def test_a_small_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two sizes of one command: what is asked of the store grows with tasks and not with what was there before."""
    pytest.importorskip("s3fs")
    words = ten_terabytes._words
    monkeypatch.setattr(ten_terabytes, "_words", lambda *at: {"build-corpus": words(*at)["build-corpus"]})
    monkeypatch.setattr(ten_terabytes, "COMMANDS", ("build-corpus",))
    points = [Point(300_000, 2, 2, 16), Point(300_000, 4, 2, 16)]
    few, many = ten_terabytes.measured(points, tmp_path / "kept", 0.0, 0.0)
    assert (few.features["task"], many.features["task"]) == (2, 4)
    assert sum(few.counted[f"work {kind}"] for kind in KINDS) > 20 and few.counted["work CPU s"] > 0
    assert 1.4 < many.counted["work PUT"] / few.counted["work PUT"] < 2.1
    assert few.counted["driver PUT"] == many.counted["driver PUT"]
    again = ten_terabytes.measured(points, tmp_path / "kept", 0.0, 0.0)
    assert again == [few, many] and len((tmp_path / "kept").read_text().splitlines()) == 2
    assert json.loads((tmp_path / "kept").read_text().splitlines()[0])[1][0] == "build-corpus"

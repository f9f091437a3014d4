"""The curves of a run: well-formed SVG whose lines are where the numbers are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import bertdata
from bertdata.reports.metrics import Metrics, RunningSums, read_metrics
from bertdata.reports.page.charts import lines
from bertdata.reports.page.curve import panels
from bertdata.storage.files import write_text


def records(count: int, pairs: bool = True) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for step in range(10, 10 * count + 1, 10):
        record = {"kind": "train", "step": step, "mlm_loss": 8 - 6 * step / (10 * count)}
        found.append(record | ({"nsp_accuracy": 0.5 + 0.4 * step / (10 * count)} if pairs else {}))
        if step % 50 == 0:
            found.append({**found[-1], "kind": "evaluation", "unigram_entropy": 6.0})
    return found


def charts(found: list[dict[str, Any]]) -> list[ElementTree.Element]:
    """Return the charts of a run."""
    return [ElementTree.fromstring(chart) for panel in panels(found) if (chart := lines(panel, "step"))]


def drawn(found: list[dict[str, Any]]) -> list[list[tuple[float, float]]]:
    """Return the points of each line, without the dashed ones across."""
    return [points(line) for chart in charts(found) for line in chart.iter("polyline") if line.attrib["class"] != "across"]


def points(line: ElementTree.Element) -> list[tuple[float, float]]:
    found = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    return [(x, y) for x, y in found]


def test_lines_are_where_the_numbers_are() -> None:
    found = drawn(records(100))
    assert [len(line) for line in found] == [100, 20, 100, 20]  # two panels, of training and evaluation each
    assert all(later[0] > former[0] for line in found for former, later in zip(line, line[1:], strict=False))
    assert all(later[1] > former[1] for former, later in zip(found[0], found[0][1:], strict=False))  # a loss that falls
    assert all(later[1] < former[1] for former, later in zip(found[2], found[2][1:], strict=False))  # SVG counts from above
    said = [text.text for chart in charts(records(100)) for text in chart.iter()]
    assert "training ends at 2, blue; evaluation ends at 2, orange; unigram baseline 6, dashed" in said
    assert {"1k", "50 %"} <= set(said)


def test_scale() -> None:
    """Loss 5 lies midway between the ticks 4 and 6."""
    chart = charts(records(100))[0]
    at = {text.text: float(text.attrib["y"]) - 4 for text in chart.iter("text") if text.attrib.get("text-anchor") == "end"}
    assert drawn(records(100))[0][49][1] == pytest.approx((at["4"] + at["6"]) / 2, abs=0.2)


def test_many_points_are_averaged_and_words_alone_have_one_panel() -> None:
    found = drawn(records(5000, pairs=False))
    assert len(found) == 2
    assert max(map(len, found)) <= 300


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0], [float("inf"), 1.0]])
def test_few_or_equal_values(values: list[float]) -> None:
    assert charts([{"kind": "train", "step": step, "mlm_loss": value} for step, value in enumerate(values, 1)])


def test_a_figure_that_is_always_the_same_is_told_once(tmp_path: Path) -> None:
    for name, step in (("same", 0.0), ("others", 0.1)):
        metrics = Metrics(tmp_path / name, 0)
        for number, record in enumerate(records(30)):
            more = {"unigram_entropy": 6.0 + step * number} if "unigram_entropy" in record else {}
            metrics.write({**record, **more})
        page = bertdata.report(tmp_path / name).read_text(encoding="utf-8")
        assert ("held out; unigram baseline (nats): 6<" in page) is not bool(step)
        assert ("Unigram baseline" in page) is bool(step)


def test_resume_drops_what_is_done_again(tmp_path: Path) -> None:
    lines = '{"kind": "train", "step": 5}\n{"kind": "error", "step": 5}\n{"kind": "train", "step": 10}\n{"kind": "tra'
    write_text(tmp_path / "metrics.jsonl", lines)
    Metrics(tmp_path, 5)
    assert read_metrics(tmp_path / "metrics.jsonl") == [{"kind": "train", "step": 5}]


def test_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates are of this process' steps, and of the time that was spent on steps; means are of all steps since the last line."""
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    window = RunningSums([6.0, 2, 0, 0, 0, 0, 8, 80, 100])
    window.add([4.0, 2, 2, 1.0, 8, 8, 8, 60, 100])
    now[0] += 10
    window.pause(6)
    told = window.close(steps_left=5)
    assert told["mlm_loss"] == 2.5
    assert told["mlm_accuracy"] == 0.5
    assert told["padding_share"] == pytest.approx(0.3)
    assert (told["sequences_per_second"], told["tokens_per_second"], told["seconds_left"]) == (2, 15, 20)
    assert window.sums == [0.0] * 9

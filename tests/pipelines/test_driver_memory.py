"""What the process of a run holds for each task, and benchmarks/tasks.py, which measures it with more of them."""

from __future__ import annotations

import importlib
import sys
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import pytest
from bertdata.pipelines.engines import local
from bertdata.pipelines.steps import GroupByKey
from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
import tasks  # noqa: E402

EACH = 1500  # bytes; a task whose report is in an element took 6,700


@pytest.mark.slow
def test_a_task_takes_little_memory_while_it_waits() -> None:
    """Its report, of 1 kB, lies in a file: an engine that holds all elements of a step holds numbers."""
    peaks = []
    tracemalloc.start(1)
    try:
        tasks.idle(100)  # what is imported and kept
        for count in (500, 2500):
            tracemalloc.reset_peak()
            held = tracemalloc.get_traced_memory()[0]
            tasks.idle(count)
            peaks.append(tracemalloc.get_traced_memory()[1] - held)
    finally:
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / 2000 < EACH


def test_references_take_little_memory_while_they_wait() -> None:
    """Of 100,000 tasks there are five millions: tuples would take a GB."""
    made = ((number % 50, (number, -1, 1000 + number, (1 << 62) - number)) for number in range(100_000))
    tracemalloc.start(1)
    try:
        key, values = next(iter(GroupByKey().here(made)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / 100_000 < 48
    assert key == 0 and values[:2] == [(0, -1, 1000, 1 << 62), (50, -1, 1050, (1 << 62) - 50)] and len(values) == 2000


@pytest.mark.parametrize(
    ("last", "fault"),
    [
        (tasks.Row(10_000, 220.0, 201.3, 499_000_000), ""),
        (tasks.Row(10_000, 220.0, 201.3, 501_000_000), "10,000 tasks: 501 MB; allowed: 500"),
        (tasks.Row(10_000, 220.0, 260.0, 300_000_000), "10,000 tasks take 1.29 times as long each as 1,000; allowed: 1.2"),
    ],
)
def test_what_grows_is_named(last: tasks.Row, fault: str) -> None:
    rows = [tasks.Row(10, 2.0, 1.5, 220_000_000), tasks.Row(1000, 25.0, 21.3, 240_000_000), last]
    assert tasks.judge(rows) == [fault] * bool(fault)


def test_each_file_is_a_task(tmp_path: Path) -> None:
    tasks.write_files(tmp_path / "text", 3)
    sizes = [path.stat().st_size for path in (tmp_path / "text").iterdir()]
    assert len(sizes) == 3 and all(tasks.TASK * 0.9 < size < tasks.TASK * 1.1 for size in sizes)


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_does_not_hold_its_plan(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: Any, workers: int
) -> None:
    """Its tasks and inputs lie in files by then: of 100,000 files they were 86 MB of the command's process."""
    commands, parts, held = importlib.import_module("bertdata.commands.build_corpus"), list[Any](), list[bool]()
    plan, exhaust = commands.plan, local._exhaust

    class Listed(list[Any]):
        """A list that tells when it goes."""

    def planned(*arguments: Any) -> Any:
        made = type(found := plan(*arguments))(*map(Listed, found))
        parts.extend(map(weakref.ref, made))
        return made

    def look(elements: Any) -> None:
        held.extend(part() is not None for part in parts)
        exhaust(elements)

    monkeypatch.setattr(commands, "plan", planned)
    monkeypatch.setattr(local, "_exhaust", look)
    build("build-corpus", tmp_path / "corpus", "--text", text, "--workers", workers)
    assert len(held) == 3 and not any(held)  # tasks, inputs and ignored files

"""Memory that the process of a run holds for each of its tasks."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from bertdata.pipelines.steps import GroupByKey
from conftest import Build

TASK_BYTES = 40_000  # of text: one file fills a task, two are more than fit
BYTES_PER_TASK = 3000  # a task whose report stayed in an element took 6,700


def test_references_take_little_memory_while_they_wait() -> None:
    """100,000 tasks have five million references: as tuples they would take a GB."""
    made = ((number % 50, (number, -1, 1000 + number, (1 << 62) - number)) for number in range(100_000))
    tracemalloc.start(1)
    try:
        key, values = next(iter(GroupByKey().here(made)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / 100_000 < 48
    assert key == 0 and values[:2] == [(0, -1, 1000, 1 << 62), (50, -1, 1050, (1 << 62) - 50)] and len(values) == 2000


@pytest.mark.long
def test_a_run_of_many_tasks_holds_little_for_each(build: Build, tmp_path: Path) -> None:
    """Plans and reports wait in files. All documents are equal, so that one is kept and the shards stay small."""
    sentences = (f"The ferry crossed the lower harbour on day {number}." for number in range(TASK_BYTES // 47))
    text = json.dumps({"text": " ".join(sentences)})
    peaks = []
    for count in (50, 150, 650):  # the first: what is imported and kept
        folder = tmp_path / f"text-{count}"
        folder.mkdir()
        for number in range(count):
            (folder / f"{number:04}.jsonl").write_text(text, encoding="utf-8")
        tracemalloc.start(1)
        try:
            build("build-corpus", tmp_path / f"corpus-{count}", "--text", folder, "--task-bytes", 65536)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert (peaks[2] - peaks[1]) / 500 < BYTES_PER_TASK

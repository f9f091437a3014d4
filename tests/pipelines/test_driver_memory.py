"""Memory that the process of a run holds for each of its tasks."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from conftest import Build

TASK_BYTES = 40_000  # of text: one file fills a task, two are more than fit
BYTES_PER_TASK = 3000  # a task whose report stayed in an element took 6,700


@pytest.mark.long
def test_a_run_of_many_tasks_holds_little_for_each(build: Build, tmp_path: Path) -> None:
    """Plans and reports wait in files. All documents are equal, so that one is kept and the shards stay small."""
    sentences = (f"The ferry crossed the lower harbour on day {number}." for number in range(TASK_BYTES // 47))
    text = json.dumps({"text": " ".join(sentences)})
    peaks = []
    for count in (10, 30, 130):  # the first: what is imported and kept
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
    assert (peaks[2] - peaks[1]) / 100 < BYTES_PER_TASK

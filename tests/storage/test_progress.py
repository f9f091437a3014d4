"""What tasks report while they run: each byte counts once, and lost or repeated tasks do no harm."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from bertdata.commands.progress import Monitor, ProgressStep
from bertdata.storage.progress import TaskContext, TaskProgress

from bertdata.commands import progress
from bertdata.records import FileRange
from bertdata.storage.files import digest, open_file

LINE = TaskProgress("extract", 0, worker=1)


def test_bytes_of_a_part_count_once_whoever_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(os.urandom(300_000))
    shown = list[TaskProgress]()
    with TaskContext(shown.append).working("extract", 3) as work:
        with open_file(str(path)) as file:
            file.read(1000)  # before the part
        assert work.bytes == 0
        (part,) = work.counted([FileRange("input", str(path), 100_000, 250_000)])
        with open_file(part.path) as file:
            file.seek(100_000)
            file.read(60_000)
        assert 60_000 <= work.bytes <= 150_000
        digest(part.path)
        digest(part.path)
        assert work.bytes == 150_000
    assert (shown[0].step, shown[0].task, shown[0].done, shown[0].bytes) == ("extract", 3, False, 0)
    assert (shown[-1].done, shown[-1].bytes) == (True, 150_000)


def test_what_is_unpacked_in_another_thread_counts(tmp_path: Path) -> None:
    path = tmp_path / "input.gz"
    path.write_bytes(gzip.compress(os.urandom(100_000)))
    size = path.stat().st_size
    with TaskContext().working("extract", 0) as work:
        (part,) = work.counted([FileRange("input.gz", str(path), 0, size)])
        with open_file(part.path) as file:
            reader = threading.Thread(target=file.read)
            reader.start()
            reader.join()
        assert work.bytes == size


def test_a_task_that_fails_is_never_done() -> None:
    shown = list[TaskProgress]()
    with pytest.raises(ZeroDivisionError), TaskContext(shown.append).working("extract", 0):
        raise ZeroDivisionError
    assert [line.done for line in shown] == [False]


def test_tasks_at_work_and_done_add_up(tmp_path: Path) -> None:
    monitor = Monitor([tmp_path], [ProgressStep("Extract", "extract", 3, 100)])
    assert monitor.look() == []
    monitor.receive(LINE._replace(bytes=30, documents=4))
    monitor.receive(LINE._replace(task=1, bytes=10, worker=2))
    (shown,) = monitor.look()
    assert (shown.step, shown.done, shown.bytes, shown.documents, shown.workers) == ("Extract", 0, 40, 4, 2)
    monitor.receive(LINE._replace(bytes=50, documents=7, done=True))
    (shown,) = monitor.look()
    assert (shown.done, shown.bytes, shown.documents, shown.workers) == (1, 60, 7, 1)
    for task in (1, 2):
        monitor.receive(LINE._replace(task=task, bytes=20, done=True))
    (shown,) = monitor.look()
    assert (shown.done, shown.bytes, shown.workers) == (3, 100, 0)
    monitor.receive(TaskProgress("commit", 0, worker=1))
    (shown,) = monitor.look()
    assert (shown.step, shown.total) == ("Commit", 0), "a step that was not planned, when the others are over"


def test_two_tasks_of_one_process_are_one_worker(tmp_path: Path) -> None:
    monitor = Monitor([tmp_path], [ProgressStep("Extract", "extract", 3, 100)])
    for task in range(2):
        monitor.receive(LINE._replace(task=task))
    assert [shown.workers for shown in monitor.look()] == [1]


def test_what_an_earlier_run_did_counts(tmp_path: Path) -> None:
    records = tmp_path / ".bertdata" / "tasks" / "extract"
    records.mkdir(parents=True)
    (records / "00000.json").write_text("{}")
    monitor = Monitor([tmp_path], [ProgressStep("Extract", "extract", 4, 100)])
    (shown,) = monitor.look()
    assert (shown.done, shown.bytes, shown.bytes_per_second) == (1, 25, 0.0)


def test_speed_on_an_engine_counts_from_the_start_of_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monitor = Monitor([tmp_path], [ProgressStep("Extract", "extract", 4, 100)], counts=True)
    assert monitor.look() == []
    (records := tmp_path / ".bertdata" / "tasks" / "extract").mkdir(parents=True)
    (records / "00000.json").write_text("{}")
    now[0] = 15.0
    (report,) = monitor.look()
    assert (report.seconds, report.bytes_per_second) == (10.0, 2.5)

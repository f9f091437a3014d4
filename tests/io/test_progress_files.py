"""What workers say of their tasks: whole lines that count each byte once, and do no harm where they can't be written."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from pathlib import Path

import pytest

from bertdata.commands import progress as watching
from bertdata.dataset import timings
from bertdata.io import progress
from bertdata.io.files import digest, open_file, to_path
from bertdata.records import FileRange


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / ".bertdata").mkdir()
    return tmp_path / ".bertdata"


def test_bytes_of_a_part_count_once_whoever_reads_them(state: Path, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(os.urandom(300_000))
    part = FileRange("input", str(path), 100_000, 250_000)
    with progress.working(state, "extract", 3) as work:
        with open_file(str(path)) as file:
            file.read(1000)  # before the part
        assert work.bytes == 0
        work.reads([part])
        with open_file(str(path)) as file:
            file.seek(100_000)
            file.read(60_000)
        assert 60_000 <= work.bytes <= 150_000
        digest(path)
        digest(path)
        assert work.bytes == 150_000
    (line,) = progress.lines(state)
    assert (line.step, line.task, line.bytes) == ("extract", 3, 150_000)


def test_what_is_unpacked_in_another_thread_counts(state: Path, tmp_path: Path) -> None:
    path = tmp_path / "input.gz"
    path.write_bytes(gzip.compress(os.urandom(100_000)))
    size = path.stat().st_size
    with progress.working(state, "extract", 0) as work:
        work.reads([FileRange("input.gz", str(path), 0, size)])
        with open_file(str(path)) as file:
            reader = threading.Thread(target=file.read)
            reader.start()
            reader.join()
        assert work.bytes == size


def test_a_task_at_work_is_seen_and_one_that_is_done_stays(state: Path) -> None:
    reader = progress.ProgressReader(state)
    with progress.working(state, "extract", 0):
        pass
    with progress.working(state, "extract", 1) as work:
        work.add(bytes=7, documents=2, rejects=1)
        work.tell()
        (line,) = reader.look()
        assert (line.task, line.bytes, line.documents, line.rejects, line.done) == (1, 7, 2, 1, False)
        assert (reader.finished["extract"].tasks, reader.finished["extract"].bytes) == (1, 0)
    assert reader.look() == []
    assert (reader.finished["extract"].tasks, reader.finished["extract"].bytes) == (2, 7)
    assert 1 in reader.finished["extract"] and 2 not in reader.finished["extract"]
    (file,) = (state / progress.FOLDER).iterdir()
    assert file.stat().st_size == 512, "two tasks, two lines"


def test_a_task_that_failed_is_written_over_and_one_of_a_dead_worker_is_not_at_work(state: Path) -> None:
    with pytest.raises(ZeroDivisionError), progress.working(state, "extract", 0) as work:
        work.tell()
        raise ZeroDivisionError
    assert progress.ProgressReader(state).look() == [], "it was there before this reader came"
    reader = progress.ProgressReader(state)
    with progress.working(state, "extract", 5):
        assert [line.task for line in reader.look()] == [5]
    (file,) = (state / progress.FOLDER).iterdir()
    assert file.stat().st_size == 256


def test_tasks_in_threads_of_one_process_have_lines_of_their_own(state: Path) -> None:
    both = threading.Barrier(2, timeout=10)

    def task(number: int) -> None:
        with progress.working(state, "extract", number) as work:
            both.wait()
            work.add(bytes=number)
            time.sleep(0.05)
            both.wait()

    threads = [threading.Thread(target=task, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = [*progress.lines(state)]
    assert {(line.step, line.task): line.bytes for line in done} == {("extract", 1): 1, ("extract", 2): 2}
    assert timings.summary(done)["workers"] == 1, "a worker is a process"
    of_two = [line._replace(worker=f"host-{number}") for number, line in enumerate(done)]
    assert timings.summary(of_two)["workers"] == 2


@pytest.mark.parametrize("hindered", ["no state", "a file in the place", "a link"])
def test_it_does_no_harm_where_it_cannot_be_written(tmp_path: Path, hindered: str) -> None:
    state = tmp_path / ".bertdata"
    if hindered != "no state":
        state.mkdir()
        name = f"{os.uname().nodename}-{os.getpid()}-{threading.get_ident():x}-0"
        if hindered == "a link":
            (state / progress.FOLDER).mkdir()
            (tmp_path / "mine").write_text("mine")
            (state / progress.FOLDER / name).symlink_to(tmp_path / "mine")
        else:
            (state / progress.FOLDER).write_text("")
    with progress.working(state, "extract", 0) as work:
        work.add(bytes=1)
    assert work.bytes == 1
    assert hindered != "a link" or (tmp_path / "mine").read_text() == "mine"


def test_a_task_that_is_done_twice_counts_once_and_its_worker_reads_one_line(state: Path) -> None:
    for number in [*range(40), 7, 39]:
        with progress.working(state, "extract", number) as work:
            work.add(bytes=10, documents=1)
    reader = progress.ProgressReader(state)
    finished = reader.finished["extract"]
    assert (finished.tasks, finished.bytes, finished.documents) == (40, 400, 40)
    assert len({line.task for line in progress.lines(state)}) == 40
    (file,) = (state / progress.FOLDER).iterdir()
    before = Path("/proc/self/io").read_text() if Path("/proc/self/io").exists() else ""
    with file.open("r+b") as lines:
        lines.truncate(1 << 30)  # 4 million lines, all but the last of them holes
        lines.seek((1 << 30) - 256)
        lines.write(json.dumps(["extract", 41, 1, 0, 0, 0, 1.0, 1.0, 1.0, 10]).encode().ljust(255) + b"\n")
    with progress.working(state, "extract", 42):
        pass
    assert file.stat().st_size == (1 << 30) + 256
    if before:
        read = [int(text.split()[1]) for text in (before, Path("/proc/self/io").read_text())]
        assert read[1] - read[0] < 1 << 20


def test_damaged_lines_are_left_out(state: Path) -> None:
    (state / progress.FOLDER).mkdir()
    huge = json.dumps(["extract", 1 << 60, 1, 0, 0, 0, 1.0, 1.0, 1.0, 10]).encode().ljust(256)
    wrong = [
        json.dumps(["extract", 1, 1, 0, 0, 0, *rest]).encode().ljust(256)
        for rest in (
            (1e300, 1, 1, 1),
            (1, float("nan"), 1, 1),
            (1, 1, float("inf"), 1),
            (1, 1, 1, 1 << 70),
            (1, 1, 1, float("inf")),
        )
    ]
    damaged = (b"", b"x" * 256, b"[1]".ljust(256), b'{"a": 1}'.ljust(255) + b"\n", os.urandom(600), huge, *wrong)
    for number, data in enumerate(damaged):
        (state / progress.FOLDER / f"w{number}").write_bytes(data)
    reader = progress.ProgressReader(state)
    assert (reader.look(), reader.finished, [*progress.lines(state)]) == ([], {}, [])


def test_a_pause_between_two_attempts_is_no_time_of_a_stage() -> None:
    line = progress.TaskProgress("extract", 0, True, 1, 1, 0, began=100.0, wall=10.0, cpu=8.0, memory=5)
    told = timings.summary([line, line._replace(task=1, began=105.0, worker="b"), line._replace(task=2, began=90_000.0)])
    assert told["stages"] == [{"name": "extract", "wall_s": 25.0, "cpu_s": 24.0}]
    assert (told["workers"], told["peak_memory_bytes"]) == (2, 5)


def test_of_a_task_that_is_begun_twice_its_end_counts() -> None:
    """Of two ends the last, and without an end what was said last."""
    line = progress.TaskProgress("extract", 0, True, 1, 1, 0, began=100.0, wall=10.0, cpu=8.0, memory=5)
    begun = line._replace(done=False, cpu=1.0)
    for lines, cpu in (([begun, line], 8.0), ([line, begun], 8.0), ([line, line._replace(cpu=7.0)], 7.0)):
        assert timings.summary(lines)["stages"] == [{"name": "extract", "wall_s": 10.0, "cpu_s": cpu}]
    assert timings.summary([begun, begun._replace(cpu=2.0)])["stages"][0]["cpu_s"] == 2.0
    assert timings.summary([]) == {}


def test_nothing_is_written_in_a_store_nor_looked_for_there() -> None:
    pytest.importorskip("upath")
    state = to_path("memory://progress/.bertdata")
    with progress.working(state, "extract", 0) as work:
        work.add(bytes=3)
    assert work.bytes == 3
    reader = progress.ProgressReader(state)
    assert (reader.look(), reader.finished, [*progress.lines(state)]) == ([], {}, [])
    assert not (state / progress.FOLDER).exists()


def test_workers_at_work_are_processes(state: Path) -> None:
    """Two threads of one process are one worker; the same lines of another process are another."""
    watch = watching._Watch([state.parent], [watching.Step("Extract", "extract", 4)])

    def workers() -> list[int]:
        return [told.workers for told in watch.look()]

    def task() -> None:
        with progress.working(state, "extract", 2):
            both.wait()
            both.wait()

    both = threading.Barrier(2, timeout=10)
    thread = threading.Thread(target=task)
    with progress.working(state, "extract", 1):
        thread.start()
        both.wait()
        assert workers() == [1]
        line = json.dumps(["extract", 3, 0, 1, 0, 0, time.time(), 0.1, 0.1, 10]).encode()
        (state / progress.FOLDER / "otherhost-1-1-0").write_bytes(line.ljust(255) + b"\n")
        assert workers() == [2]
        both.wait()
        thread.join()

"""The local runner: workers take the next hand when they are done with one, and one that dies ends the run at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from bertdata.pipelines import engine, local, processes

from bertdata.errors import BertDataError, EmptyResultError


class Work(beam.PTransform):
    """Do `work` with each of so many numbers."""

    def __init__(self, count: int, work: Any) -> None:
        super().__init__()
        self._count, self._work = count, work

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        numbers = begin | "Create" >> beam.Create([(number, number) for number in range(self._count)], reshuffle=False)
        return numbers | "Spread" >> beam.GroupByKey() | "Work" >> beam.Map(self._work)


def note(directory: Path, slow: dict[int, float]) -> Any:
    """Return work that leaves a file with the process that did it."""
    folder = str(directory)

    def work(group: tuple[int, Iterable[int]]) -> None:
        number = group[0]
        time.sleep(slow.get(number, 0))
        Path(folder, str(number)).write_text(str(os.getpid()))

    return work


def test_a_worker_that_is_done_takes_the_next_hand(tmp_path: Path) -> None:
    """One number takes as long as all others together: its worker gets no other after it, and each is done once."""
    engine.run(Work(40, note(tmp_path, {0: 3})), tasks=40, workers=2)
    done = {int(path.name): int(path.read_text()) for path in tmp_path.iterdir()}
    assert sorted(done) == list(range(40))
    by_process = Counter(done.values())
    assert len(by_process) == 2 and os.getpid() not in by_process
    assert by_process[done[0]] <= 10, "the first hand is a quarter"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_numbers_than_workers(tmp_path: Path, count: int) -> None:
    engine.run(Work(count, note(tmp_path, {})), tasks=count, workers=4)
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(number) for number in range(count)]


def test_a_death_ends_the_run_though_another_worker_goes_on(tmp_path: Path) -> None:
    folder = str(tmp_path)

    def work(group: tuple[int, Iterable[int]]) -> None:
        if group[0] == 0:
            Path(folder, "busy").write_text(str(os.getpid()))
            time.sleep(300)
        while not Path(folder, "busy").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

    began = time.monotonic()
    with pytest.raises(BertDataError, match="a worker process was killed, .*--resume, with fewer --workers"):
        engine.run(Work(2, work), tasks=2, workers=2)
    assert time.monotonic() - began < 60
    busy = Path(f"/proc/{(tmp_path / 'busy').read_text()}")
    assert not busy.exists() or "\nState:\tZ" in (busy / "status").read_text(), "the other worker is gone as well"


def test_an_error_of_a_step_ends_the_run_though_another_worker_goes_on() -> None:
    def work(group: tuple[int, Iterable[int]]) -> None:
        if group[0] == 0:
            time.sleep(300)
        raise EmptyResultError("nothing in number 1")

    began = time.monotonic()
    with pytest.raises(EmptyResultError, match="^nothing in number 1$"):
        engine.run(Work(2, work), tasks=2, workers=2)
    assert time.monotonic() - began < 60


def test_a_worker_that_dies_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BertDataError, match="a worker process was killed"):
        engine.run(Work(2, print), tasks=2, workers=2)


def test_processes_that_nobody_takes_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    with processes.started(3, False):
        waiting = [*processes._ready]
        one = processes.take(False)
        assert len(waiting) == 3 and one in waiting and one.poll() is None
    assert [process.poll() for process in waiting if process is not one] == [-signal.SIGKILL] * 2
    assert one.poll() is None and not processes._ready
    one.communicate()  # the end of its input, without a line that tells where the runner is
    assert one.returncode == 0
    with processes.started(1, False):
        assert not processes._ready, "one worker works in the driver"
    monkeypatch.setattr(processes, "cores", lambda: 4)
    assert [processes.number(None, tasks) for tasks in (0, 1, 3, 9)] == [1, 1, 3, 4]
    assert processes.number(7, 1) == 7


class Buffer:
    """What Beam hands over: elements, cut into so many parts."""

    def __init__(self, count: int) -> None:
        self.elements = [bytes([number]) for number in range(count)]

    def partition(self, count: int) -> list[list[bytes]]:
        return [self.elements[number::count] for number in range(count)]


def test_hands_get_smaller_and_hold_everything_once() -> None:
    """By hand: of 16 parts for 2 workers a quarter, 4; of 12, 3; of 9, 2; of 7, 1 and so on."""
    hands = local._deal({"in": Buffer(16)}, 2)
    assert [len(hand["in"]) for hand in hands] == [4, 3, 2, 1, 1, 1, 1, 1, 1, 1]
    assert sorted(element for hand in hands for element in hand["in"]) == Buffer(16).elements
    assert local._deal({"in": Buffer(0)}, 2) == [{"in": []}]
    hands = local._deal({"one": Buffer(3), "two": Buffer(1)}, 2)
    assert hands == [{"one": [b"\0"], "two": [b"\0"]}, {"one": [b"\1"], "two": []}, {"one": [b"\2"], "two": []}]
    many = local._deal({"in": Buffer(250)}, 3)
    assert len(many) < 40 and sum(len(hand["in"]) for hand in many) == 250


def test_one_worker_is_in_this_process(tmp_path: Path) -> None:
    options = PipelineOptions([])
    options.view_as(DirectOptions).direct_num_workers = 1
    pipeline = beam.Pipeline(runner=local.LocalRunner(1, False), options=options)
    _ = pipeline | Work(3, note(tmp_path, {}))
    pipeline.run()
    assert {path.read_text() for path in tmp_path.iterdir()} == {str(os.getpid())}


def test_workers_look_for_modules_where_the_driver_does(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own random.py in the current directory is not Python's."""
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    command = [Path(sys.executable).with_name("bertdata"), "build-corpus", "--text", text, "--output", "out", "--workers", "2"]
    done = subprocess.run([*map(str, command), "--task-bytes", "65536"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""A local run: workers take the next hand when they are done with one, and one that dies ends the run at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from bertdata.chains import local
from conftest import is_alive
from works import Long, Unreadable, Work, die_beside, die_once, end_early, fail_beside, fail_oddly, note

from bertdata.errors import BertDataError, EmptyResultError
from bertdata.storage import process, workers


@pytest.mark.slow
def test_a_worker_that_is_done_takes_the_next_hand(tmp_path: Path) -> None:
    """The first number takes longer than all others together: its worker gets no other, and each is done once."""
    local.run(Work(40, note, tmp_path, 1.0), 2)
    done = {int(path.name): int(path.read_text()) for path in tmp_path.iterdir()}
    assert sorted(done) == list(range(40))
    by_process = Counter(done.values())
    assert os.getpid() not in by_process and by_process[done[0]] == 1


@pytest.mark.parametrize(("count", "workers"), [(0, 2), (1, 2), (2, 3)])
def test_fewer_numbers_than_workers(tmp_path: Path, count: int, workers: int) -> None:
    local.run(Work(count, note, tmp_path), workers)
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(number) for number in range(count)]


@pytest.mark.slow
def test_a_second_killed_worker_ends_the_run_while_another_is_busy(tmp_path: Path) -> None:
    began = time.monotonic()
    warnings = list[str]()
    with pytest.raises(BertDataError, match="a second worker process was killed, .*same command again with fewer `workers`"):
        local.run(Work(2, die_beside, tmp_path), 2, warn=warnings.append)
    assert len(warnings) == 1 and "It is replaced, and its task starts again" in warnings[0]
    assert time.monotonic() - began < 60
    busy = Path(f"/proc/{(tmp_path / 'busy').read_text()}")
    assert not busy.exists() or "\nState:\tZ" in (busy / "status").read_text(), "the other worker is gone as well"


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 12])
def test_a_killed_worker_is_replaced_and_its_task_is_done_again_once(tmp_path: Path, count: int) -> None:
    warnings = list[str]()
    local.run(Work(count, die_once, tmp_path), 2, warn=warnings.append)
    assert len(warnings) == 1 and "a worker process was killed, perhaps because memory ran out" in warnings[0]
    assert (tmp_path / "died").exists()
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.name != "died"} == {
        str(number): "done\n" for number in range(count)
    }


@pytest.mark.slow
def test_a_worker_that_is_killed_between_two_tasks_is_replaced() -> None:
    warnings = list[str]()
    with workers.Pool(2, warn=warnings.append) as pool:
        assert sorted(pool.each(abs, [-1, -2, -3])) == [1, 2, 3]
        killed = pool._workers[1]._process
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert sorted(pool.each(str, [1, 2, 3, 4, 5])) == ["1", "2", "3", "4", "5"], "also those that have other work now"
    assert len(warnings) == 1


def test_an_error_of_a_step_ends_the_run_though_another_worker_goes_on() -> None:
    began = time.monotonic()
    with pytest.raises(EmptyResultError, match="^nothing in number 1$") as raised:
        local.run(Work(2, fail_beside), 2)
    assert time.monotonic() - began < 60
    assert "in fail_beside" in str(raised.value.__cause__), "--verbose shows where"


def test_an_error_that_no_other_process_can_make_and_the_end_of_a_file() -> None:
    with pytest.raises(BertDataError, match="^the run failed: RuntimeError: works.Odd: odd: run the same"):
        local.run(Work(2, fail_oddly), 2)
    with pytest.raises(BertDataError, match="^the run failed: EOFError: the file ends early: run the same command again"):
        local.run(Work(2, end_early), 2)


@pytest.mark.slow
@pytest.mark.parametrize("verbose", [False, True])
def test_what_a_step_prints_is_no_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verbose: bool
) -> None:
    """Elements of a MB, which no pipe holds, go from stage to stage."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    local.run(Long(tmp_path / "told"), 2, verbose)
    assert (tmp_path / "told").read_text() == repr([1 << 20] * 5)
    said = capfd.readouterr()
    assert said.out == ""
    assert sorted(set(said.err.splitlines()) - {"said to stderr", "written to 1"}) == [
        f"said to stdout {number}" for number in range(5 * verbose)
    ]


@pytest.mark.slow
def test_a_worker_that_fails_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BertDataError, match="^a worker process ended with exit code 1: run the same command again"):
        local.run(Work(2, print), 2)


def test_work_that_a_worker_cannot_read_is_told() -> None:
    with workers.Pool(2) as pool, pytest.raises(ModuleNotFoundError, match="^no module of the user's$"):
        list(pool.each(Unreadable(), range(2)))


KILLED = """
import os, sys
from pathlib import Path
from works import touch
from bertdata.storage import workers

def kill(pipes):
    print(*(worker._process.pid for worker in pool._workers), flush=True)
    os.kill(os.getpid(), 9)

workers.wait = kill  # the workers have been given their work, and still import what they need for it
with workers.Pool(2) as pool:
    list(pool.each(touch, [Path(sys.argv[1], name) for name in "ab"]))
"""


@pytest.mark.slow
def test_workers_do_nothing_for_a_driver_that_was_killed_while_they_started(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    numbers = [*map(int, done.stdout.split())]
    assert done.returncode == -signal.SIGKILL and len(numbers) == 2
    limit = time.monotonic() + 60
    while any(map(is_alive, numbers)):
        assert time.monotonic() < limit, "workers outlived their driver"
        time.sleep(0.05)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_a_worker_that_cannot_be_started_leaves_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    started, start = list[subprocess.Popen[bytes]](), workers.start

    def once(verbose: bool) -> tuple[subprocess.Popen[bytes], Connection]:
        if started:
            raise BlockingIOError("no more processes")
        process, pipe = start(verbose)
        started.append(process)
        return process, pipe

    monkeypatch.setattr(workers, "start", once)
    with pytest.raises(BertDataError, match="a limit of the system is reached: no more processes: raise the limit of processes"):
        local.run(Work(2, print), 2)
    assert started[0].poll() is not None


def test_no_worker_is_idle_and_none_costs_more_than_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "cores", lambda: 4)
    assert [process.worker_count(None, tasks, 1 << 30) for tasks in (0, 1, 3, 9)] == [1, 1, 3, 4]
    assert [process.worker_count(None, 9, size) for size in (0, (8 << 20) - 1, 8 << 20)] == [1, 1, 4]
    assert process.worker_count(7, 1, 0) == 7


def test_one_worker_is_in_this_process(tmp_path: Path) -> None:
    local.run(Work(3, note, tmp_path))
    assert {path.read_text() for path in tmp_path.iterdir()} == {str(os.getpid())}


@pytest.mark.long
def test_workers_look_for_modules_where_the_driver_does(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own random.py in the current directory is not Python's."""
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    command = [Path(sys.executable).with_name("bertdata"), "build-corpus", "--text", text, "--output", "out", "--workers", "2"]
    done = subprocess.run([*map(str, command), "--task-bytes", "65536"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

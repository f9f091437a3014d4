"""A local run: idle workers take the next task, a killed worker is replaced once, and errors are bertdata's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import SAMPLE, is_alive
from works import Numbers, Unreadable, fail, note, speak

from bertdata.errors import BertDataError, EmptyResultError
from bertdata.run import local
from bertdata.run.progress import Reporter
from bertdata.storage import process, workers


@pytest.mark.slow
def test_an_idle_worker_takes_the_next_task(tmp_path: Path) -> None:
    """The first task takes longer than all others together: its worker gets no other, and each is done once."""
    local.run(Numbers(40, note, (tmp_path, 1.0)), (), 2, Reporter())
    done = {int(path.name): int(path.read_text()) for path in tmp_path.iterdir()}
    by_process = Counter(done.values())
    assert sorted(done) == list(range(40))
    assert os.getpid() not in by_process and by_process[done[0]] == 1


@pytest.mark.parametrize(("count", "processes"), [(0, 2), (1, 2), (2, 3), (3, 1)])
def test_fewer_tasks_than_workers(tmp_path: Path, count: int, processes: int) -> None:
    local.run(Numbers(count, note, (tmp_path, 0)), (), processes, Reporter())
    done = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert sorted(done) == [str(number) for number in range(count)]
    assert processes > 1 or {*done.values()} == {str(os.getpid())}, "one worker is this process"


@pytest.mark.slow
def test_a_worker_that_is_killed_between_two_tasks_is_replaced() -> None:
    warnings = list[str]()
    with workers.Pool(2, warn=warnings.append) as pool:
        assert sorted(pool.each(abs, [-1, -2, -3])) == [1, 2, 3]
        killed = pool._workers[1]._process
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert sorted(pool.each(str, [1, 2, 3, 4, 5])) == ["1", "2", "3", "4", "5"]
    assert len(warnings) == 1


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("ours", EmptyResultError, "^nothing in number 1$"),
        ("odd", Exception, "odd$"),
        ("key", KeyError, "^'tea'$"),
        ("end of a file", EOFError, "^the file ends early$"),
        ("interrupt", KeyboardInterrupt, "^$"),
    ],
)
def test_an_error_of_a_task_ends_the_run(processes: int, kind: str, error: type[BaseException], message: str) -> None:
    """At once, though another worker is busy."""
    begun = time.monotonic()
    with pytest.raises(error, match=message):
        local.run(Numbers(2, fail, (kind, 300 if processes > 1 else 0)), (), processes, Reporter())
    assert time.monotonic() - begun < 60


@pytest.mark.slow
def test_output_of_a_task_is_not_its_result(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with workers.Pool(2) as pool:
        assert [len(result) for result in pool.each(speak, range(5))] == [1 << 20] * 5
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_worker_that_cannot_start_or_read_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with workers.Pool(2) as pool, pytest.raises(ModuleNotFoundError, match="^no module of the user's$"):
        list(pool.each(Unreadable(), range(2)))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BertDataError, match="^a worker process ended with exit code 1: run the same command again"):
        local.run(Numbers(2, print), (), 2, Reporter())


KILLED = """
import os, sys
from functools import partial
from pathlib import Path
from works import note
from bertdata.storage import workers

def kill(pipes):
    numbers = [worker._process.pid for worker in pool._workers]
    print(*numbers, flush=True)
    if "stopped" in sys.argv:
        os.kill(numbers[0], 19)
    os.kill(os.getpid(), 9)

with workers.Pool(2) as pool:
    if "stopped" in sys.argv:
        list(pool.each(abs, [1, 2]))
    workers.wait = kill  # the workers have been given their work, and may still import what they need for it
    list(pool.each(partial(note, Path(sys.argv[1]), 0), range(2)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("state", ["starting", "stopped"])
def test_workers_do_nothing_for_a_driver_that_was_killed(tmp_path: Path, state: str) -> None:
    """Neither while they start, nor if one was stopped (on Linux)."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", KILLED, str(tmp_path), state]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    numbers = [*map(int, done.stdout.split())]
    assert done.returncode == -signal.SIGKILL and len(numbers) == 2
    limit = time.monotonic() + 60
    while any(map(is_alive, numbers)):
        assert time.monotonic() < limit, "workers outlived their driver"
        time.sleep(0.05)
    assert state == "stopped" or [*tmp_path.iterdir()] == []


def test_no_worker_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "cores", lambda: 4)
    assert [process.worker_count(None, tasks, 1 << 30) for tasks in (0, 1, 3, 9)] == [1, 1, 3, 4]
    assert [process.worker_count(None, 9, size) for size in (0, (8 << 20) - 1, 8 << 20)] == [1, 1, 4]
    assert process.worker_count(7, 1, 0) == 7


@pytest.mark.slow
def test_a_local_run_imports_no_beam_and_nothing_of_the_current_directory(tmp_path: Path) -> None:
    """Beam takes half of a small run's time. A user's own random.py is not Python's."""
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong one')")
    arguments = ["build-corpus", "--books", str(SAMPLE / "books"), "--output", "out", "--workers", "2"]
    code = f"import sys; sys.path.remove(''); sys.argv[1:] = {arguments!r}\nfrom bertdata.__main__ import main\n"
    code += "try: main()\nfinally: print('loaded', *{'apache_beam', 'grpc', 'pandas', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded pyarrow"

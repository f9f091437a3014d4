"""Signals to the driver, to its workers and to both at once: a clear end, an exit code, and then the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND, STEPS, Build, command_line, digests, leftovers
from processes import Started, start
from test_resume import wait_for_tasks, workers_of

pytestmark = pytest.mark.long

FIRST = {**STEPS, "make-pairs": "tokenize"}
Start = Callable[..., tuple[Started, list[object]]]


@pytest.fixture
def started(parts: Path, text: Path, tmp_path: Path) -> Start:
    """Start a command, and wait until it has done a task; return it and what it works on."""

    def call(name: str, workers: int) -> tuple[Started, list[object]]:
        arguments = command_line(name, text, parts)
        process = start(name, *arguments, "--output", tmp_path / "out", "--workers", workers)
        wait_for_tasks(process, tmp_path / "out", FIRST[name], 1)
        return process, arguments

    return call


def ends_as_told(process: Started, number: int) -> None:
    """See that a run ends soon after a signal, with its exit code and a message."""
    _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + number, said
    assert b"same command" in said
    assert b"Traceback" not in said


WAYS = ((False, 1), (False, 2), (True, 2))  # to the driver alone, or to its workers as well, as a terminal does it; workers
SIGNALS = [
    ("build-corpus", signal.SIGINT, True, 2),
    ("make-pairs", signal.SIGHUP, True, 2),
    *(
        pytest.param(name, number, *WAYS[(row + column) % 3], marks=pytest.mark.long)  # each pair of the three once
        for row, name in enumerate(STEPS)
        for column, number in enumerate((signal.SIGTERM, signal.SIGHUP, signal.SIGINT))
    ),
]


@pytest.mark.parametrize(("name", "number", "group", "workers"), SIGNALS)
def test_a_signal(
    build: Build, parts: Path, tmp_path: Path, started: Start, name: str, number: int, group: bool, workers: int
) -> None:
    process, arguments = started(name, workers)
    (os.killpg if group else os.kill)(process.pid, number)
    ends_as_told(process, number)
    build(name, tmp_path / "out", *arguments)
    assert digests(tmp_path / "out") == digests(parts / name)
    assert leftovers(tmp_path / "out") == []


def test_nohup(parts: Path, text: Path, tmp_path: Path) -> None:
    """A signal that is ignored where the run is started is ignored by the run."""
    arguments = ["build-corpus", *command_line("build-corpus", text, parts), "--output", tmp_path / "out", "--workers", 2]
    command = ["nohup", *COMMAND, *map(str, arguments)]
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)
    wait_for_tasks(process, tmp_path / "out", "extract", 1)
    os.killpg(process.pid, signal.SIGHUP)
    assert process.wait(120) == 0
    assert digests(tmp_path / "out") == digests(parts / "build-corpus")


@pytest.mark.parametrize("name", ["train-vocab", "make-pairs"])  # tests/test_resume.py has it of build-corpus
def test_two_killed_workers(build: Build, parts: Path, tmp_path: Path, started: Start, name: str) -> None:
    process, arguments = started(name, 2)
    for worker in workers_of(process.pid):
        os.kill(worker, signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"a second worker process was killed" in said and b"same command" in said and b"Traceback" not in said, said.decode()
    build(name, tmp_path / "out", *arguments)
    assert digests(tmp_path / "out") == digests(parts / name)
    assert leftovers(tmp_path / "out") == []


def test_a_worker_that_is_stopped_is_waited_for(parts: Path, tmp_path: Path, started: Start) -> None:
    process, _ = started("build-corpus", 2)
    workers = workers_of(process.pid)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(1)
    assert process.poll() is None
    for pid in workers:
        os.kill(pid, signal.SIGCONT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert digests(tmp_path / "out") == digests(parts / "build-corpus")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_worker_that_is_stopped_ends_with_its_driver(started: Start) -> None:
    """Woken later, it would write into what another run has made since."""
    process, _ = started("build-corpus", 2)
    workers = workers_of(process.pid)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    process.kill()
    process.communicate(timeout=30)
    limit = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() for pid in workers):
        assert time.monotonic() < limit, "a stopped worker outlived its driver"
        time.sleep(0.05)

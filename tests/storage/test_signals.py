"""A signal is answered at once, and ends the process within two seconds, also where the main thread is in a long call of C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import is_alive
from listeners import need_proc

pytestmark = pytest.mark.long

# A mutex that is locked twice waits in C for ever, without the lock of the interpreter: as a step of torch, only longer.
IN_C = """
import ctypes, os, sys, time
from bertdata.storage.signals import Answer, signals
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(256)
try:
    with signals({answer}) as received:
        print("begun", flush=True)
        {body}
except KeyboardInterrupt as stopped:
    sys.exit(stopped.args[0])
sys.exit(received[0])
"""
STUCK = "libc.pthread_mutex_lock(mutex); libc.pthread_mutex_lock(mutex)"
SAVES = "lambda: Answer('is saved first', saves=True)"


def begun(body: str, answer: str = "", before: str = "") -> subprocess.Popen[str]:
    code, pipe = before + IN_C.format(answer=answer, body=body), subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    wait_until_it_waits(process.pid)
    return process


def wait_until_it_waits(pid: int) -> None:
    """Wait until the main thread of a process sleeps in a call of the system, and stays there."""
    status, seen = Path(f"/proc/{pid}/task/{pid}/status"), [""]
    if not status.exists():  # no Linux
        time.sleep(0.3)
        return
    while "\nState:\tS" not in seen[-1] or len(seen) < 4 or len({*seen[-3:]}) > 1:  # its switches are counted there
        time.sleep(0.02)
        seen.append(status.read_text())


def end(process: subprocess.Popen[str]) -> tuple[float, str]:
    """Wait for a process; return in how many seconds it ended, and what it said."""
    since = time.monotonic()
    _, said = process.communicate(timeout=60)
    return time.monotonic() - since, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_a_call_of_c_that_does_not_end(number: int) -> None:
    process = begun(STUCK)
    process.send_signal(number)
    seconds, said = end(process)
    assert process.returncode == 128 + number
    assert seconds < 2
    assert "stopped: the same command continues" in said and "Traceback" not in said


@pytest.mark.slow
def test_a_stream_that_nobody_reads_any_more() -> None:
    process = begun(STUCK)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130


@pytest.mark.slow
def test_a_full_pipe_that_nobody_reads() -> None:
    """The word can't be said; the end does not wait for it."""
    process = begun("os.write(2, bytes(1 << 20))")
    process.send_signal(signal.SIGINT)
    since = time.monotonic()
    assert process.wait(10) == 130
    assert time.monotonic() - since < 3
    process.communicate()


@pytest.mark.slow
def test_what_saves_goes_on() -> None:
    process = begun("time.sleep(2)", SAVES)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)  # of the same event
    seconds, said = end(process)
    assert process.returncode == 143 and seconds > 1
    assert said.count("is saved first") == 1


@pytest.mark.slow
def test_a_second_ctrl_c_ends_what_saves() -> None:
    process = begun(STUCK, SAVES)
    process.send_signal(signal.SIGINT)
    time.sleep(1.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)  # which is no Ctrl-C
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    seconds, said = end(process)
    assert process.returncode == 130 and seconds < 2
    assert "ended at once" in said


@pytest.mark.slow
def test_signals_to_a_forked_child_are_its_own() -> None:
    """Its handler and its pipe are copies of the parent's, which must not hear of them."""
    body = "child = os.fork() or time.sleep(60); time.sleep(.3); os.kill(child, 2); time.sleep(.3); os.kill(child, 15); "
    process = begun(body + "print(os.waitpid(child, 0)[1], received, flush=True); received.append(7)")
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out, said) == (7, "15 []\n", "")


@pytest.mark.parametrize("body", [STUCK, "time.sleep(60)"])
@pytest.mark.slow
def test_what_children_have_started_ends_too(body: str, tmp_path: Path) -> None:
    """As the compiler that torch.compile calls, whose own child does the work, and is in no pipe to us."""
    need_proc()
    told = tmp_path / "told"
    child = f"import subprocess, time; print(subprocess.Popen(['sleep', '70']).pid, file=open('{told}', 'w'), flush=True); "
    process = begun(f"import subprocess; subprocess.Popen([sys.executable, '-c', {child + 'time.sleep(60)'!r}]); {body}")
    while not told.exists() or not told.read_text().endswith("\n"):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 143
    until = time.monotonic() + 2
    while is_alive(int(told.read_text())):
        assert time.monotonic() < until
        time.sleep(0.02)
    process.communicate()


@pytest.mark.slow
def test_a_signal_while_this_process_forks_is_not_lost() -> None:
    """It comes while a hook of another module takes a second."""
    slow = "import os, time; os.register_at_fork(before=lambda: time.sleep(1), after_in_parent=lambda: time.sleep(1))\n"
    fork = "child = os.fork() or os._exit(0); time.sleep(60)"
    process = begun(fork, before=slow)
    process.send_signal(signal.SIGINT)
    seconds, said = end(process)
    assert process.returncode == 130 and seconds < 3
    assert "stopped: the same command continues" in said


def test_from_the_first_moment_on(tmp_path: Path) -> None:
    """Before click is loaded: by a module of this name that takes a minute."""
    (tmp_path / "click.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-m", "bertdata", "--help"], env=env, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    seconds, said = end(process)
    assert process.returncode == 130 and seconds < 2
    assert "stopped" in said and "Traceback" not in said

"""Ctrl-C and SIGTERM end a command with one line and its exit code, at the latest when the running C call returns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import ctypes, os, sys, time
from bertdata.storage.signals import Answer, signals
try:
    with signals({answer}) as received:
        print("begun", flush=True)
        {body}
except KeyboardInterrupt as stopped:
    sys.exit(stopped.args[0])
sys.exit(received[0])
"""
SAVES = "lambda: Answer('is saved first', saves=True)"


def begun(body: str, answer: str = "") -> subprocess.Popen[str]:
    code, pipe = PROGRAM.format(answer=answer, body=body), subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(0.1)
    return process


def end(process: subprocess.Popen[str]) -> tuple[float, str]:
    """Wait for a process; return in how many seconds it ended, and what it said."""
    since = time.monotonic()
    _, said = process.communicate(timeout=60)
    return time.monotonic() - since, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("body", ["time.sleep(60)", "ctypes.CDLL(None).usleep(900_000); time.sleep(60)"])
def test_a_signal_ends_with_one_line(number: int, body: str) -> None:
    process = begun(body)
    process.send_signal(number)
    seconds, said = end(process)
    assert process.returncode == 128 + number and seconds < 2
    assert said.strip() == "bertdata: stopped: continue with the same command"


def test_work_that_saves_goes_on_until_a_second_ctrl_c() -> None:
    process = begun("time.sleep(2)", SAVES)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)  # of the same event
    seconds, said = end(process)
    assert process.returncode == 143 and seconds > 1 and said.count("is saved first") == 1
    process = begun("time.sleep(60)", SAVES)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(1.2)
    assert end(process)[0] < 2 and process.returncode == 130


def test_a_forked_child_leaves_signals_to_its_parent() -> None:
    body = "child = os.fork() or time.sleep(60); time.sleep(.3); os.kill(child, 2); time.sleep(.3); os.kill(child, 15); "
    process = begun(body + "print(os.waitpid(child, 0)[1] >> 8, received, flush=True); received.append(7)")
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out, said) == (7, "143 []\n", "")


def test_the_stream_may_be_closed() -> None:
    process = begun("time.sleep(60)")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130


def test_a_signal_while_the_command_line_loads(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-m", "bertdata", "--help"], env=env, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    seconds, said = end(process)
    assert process.returncode == 130 and seconds < 2 and "stopped" in said and "Traceback" not in said

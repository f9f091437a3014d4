"""Children of a process end with it, in whatever pipe they sit, and hold none of its locks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertdata.errors import OutputLockedError
from bertdata.io.lock import lock
from bertdata.io.process import end_with_parent

# Two children sit in pipes that the parent's death does not break: each holds the reading end of the other's, as the workers of a
# DataLoader do.
FAMILY = """
import multiprocessing, os, sys, time
from pathlib import Path
from bertdata.io.lock import lock
from bertdata.io.process import end_with_parent

def child(end):
    end_with_parent()
    os.write(ready, b".")
    while True:
        os.write(end, bytes(1 << 16))

ready_end, ready = os.pipe()
context = multiprocessing.get_context("fork")
with lock(Path(sys.argv[1]) / ".bertdata" / "lock"):
    pipes = [os.pipe() for _ in range(2)]
    children = [context.Process(target=child, args=(end,)) for _, end in pipes]
    for each in children:
        each.start()
    os.read(ready_end, 1), os.read(ready_end, 1)
    print(*(each.pid for each in children), flush=True)
    time.sleep(300)
"""


def started(directory: Path) -> tuple[subprocess.Popen[str], list[int]]:
    process = subprocess.Popen([sys.executable, "-c", FAMILY, str(directory)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        return process, [int(number) for number in process.stdout.readline().split()]


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{number}/status")
    return not (status.exists() and "\nState:\tZ" in status.read_text())


def test_children_end_with_a_killed_parent(tmp_path: Path) -> None:
    process, children = started(tmp_path)
    time.sleep(0.3)  # until their pipes are full
    assert len(children) == 2 and all(map(alive, children))
    process.kill()
    process.wait()
    limit = time.monotonic() + 20
    while any(map(alive, children)):
        assert time.monotonic() < limit, "children outlived their parent"
        time.sleep(0.05)


def test_no_child_holds_a_lock(tmp_path: Path) -> None:
    """Stopped, they are there for as long as one likes."""
    process, children = started(tmp_path)
    try:
        with pytest.raises(OutputLockedError, match=f"process {process.pid} "), lock(tmp_path / ".bertdata" / "lock"):
            pass
        for number in children:
            os.kill(number, signal.SIGSTOP)
        process.kill()
        process.wait()
        assert all(map(alive, children))
        with lock(tmp_path / ".bertdata" / "lock"):
            pass
    finally:
        for number in children:
            os.kill(number, signal.SIGKILL)


def test_a_child_keeps_its_parent_s_lock_when_it_ends(tmp_path: Path) -> None:
    with lock(tmp_path / ".bertdata" / "lock"):
        if not (child := os.fork()):
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(OutputLockedError), lock(tmp_path / ".bertdata" / "lock"):
            pass


def test_a_process_that_has_no_parent_of_ours_goes_on() -> None:
    before = signal.getsignal(signal.SIGINT)
    end_with_parent()
    assert signal.getsignal(signal.SIGINT) is before

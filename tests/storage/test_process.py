"""Children of a process hold none of its locks, and a process imports and frees only what it needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bertdata.errors import OutputLockedError
from bertdata.storage.lock import lock
from bertdata.storage.process import cores, obey_parent

FAMILY = """
import multiprocessing, os, sys, time
from pathlib import Path
from bertdata.storage.lock import lock

def child():
    os.write(ready, b".")  # the hooks of the fork have run
    time.sleep(300)

ready_end, ready = os.pipe()
context = multiprocessing.get_context("fork")
with lock(Path(sys.argv[1]) / ".bertdata" / "lock"):
    children = [context.Process(target=child) for _ in range(2)]
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
    obey_parent(0)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_a_fork_while_a_lock_is_opened_takes_no_lock_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fork comes between the opening of the file and its entry among the locks that a child closes."""
    opened, really = threading.Event(), os.open

    def slow(*arguments: Any, **options: Any) -> int:
        descriptor = really(*arguments, **options)
        opened.set()
        time.sleep(0.5)
        return descriptor

    ended = threading.Event()

    def hold() -> None:
        with lock(tmp_path / ".bertdata" / "lock"):
            ended.wait(30)

    monkeypatch.setattr(os, "open", slow)
    holder = threading.Thread(target=hold)
    holder.start()
    assert opened.wait(30)
    ready, end = os.pipe()
    if not (child := os.fork()):
        os.write(end, b".")
        while True:
            time.sleep(1)
    try:
        monkeypatch.undo()
        assert os.read(ready, 1)
        ended.set()
        holder.join()
        with lock(tmp_path / ".bertdata" / "lock"):  # free, although the child lives
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(end)


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(os, "confstr"), reason="malloc_trim is glibc's")
def test_freed_memory_is_returned() -> None:
    """Small blocks of 200 MB, freed below a block that stays: without malloc_trim(3), which Arrow calls, they are kept."""
    script = """
import sys
from bertdata.storage.process import import_arrow_without_pandas
import_arrow_without_pandas()
import pyarrow
def used(): return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0]) >> 10
import ctypes
libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p; libc.free.argtypes = [ctypes.c_void_p]
before = used()
blocks = [libc.malloc(60_000) for _ in range(3500)]
for block in blocks: ctypes.memset(block, 1, 60_000)
full = used()
for block in blocks[:-1]: libc.free(block)
kept = used()
pyarrow.default_memory_pool().release_unused()
print(before, full, kept, used())
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    before, full, kept, after = map(int, told.split())
    assert full > before + 180 and kept > before + 150, told
    assert after < before + 20, told


def test_pyarrow_is_imported_without_pandas() -> None:
    """pandas can be imported afterwards; where it was imported before it is the same again."""
    pytest.importorskip("pandas")
    code = """
import sys
from bertdata.storage.process import import_arrow_without_pandas
if sys.argv[1:]:
    import pandas
before = sys.modules.get("pandas")
import_arrow_without_pandas()
print("numpy" in sys.modules, sys.modules.get("pandas") is before, "pandas.core" in sys.modules)
import pandas
print(pandas.DataFrame({"a": [1]}).shape)
"""
    for given, loaded in (([], "False"), (["before"], "True")):
        done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, check=True)
        assert (done.stdout.split("\n")[:2], done.stderr) == ([f"True True {loaded}", "(1, 1)"], "")


def test_an_import_changes_nothing_in_the_process() -> None:
    code = """
import os, sys, pyarrow
known = lambda: (dict(os.environ), [*sys.meta_path], pyarrow.default_memory_pool().backend_name)
before, hooks = known(), []
os.register_at_fork = lambda **given: hooks.append(given) if "bertdata" in sys._getframe(1).f_globals["__name__"] else None
import bertdata.chains.make_pairs, bertdata.commands.make_pairs, bertdata.storage.signals, bertdata.tokens.vocab, bertdata.cli
print(known() == before, hooks)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"


@pytest.mark.skipif(not Path("/proc/self/task").exists() or cores() == 1, reason="threads are not listed, or there is one core")
@pytest.mark.parametrize("asked", ["", "2"])
def test_numpy_starts_no_threads_in_a_process_of_ours_unless_asked(asked: str) -> None:
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env |= {"OPENBLAS_NUM_THREADS": asked} if asked else {}

    def told(load: str) -> tuple[int, str]:
        code = f"import os\nfrom bertdata.storage.process import import_arrow_without_pandas\n{load}\n"
        code += "print(len(os.listdir('/proc/self/task')), os.environ.get('OPENBLAS_NUM_THREADS', ''))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        threads, _, variable = done.stdout.strip().partition(" ")
        return int(threads), variable

    ours, usual = told("import_arrow_without_pandas()"), told("import numpy, pyarrow\npyarrow.array([])")
    assert ours[0] < usual[0] if not asked else ours[0] == usual[0]
    assert ours[1] == usual[1] == asked, "the environment is as it was"

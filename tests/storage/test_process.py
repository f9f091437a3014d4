"""Processes: limits of a container, workers that end with their parent and are replaced once, and a cheap import of pyarrow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import is_alive

from bertdata.errors import BertDataError, UsageError
from bertdata.storage import cgroup, process
from bertdata.storage.workers import Pool

GROUP = "0::/pod/app\n"


def killed_once(path: str) -> str:
    """Kill this process the first time, as the system does when memory runs out."""
    marker = Path(f"{path}-killed")
    if path.endswith("killed") and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path


def always_killed(path: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fails(path: str) -> None:
    raise UsageError(f"{path} is wrong", field="path")


def waits(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.mark.slow
def test_a_killed_worker_is_replaced_once(tmp_path: Path) -> None:
    elements, said = [str(tmp_path / name) for name in ("a", "killed", "b", "c")], list[str]()
    with Pool(2, warn=said.append) as pool:
        assert sorted(pool.each(killed_once, elements)) == sorted(elements)
    assert len(said) == 1 and "replaced" in said[0]
    with (
        pytest.raises(BertDataError, match="a second worker process was killed.*same command"),
        Pool(2, warn=said.append) as pool,
    ):
        list(pool.each(always_killed, elements))


@pytest.mark.slow
def test_an_error_of_a_worker_is_raised_with_its_fields(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is wrong") as caught, Pool(2) as pool:
        list(pool.each(fails, ["a", "b"]))
    assert caught.value.field == "path" and "in a worker process" in str(caught.value.__cause__)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, number: int) -> None:
    code = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}\n"
        "from test_process import waits; from bertdata.storage import signals; from bertdata.storage.workers import Pool\n"
        f"with signals.signals(), Pool(2) as pool: list(pool.each(waits, {[str(tmp_path / 'a'), str(tmp_path / 'b')]!r}))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not all((path := tmp_path / name).exists() and path.read_text() for name in "ab"):
        assert time.monotonic() < deadline and parent.poll() is None
        time.sleep(0.02)
    parent.send_signal(number)
    parent.communicate(timeout=10)
    while any(is_alive(int((tmp_path / name).read_text())) for name in "ab"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_lowest_limit_of_the_control_groups_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "groups").write_text(GROUP)
    app = tmp_path / "mount" / "pod" / "app"
    app.mkdir(parents=True)
    monkeypatch.setattr(cgroup, "_GROUPS_FILE", tmp_path / "groups")
    monkeypatch.setattr(cgroup, "_MOUNT", tmp_path / "mount")
    assert cgroup.limits() == (None, None)
    (app / "cpu.max").write_text("max 100000\n")
    (app / "memory.max").write_text("4000000\n")
    (app.parent / "cpu.max").write_text("150000 100000\n")
    (app.parent / "memory.max").write_text("3000000\n")
    assert cgroup.limits() == (1.5, 3_000_000)
    monkeypatch.setattr(process, "usable_cpus", lambda: 64)
    assert process.cores() == 2 and process.worker_count(None, 10) == 2
    assert process.worker_count(None, 10, 1000) == 1 and process.worker_count(7, 1) == 7
    monkeypatch.setattr(cgroup, "_GROUPS_FILE", tmp_path / "none")  # not Linux
    assert cgroup.limits() == (None, None)


@pytest.mark.skipif(sys.platform != "linux", reason="malloc_trim is glibc's")
def test_freed_memory_is_returned() -> None:
    """Small blocks of 200 MB, freed below a block that stays: without malloc_trim(3), which Arrow calls, they are kept."""
    script = """
from bertdata.storage.process import import_arrow_without_pandas
import_arrow_without_pandas()
import ctypes, pyarrow
def used(): return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0]) >> 10
libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p; libc.free.argtypes = [ctypes.c_void_p]
before = used()
blocks = [libc.malloc(60_000) for _ in range(3500)]
for block in blocks: ctypes.memset(block, 1, 60_000)
for block in blocks[:-1]: libc.free(block)
kept = used()
pyarrow.default_memory_pool().release_unused()
print(before, kept, used())
"""
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    before, kept, after = map(int, printed.split())
    assert kept > before + 150 and after < before + 20, printed


def test_pyarrow_is_imported_without_pandas() -> None:
    pytest.importorskip("pandas")
    code = """
import os, sys
before = dict(os.environ)
from bertdata.storage.process import import_arrow_without_pandas
import_arrow_without_pandas()
print("pandas" in sys.modules, dict(os.environ) == before)
import pandas
print(pandas.DataFrame({"a": [1]}).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False True\n(1, 1)\n", "")

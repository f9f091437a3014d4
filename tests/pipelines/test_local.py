"""The local runner: workers take the next hand when they are done with one, and one that dies ends the run at once."""

from __future__ import annotations

import ast
import importlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.runners.portability.fn_api_runner import fn_runner, worker_handlers
from bertdata.pipelines.engines import beam_names, engine, local, processes, sockets, worker
from bertdata.pipelines.steps import Create, GroupByKey, Map, Step, Steps
from conftest import REPOSITORY

from bertdata.errors import BertDataError, EmptyResultError
from bertdata.io import process


class Work(Step):
    """Do `work` with each of so many numbers."""

    def __init__(self, count: int, work: Any) -> None:
        self._count, self._work = count, work

    def expand(self, begin: Steps) -> Steps:
        numbers = begin | "Create" >> Create([(number, number) for number in range(self._count)])
        return numbers | "Spread" >> GroupByKey() | "Work" >> Map(self._work)


def note(directory: Path, slow: dict[int, float]) -> Any:
    """Return work that leaves a file with the process that did it."""
    folder = str(directory)

    def work(group: tuple[int, Iterable[int]]) -> None:
        number = group[0]
        time.sleep(slow.get(number, 0))
        Path(folder, str(number)).write_text(str(os.getpid()))

    return work


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.slow
def test_a_worker_that_is_done_takes_the_next_hand(tmp_path: Path) -> None:
    """One number takes as long as all others together: its worker gets no other after it, and each is done once."""
    engine.run(Work(40, note(tmp_path, {0: 3})), tasks=40, workers=2)
    done = {int(path.name): int(path.read_text()) for path in tmp_path.iterdir()}
    assert sorted(done) == list(range(40))
    by_process = Counter(done.values())
    assert len(by_process) == 2 and os.getpid() not in by_process
    assert by_process[done[0]] <= 10, "the first hand is a quarter"


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.slow
@pytest.mark.parametrize(("count", "workers"), [(0, 2), (1, 2), (2, 3)])
def test_fewer_numbers_than_workers(tmp_path: Path, count: int, workers: int) -> None:
    engine.run(Work(count, note(tmp_path, {})), tasks=count, workers=workers)
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(number) for number in range(count)]


@pytest.mark.slow
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
    with pytest.raises(BertDataError, match="a worker process was killed, .*same command again, with fewer `workers`"):
        engine.run(Work(2, work), tasks=2, workers=2)
    assert time.monotonic() - began < 60
    busy = Path(f"/proc/{(tmp_path / 'busy').read_text()}")
    assert not busy.exists() or "\nState:\tZ" in (busy / "status").read_text(), "the other worker is gone as well"


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.slow
def test_an_error_of_a_step_ends_the_run_though_another_worker_goes_on() -> None:
    def work(group: tuple[int, Iterable[int]]) -> None:
        if group[0] == 0:
            time.sleep(300)
        raise EmptyResultError("nothing in number 1")

    began = time.monotonic()
    with pytest.raises(EmptyResultError, match="^nothing in number 1$"):
        engine.run(Work(2, work), tasks=2, workers=2)
    assert time.monotonic() - began < 60


@pytest.mark.slow
def test_a_worker_that_dies_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BertDataError, match="a worker process was killed"):
        engine.run(Work(2, print), tasks=2, workers=2)


@pytest.mark.slow
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


def test_no_worker_is_idle_and_none_costs_more_than_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "cores", lambda: 4)
    assert [processes.number(None, tasks, 1 << 30) for tasks in (0, 1, 3, 9)] == [1, 1, 3, 4]
    assert [processes.number(None, 9, size) for size in (0, (8 << 20) - 1, 8 << 20)] == [1, 1, 4]
    assert processes.number(7, 1, 0) == 7


class Buffer:
    """What Beam bundles over: elements, cut into so many parts."""

    def __init__(self, count: int) -> None:
        self.elements = [bytes([number]) for number in range(count)]

    def partition(self, count: int) -> list[list[bytes]]:
        return [self.elements[number::count] for number in range(count)]


def test_bundles_get_smaller_and_hold_everything_once() -> None:
    """By hand: of 16 parts for 2 workers a quarter, 4; of 12, 3; of 9, 2; of 7, 1 and so on."""
    bundles = local._bundles({"in": Buffer(16)}, 2)
    assert [len(bundle["in"]) for bundle in bundles] == [4, 3, 2, 1, 1, 1, 1, 1, 1, 1]
    assert sorted(element for bundle in bundles for element in bundle["in"]) == Buffer(16).elements
    assert local._bundles({"in": Buffer(0)}, 2) == [{"in": []}]
    bundles = local._bundles({"one": Buffer(3), "two": Buffer(1)}, 2)
    assert bundles == [{"one": [b"\0"], "two": [b"\0"]}, {"one": [b"\1"], "two": []}, {"one": [b"\2"], "two": []}]
    many = local._bundles({"in": Buffer(250)}, 3)
    assert len(many) < 40 and sum(len(bundle["in"]) for bundle in many) == 250


def done_by(directory: Path) -> set[str]:
    """The processes that did the work of `note`, one or more."""
    return {path.read_text() for path in directory.iterdir()}


def test_one_worker_is_in_this_process(tmp_path: Path) -> None:
    engine.run(Work(3, note(tmp_path, {})), tasks=3, workers=1)
    assert done_by(tmp_path) == {str(os.getpid())}


def test_beam_has_every_name_that_worker_processes_use() -> None:
    """The contract with Beam: what beam_names.py lists is there, and what the local runner uses is listed."""
    assert beam_names.missing() == []
    listed = {name.partition(":")[0] for name in beam_names.NAMES}
    attributes = {re.split(r"[.:]|\(\)\.", name.partition("(")[0].replace("().", "."))[-1] for name in beam_names.NAMES}
    attributes |= {name.partition("().")[2] for name in beam_names.NAMES}
    for path in (REPOSITORY / "pipelines" / "engines" / f"{name}.py" for name in ("local", "local_workers", "worker")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("apache_beam"):
                modules = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                assert modules & listed, f"{path.name}: {node.module}"
                assert all({alias.name, f"{node.module}.{alias.name}"} & (attributes | listed) for alias in node.names)
            private = isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
            if private and not (isinstance(node.value, ast.Name) and node.value.id == "os"):
                assert node.attr in attributes | own_names(path), f"{path.name}: {node.attr} is in no list of Beam's names"


def own_names(path: Path) -> set[str]:
    """The names that a file defines itself: its methods, and what its constructors and methods set."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            found |= {node.attr} if node.value.id == "self" else set()
    return found


@pytest.mark.parametrize(
    ("owner", "name", "says"),
    [
        (worker_handlers.ControlConnection, "push", "lacks ControlConnection.push"),
        (fn_runner, "WorkerHandlerManager", "lacks WorkerHandlerManager"),
        (fn_runner.BundleManager, "__init__", "lacks BundleManager"),
    ],
)
def test_without_a_name_of_beam_one_process_does_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, says: str
) -> None:
    said: list[str] = []
    if name == "__init__":  # another parameter than before
        monkeypatch.setattr(owner, name, lambda self, bundle_context_manager, credentials: None)
    else:
        monkeypatch.delattr(owner, name)
    monkeypatch.delitem(sys.modules, "bertdata.pipelines.engines.local")
    with pytest.raises(ImportError, match=says):
        importlib.import_module("bertdata.pipelines.engines.local")
    monkeypatch.undo()
    monkeypatch.setattr(beam_names, "NAMES", (*beam_names.NAMES, "apache_beam.pipeline:Pipeline.gone"))
    monkeypatch.delitem(sys.modules, "bertdata.pipelines.engines.local")
    engine.run(Work(3, note(tmp_path, {})), tasks=3, workers=2, warn=said.append)
    assert done_by(tmp_path) == {str(os.getpid())}
    assert "one process does the work of 2 workers" in said[0] and "lacks Pipeline.gone" in said[0]


def test_without_a_directory_for_the_socket_one_process_does_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(sockets, "_parents", lambda: iter(()))
    engine.run(Work(3, note(tmp_path, {})), tasks=3, workers=2, warn=said.append)
    assert done_by(tmp_path) == {str(os.getpid())}
    assert "one process does the work of 2 workers: no directory for a Unix socket: set TMPDIR" in said[0]


@pytest.mark.slow
def test_a_run_leaves_nothing_of_beam_and_python_replaced(tmp_path: Path) -> None:
    """Also one in which a worker died, and with it the connections that Beam's threads read from."""
    hook, manager = threading.excepthook, fn_runner.WorkerHandlerManager
    engine.run(Work(2, note(tmp_path, {})), tasks=2, workers=2)
    with pytest.raises(BertDataError, match="a worker process was killed"):
        engine.run(Work(2, lambda group: os.kill(os.getpid(), signal.SIGKILL)), tasks=2, workers=2)
    assert threading.excepthook is hook and fn_runner.WorkerHandlerManager is manager
    sampler = types.SimpleNamespace(__init__=types.FunctionType((lambda self, period=200: period).__code__, {}, argdefs=(200,)))
    with pytest.raises(KeyboardInterrupt), worker._sampling(sampler):
        assert sampler.__init__(None) == 10
        raise KeyboardInterrupt
    assert sampler.__init__(None) == 200


def test_only_tested_versions_of_beam_are_installed() -> None:
    """The newest is the minor version that constraints.txt has, and so that the tests run with."""
    wanted = re.findall(r'"apache-beam[^">=]*>=2\.\d+,<2\.(\d+)"', (REPOSITORY / "pyproject.toml").read_text())
    tested = re.findall(r"^apache-beam==2\.(\d+)\.", (REPOSITORY / "constraints.txt").read_text(), re.M)
    assert len(wanted) == 3 and {int(minor) - 1 for minor in wanted} == {int(tested[0])}


@pytest.mark.slow
def test_workers_look_for_modules_where_the_driver_does(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own random.py in the current directory is not Python's."""
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    command = [Path(sys.executable).with_name("bertdata"), "build-corpus", "--text", text, "--output", "out", "--workers", "2"]
    done = subprocess.run([*map(str, command), "--task-bytes", "65536"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

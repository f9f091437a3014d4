"""Training in processes: two of them are one, a signal saves, and a kill in the midst of a save loses nothing but time."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from conftest import COMMAND, REPOSITORY
from listeners import descendants, listeners, need_proc, watch
from processes import Started
from small import TOML, differ, pairs, started

from bertdata.config.train import read_training
from bertdata.reports.metrics import read_metrics
from bertdata.training.resume import checkpoints
from bertdata.training.trainer import train

pytestmark = pytest.mark.long

torch.set_num_threads(1)
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write run.toml, and the pairs that it names."""
    data = pairs(tmp_path / "pairs")

    def call(steps: int, dropout: float = 0.1, more: str = "") -> Path:
        path = tmp_path / "run.toml"
        path.write_text(more + TOML.format(shards=data, steps=steps, dropout=dropout, batch_size=8))
        return path

    return call


def ended(processes: list[Started], code: int) -> list[tuple[str, str]]:
    """Wait for processes; fail unless they end with `code`."""
    for process in processes:
        process.wait(120)
    said = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [code] * len(processes), said
    return [(out.decode(), err.decode()) for out, err in said]


def wait_for(path: Path, process: Started) -> None:
    until = time.monotonic() + 100
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.slow
def test_two_processes_are_one(write: Write, tmp_path: Path) -> None:
    """The global batch's masked words are shared unevenly: a mean over the ranks' means would not do."""
    run = write(20, dropout=0.0)
    one = train(read_training(run), tmp_path / "one")
    said = ended(started(str(run), "--output", str(tmp_path / "two"), ranks=2), 0)
    assert 0 < differ(one.checkpoint, tmp_path / "two" / "checkpoint-20") < 1e-6
    assert "from_pretrained" in said[0][0]
    assert said[1] == ("", "")  # the first alone speaks and writes
    both = [read_metrics(tmp_path / name / "metrics.jsonl") for name in ("one", "two")]
    assert [(r["kind"], r["step"]) for r in both[0]] == [(r["kind"], r["step"]) for r in both[1]]
    for mine, theirs in zip(*both, strict=True):
        for name in ("mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy", "padding_share"):
            assert mine[name] == pytest.approx(theirs[name], abs=1e-5)
        if mine["kind"] == "train":
            assert mine["gradient_norm"] == pytest.approx(theirs["gradient_norm"], rel=1e-4)


@pytest.mark.slow
def test_a_signal_to_one_process_stops_all_at_one_step(write: Write, tmp_path: Path) -> None:
    run = write(100_000)
    processes = started(str(run), "--output", str(tmp_path / "two"), ranks=2)
    wait_for(tmp_path / "two" / "checkpoint-5", processes[0])
    processes[1].send_signal(signal.SIGTERM)
    said = ended(processes, 143)
    last = checkpoints(tmp_path / "two")[-1].name.rpartition("-")[2]
    assert f"stopped after step {int(last):,}: " in said[0][1]
    assert said[1] == ("", "")


@pytest.mark.parametrize(("number", "code"), [pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow), (signal.SIGINT, 130)])
@pytest.mark.slow
def test_a_signal_saves(write: Write, tmp_path: Path, number: int, code: int) -> None:
    """A second signal, as torchrun sends one after that of the terminal, does not end the save."""
    (process,) = started(str(write(100_000)), "--output", str(tmp_path / "run"))
    wait_for(tmp_path / "run" / "checkpoint-5", process)
    process.send_signal(number)
    process.send_signal(number)
    ((_, said),) = ended([process], code)
    last = checkpoints(tmp_path / "run")[-1]
    assert f"stopped after step {int(last.name.rpartition('-')[2]):,}: continue with the same command" in said
    assert (last / "state.json").exists()


def started_with_readers(run: Path, workers: int, output: Path) -> tuple[Started, list[int]]:
    """Start a run whose rows are read by other processes; return it, once it has a checkpoint, and their ids."""
    run.write_text(run.read_text().replace("workers = 0", f"workers = {workers}"))
    (process,) = started(str(run), "--output", str(output))
    wait_for(output / "checkpoint-5", process)
    readers = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not readers.exists():
        process.kill()
        pytest.skip("the system does not tell of a process's children")
    return process, [int(number) for number in readers.read_text().split()]


@pytest.mark.slow
def test_a_signal_to_a_reader_is_for_its_own_process(write: Write, tmp_path: Path) -> None:
    """torchrun and Slurm send SIGTERM to all processes, those that read for the DataLoader too: the save is not lost."""
    process, children = started_with_readers(write(100_000), 2, tmp_path / "run")
    assert len(children) == 2
    for number in (*children, process.pid):
        os.kill(number, signal.SIGTERM)
    ((_, said),) = ended([process], 143)
    assert f"stopped after step {int(checkpoints(tmp_path / 'run')[-1].name.rpartition('-')[2]):,}" in said
    assert not any(Path(f"/proc/{number}").exists() for number in children)


@pytest.mark.slow
def test_a_reader_that_is_killed_is_named(write: Write, tmp_path: Path) -> None:
    process, (reader,) = started_with_readers(write(100_000), 1, tmp_path / "run")
    os.kill(reader, signal.SIGKILL)
    ((_, said),) = ended([process], 1)
    assert "DataLoader worker (pid" in said


@pytest.mark.slow
def test_a_killed_run_is_resumed_at_once(write: Write, tmp_path: Path) -> None:
    """Its readers, which are forked, hold no lock on, and end by themselves."""
    process, readers = started_with_readers(write(100_000), 2, tmp_path / "run")
    process.kill()
    process.communicate()
    (again,) = started(str(tmp_path / "run.toml"), "--output", str(tmp_path / "run"))
    wait_for(tmp_path / "run" / f"checkpoint-{int(checkpoints(tmp_path / 'run')[-1].name[11:]) + 5}", again)
    again.send_signal(signal.SIGINT)
    ended([again], 130)
    until = time.monotonic() + 20  # torch's readers look every 5 seconds whether the process that started them is there
    while any(Path(f"/proc/{number}").exists() for number in readers):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
def test_a_full_disk(write: Write, tmp_path: Path) -> None:
    """Here a limit on the size of a file: an error of the disk and not of bertdata, and no half of a checkpoint is left."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))\n"
    code = limit + "import sys\nfrom bertdata.__main__ import main\nsys.argv.insert(1, 'train')\nmain()"
    ((_, said),) = ended(started(str(write(14)), "--output", str(tmp_path / "run"), code=code), 4)
    assert "file size limit is reached" in said
    assert {path.name for path in (tmp_path / "run").iterdir()} == {".bertdata", "metrics.jsonl"}


KILLED = """
import os, pathlib, signal, sys
from bertdata.__main__ import main
real, calls = pathlib.Path.write_bytes, []
def write_bytes(path, values):
    calls.append(path)
    if len(calls) == {call}:
        real(path, values[: len(values) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    real(path, values)
pathlib.Path.write_bytes = write_bytes
sys.argv.insert(1, "train")
main()
"""


@pytest.mark.parametrize("call", [pytest.param(1, marks=pytest.mark.slow), 7])
@pytest.mark.slow
def test_a_kill_in_the_midst_of_a_save(write: Write, tmp_path: Path, call: int) -> None:
    """Call 1 writes the model of the first checkpoint, call 7 the optimizer of the second."""
    run = write(14)
    ended(started(str(run), "--output", str(tmp_path / "killed"), code=KILLED.format(call=call)), -signal.SIGKILL)
    assert [path.name for path in checkpoints(tmp_path / "killed")] == ([] if call == 1 else ["checkpoint-5"])
    assert list((tmp_path / "killed").glob(".tmp-*"))
    whole = train(read_training(run), tmp_path / "whole")
    assert differ(whole.checkpoint, train(read_training(run), tmp_path / "killed").checkpoint) == 0
    assert not list((tmp_path / "killed").glob(".tmp-*"))


@pytest.mark.slow
def test_command(write: Write, tmp_path: Path) -> None:
    def run(*options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [*COMMAND, "train", str(path), *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done.stderr
        return done

    path = write(10, more=f'output = "{tmp_path}/run"\n')
    plan = run("--dry-run").stdout
    assert "BertForPreTraining, new weights, 23,231 parameters" in plan
    assert "steps 0 to 10" in plan
    assert "12 batches" in plan
    assert not (tmp_path / "run").exists()
    ((out, err),) = ended(started(str(path)), 0)
    assert "MLM loss" in err
    assert f'from_pretrained("{tmp_path}/run/checkpoint-10")' in out
    again = run()
    assert f"{tmp_path}/run is complete already: nothing to do" in again.stdout
    assert "MLM loss" not in again.stderr
    assert "has 10 steps, which are kept" in run("--dry-run").stdout
    path.write_text(path.read_text().replace("steps = 10", "steps = 12"))
    assert f'from_pretrained("{tmp_path}/run/checkpoint-12")' in run().stdout  # a finished run takes more steps
    path.write_text(path.read_text().replace("steps = 12", "steps = 11"))
    assert "(phases.0.steps: 12 then, 11 now): use the old ones" in run(code=5).stderr
    path.write_text("batches = 3\n" + path.read_text())
    assert "unknown key batches" in run(code=2).stderr


@pytest.mark.slow
def test_strangers_reach_neither_the_store_nor_the_processes_nor_the_readers(write: Write, tmp_path: Path) -> None:
    """Two processes with a reader each, on one machine: all that listens does so on loopback, where it is no Unix socket."""
    need_proc()
    run = write(40)
    run.write_text(run.read_text().replace("workers = 0", "workers = 1"))
    processes = started(str(run), "--output", str(tmp_path / "two"), ranks=2)
    with ThreadPoolExecutor(2) as pool:
        seen = set().union(*pool.map(watch, processes))
    ended(processes, 0)
    inet = [found for found in seen if found.family != "unix"]
    assert len(inet) >= 3, f"the store, and a port of gloo in each process: {seen}"
    assert {found.address for found in inet} == {"127.0.0.1"}


@pytest.mark.slow
def test_torchrun_in_a_network_of_its_own(write: Write, tmp_path: Path) -> None:
    """As docs/how-to/stores.md says: nothing of it listens in this machine's network, and its files are this user's."""
    need_proc()
    if subprocess.run(["unshare", "--map-root-user", "--net", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system admits no user namespaces")
    write(10)
    text = (REPOSITORY / "docs" / "how-to" / "stores.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^unshare .*\n.*torchrun.*$", text, re.M)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = ["sh", "-ec", script.replace("--nproc-per-node 8", "--nproc-per-node 2")]
    networks = set()
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            first: dict[int, int] = {}  # of each network, the process from which its others descend
            for each in descendants(process.pid):
                with contextlib.suppress(OSError):
                    first.setdefault(os.stat(f"/proc/{each}/ns/net").st_ino, each)
            for network, each in first.items():
                if any(found.family != "unix" for found in listeners(each)):
                    networks.add(network)
            time.sleep(0.05)
        assert process.returncode == 0, process.stderr and process.stderr.read()
    assert len(networks) == 1 and os.stat("/proc/self/ns/net").st_ino not in networks
    assert (tmp_path / "run" / "checkpoint-10").stat().st_uid == os.geteuid()

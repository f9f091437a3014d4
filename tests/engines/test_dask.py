"""A Dask cluster of two worker processes writes the bytes of one process, also if a worker is killed, and raises our errors."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import COMMAND, SAMPLE, SECONDS, Build, digests, leftovers, records

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'apache-beam[dask]'")
pytestmark = [pytest.mark.long, pytest.mark.slow]

UMASKS = (0o022, 0o026)  # of the two workers: the mode of a file tells which of them has written it
MODES = {0o644, 0o640}
CHOICE = ("--dedup", "near", "--dedup-paragraphs", "--sample-documents", "440")
COMMANDS = {  # with relative names, while the workers have other current directories
    "corpus": (
        "build-corpus",
        "--wikipedia",
        "dumps",
        "--books",
        "dumps",
        "--text",
        "text.jsonl",
        "--task-bytes",
        "65536",
        *CHOICE,
    ),
    "vocab": ("train-vocab", "one/corpus", "--size", "900"),
    "pairs": ("make-pairs", "one/corpus", "--vocab", "one/vocab", "--shards", "6", "--max-seq-length", "64"),
}


class Cluster(NamedTuple):
    """A scheduler, its address and two workers of one thread."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


def wait_for(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    """Wait for something that a process does."""
    limit = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None, "it ended early"
        assert time.monotonic() < limit
        time.sleep(0.01)


def start(directory: Path, *command: object, umask: int = 0o022) -> subprocess.Popen[bytes]:
    """Start a process in a directory of its own, with a log there."""
    directory.mkdir(parents=True)
    environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}  # a dead worker is asked for so long
    with (directory / "log").open("wb") as log:
        words = [*map(str, command)]
        return subprocess.Popen(
            words, cwd=directory, stdout=log, stderr=log, umask=umask, env=environment, start_new_session=True
        )


@contextlib.contextmanager
def dask_cluster(root: Path, unseen: Path | None = None) -> Iterator[Cluster]:
    """Run a cluster on loopback. Its workers see an empty directory in place of `unseen`."""
    hide = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', unseen) if unseen else ()
    known, options = root / "scheduler.json", ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
    module, processes = (sys.executable, "-m"), list[subprocess.Popen[bytes]]()
    options = (*options, "--scheduler-file", known)
    try:
        processes.append(start(root / "scheduler", *module, "distributed.cli.dask_scheduler", "--port", 0, *options))
        wait_for(known.exists, processes[0])
        for number, umask in enumerate(UMASKS):
            command = (*hide, *module, "distributed.cli.dask_worker", "--no-nanny", "--nthreads", 1, *options)
            processes.append(start(root / f"worker-{number}", *command, umask=umask))
        for number, worker in enumerate(processes[1:]):
            log = root / f"worker-{number}" / "log"
            wait_for(lambda log=log: "Registered to:" in log.read_text(), worker)  # type: ignore[misc]
        yield Cluster(json.loads(known.read_text())["address"], processes[0], processes[1:])
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with dask_cluster(tmp_path_factory.mktemp("dask")) as made:
        yield made


@pytest.fixture(scope="module")
def job(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the inputs, and in `one` what the commands write in one process."""
    root = tmp_path_factory.mktemp("job")
    (root / "dumps").mkdir()
    for path in (*SAMPLE.glob("*.bz2"), *(SAMPLE / "books").glob("*.txt"), text):
        ((root if path == text else root / "dumps") / path.name).write_bytes(path.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for name, (command, *options) in COMMANDS.items():
            build(command, Path("one", name), *options)
    return root


@contextlib.contextmanager
def started(job: Path, name: str, output: str, address: str, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command on a cluster. Its messages go to a file."""
    beam = ("--runner", "DaskRunner", "--dask_client_address", address, *more)
    with (job / f"{output.replace('/', '-')}.log").open("wb") as log:
        words = [*COMMAND, *COMMANDS[name], "--output", output, "--", *beam]
        process = subprocess.Popen(words, cwd=job, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def finish(job: Path, process: subprocess.Popen[bytes], output: str, code: int = 0) -> str:
    """Wait for a command; return its last message."""
    found, said = process.wait(SECONDS), (job / f"{output.replace('/', '-')}.log").read_text()
    assert found == code and "Traceback" not in said, said
    return said.rstrip().rpartition("\n")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_both_workers_write_the_same_bytes(job: Path, cluster: Cluster, name: str) -> None:
    """No option of Dask says how to spread the tasks."""
    seen: set[int] = set()

    def both() -> bool:
        root = next(job.glob(f"there/{name}/.bertdata/build-*"), job / "there" / name)
        with contextlib.suppress(FileNotFoundError):  # moved or removed since
            seen.update(path.stat().st_mode & 0o777 for path in (*root.glob("data/*"), *root.glob(".bertdata/work/words-*")))
        return seen == MODES

    with started(job, name, f"there/{name}", cluster.address) as process:
        wait_for(both, process)
        finish(job, process, f"there/{name}")
    assert digests(job / "there" / name) == digests(job / "one" / name)
    assert leftovers(job / "there" / name) == []


def test_a_killed_worker_costs_only_its_tasks(job: Path, tmp_path: Path) -> None:
    with dask_cluster(tmp_path) as cluster, started(job, "corpus", "killed", cluster.address) as process:
        wait_for(lambda: len(records(job / "killed", "extract")) >= 2, process)
        cluster.workers[0].kill()
        finish(job, process, "killed")
    assert digests(job / "killed") == digests(job / "one" / "corpus")


@pytest.mark.nightly
def test_a_lost_scheduler_is_named_and_the_run_continues_elsewhere(
    job: Path, tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dask_cluster(tmp_path) as cluster, started(job, "corpus", "lost", cluster.address) as process:
        wait_for(lambda: len(records(job / "lost", "extract")) >= 2, process)
        os.kill(cluster.scheduler.pid, signal.SIGKILL)
        assert "DaskRunner ended before the run was complete" in finish(job, process, "lost", code=4)
    with started(job, "corpus", "away", "tcp://127.0.0.1:1", "--dask_connection_timeout=1") as process:
        assert "the run failed on DaskRunner" in finish(job, process, "away", code=4)
    monkeypatch.chdir(job)
    kept = len(records(job / "lost", "extract"))
    assert kept >= 2
    command, *options = COMMANDS["corpus"]
    build(command, Path("lost"), *options)
    assert digests(job / "lost") == digests(job / "one" / "corpus")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("hidden", "message"), [("apart", "not found. All workers must see the input"), ("dumps", "cannot read .*dumps")]
)
def test_a_worker_that_does_not_see_a_directory_says_so(job: Path, tmp_path: Path, hidden: str, message: str) -> None:
    (job / "apart").mkdir(exist_ok=True)
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let a test mount")
    with dask_cluster(tmp_path, job / hidden) as cluster, started(job, "corpus", "apart/out", cluster.address) as process:
        assert re.search(message, finish(job, process, "apart/out", code=4))

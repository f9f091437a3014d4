"""A Dask cluster makes the same bytes as one process: with workers elsewhere, with one killed, resumed; and tells our errors."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import DASK, SECONDS, UMASKS, Cluster, can_hide, dask_cluster, wait_until, written_by
from conftest import COMMAND, Build, build_of, digests, read_rows, records
from jobs_of_engines import COMMANDS, STEPS, Job, prepare
from template_dump import write_dump

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'apache-beam[dask]'")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def job(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return prepare(tmp_path_factory.mktemp("dask-job"), build, text)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with dask_cluster(tmp_path_factory.mktemp("dask")) as made:
        yield made


def wait_for_tasks(driver: subprocess.Popen[str], output: Path, step: str, count: int) -> None:
    wait_until(lambda: len(records(output, step)) >= count, driver)


@pytest.mark.parametrize("name", COMMANDS)
def test_same_bytes(job: Job, cluster: Cluster, name: str) -> None:
    """Inputs and outputs have relative names here, and the workers other directories."""
    job.run_by_both(name, f"dask/{name}", cluster)


def test_workers_use_learned_templates(job: Job, cluster: Cluster) -> None:
    dump = write_dump(job.root, "de", articles=800)
    words = [*COMMAND, "build-corpus", "--wikipedia", dump.name, "--task-bytes", "65536", "--output"]
    for output, before, options in (("learned/one", [], []), ("learned/dask", cluster.driver.before, cluster.options)):
        command = [*before, *words, output, "--", *options] if options else [*words, output]
        subprocess.run(command, cwd=job.root, capture_output=True, timeout=SECONDS, check=True)
    assert digests(job.root / "learned/dask") == digests(job.root / "learned/one")
    assert all("3.755.251" in row["sentences"][0] for row in read_rows(job.root / "learned/dask"))


@pytest.mark.parametrize("name", STEPS)
def test_a_killed_worker_costs_only_time(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The scheduler is started as docs/how-to/engines.md says: its queue may lose sight of tasks when a worker dies."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION", "inf")
    output = job.root / f"killed/{name}"
    more = ["--log-json"] if name == "vocab" else []
    with dask_cluster(tmp_path) as cluster, job.start(name, str(output), cluster, *more) as driver:
        wait_until(lambda: written_by(records(output, STEPS[name])), driver)
        first = written_by(records(output, STEPS[name])).pop()
        victim, other = cluster.workers if first == 0o666 & ~UMASKS[0] else cluster.workers[::-1]
        victim.send_signal(signal.SIGSTOP)  # what it holds now is missing: the run can't end
        time.sleep(0.5)
        assert driver.poll() is None and not (output / "manifest.json").exists(), "stopped too late to prove anything"
        victim.kill()
        _, said = driver.communicate(timeout=SECONDS)
        assert driver.returncode == 0, said
        assert other.poll() is None
    assert len(re.findall(r"worker tcp://127\.0\.0\.1:\d+ was lost; its tasks are done again", said)) == 1, said
    if more:
        events = [json.loads(line) for line in said.splitlines()]
        assert [event["event"] for event in events if "was lost" in event.get("text", "")] == ["message"]
        steps = [event["step"] for event in events if event["event"] == "progress"]
        assert list(dict.fromkeys(steps)) == ["Count words", "Train vocabulary"], steps
    job.same(name, f"killed/{name}")


def finished_shards(output: Path) -> dict[str, int]:
    """Return the inode of each shard whose task has a record. Tasks without documents have no shard."""
    numbers = [int(path.stem) for path in records(output, "extract")]
    return {path.name: path.stat().st_ino for n in numbers for path in (build_of(output) / "data").glob(f"train-{n:05d}-*")}


def test_a_killed_run_is_resumed(job: Job, cluster: Cluster) -> None:
    """What finished tasks have written stays the very file that it was."""
    output = job.root / "resumed"
    with job.start("corpus", "resumed", cluster) as driver:
        wait_until(lambda: len(finished_shards(output)) >= 3, driver)
    assert not (output / "manifest.json").exists(), "killed too late to prove anything"
    kept = finished_shards(output)
    job.run("corpus", "resumed", cluster)
    job.same("corpus", "resumed")
    assert {name: (output / "data" / name).stat().st_ino for name in kept} == kept


def test_a_run_whose_workers_are_all_dead_ends_where_dask_is_told_so(job: Job, tmp_path: Path) -> None:
    output = job.root / "alone"
    with dask_cluster(tmp_path) as cluster, job.start("corpus", str(output), cluster) as driver:
        wait_for_tasks(driver, output, "extract", 2)
        for worker in cluster.workers:
            worker.kill()
        _, said = driver.communicate(timeout=SECONDS)
    assert driver.returncode == 4, said
    error = said.splitlines()[-1]
    assert f"DaskRunner at {cluster.address} was lost: " in error and "without any running workers" in error
    assert re.search(rf"So far \d+ of \d+ tasks of Extract are kept in {output}", error) and "same command" in error


def test_a_killed_scheduler_is_reported(job: Job, tmp_path: Path) -> None:
    """Beam's wait for the end returns without an error then."""
    output = job.root / "no-scheduler"
    with dask_cluster(tmp_path) as cluster, job.start("corpus", str(output), cluster, "--log-json") as driver:
        wait_for_tasks(driver, output, "extract", 2)
        cluster.servers[0].kill()
        _, said = driver.communicate(timeout=SECONDS)
    assert driver.returncode == 4, said
    events = [json.loads(line) for line in said.splitlines()]
    assert all(event["share"] < 1 for event in events if event["event"] == "progress"), "it does not end as a finished run does"
    assert f"DaskRunner at {cluster.address} was lost: " in events[-1]["text"]
    assert re.search(rf"So far \d+ of \d+ tasks of Extract are kept in {output}", events[-1]["text"])
    job.run("corpus", "no-scheduler", Cluster(["--runner=FnApiRunner"], [], []))
    job.same("corpus", "no-scheduler")


def test_the_bar_goes_on_and_verbose_shows_the_log(job: Job, cluster: Cluster) -> None:
    """The bar is drawn from the records that workers write, so it moves on every engine."""
    words = job.words("corpus", "shown", cluster, "--verbose")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(job.root)
        os.execvp(words[0], words)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown.decode()
    plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown)
    drawn = set(re.findall(rb"Extract[^%]*?(\d+\.\d)%", plain))
    assert b"Extract" in plain and len(drawn) >= 2, f"the bar must move: {drawn}"
    assert b"INFO:" in shown
    job.same("corpus", "shown")


def test_a_damaged_input_is_told(job: Job, cluster: Cluster) -> None:
    job.refuses_damage(cluster)


def test_a_worker_that_cannot_write_is_told(job: Job, tmp_path: Path) -> None:
    """Both workers reach the size that a file may have; the run ends with what to do, and can be resumed when that is done."""
    with dask_cluster(tmp_path) as cluster:
        limits = [resource.prlimit(worker.pid, resource.RLIMIT_FSIZE) for worker in cluster.workers]
        for worker, (_, hard) in zip(cluster.workers, limits, strict=True):
            resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (8000, hard))
        assert "ulimit -f" in job.run("corpus", "large", cluster, code=4)
        for worker, limit in zip(cluster.workers, limits, strict=True):
            resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, limit)
        job.run("corpus", "large", cluster)
    job.same("corpus", "large")


@pytest.mark.parametrize("name", ["corpus", "vocab", "pairs"])
def test_a_worker_that_does_not_see_the_output_is_told(job: Job, tmp_path: Path, name: str) -> None:
    apart = job.root / "apart"
    apart.mkdir(exist_ok=True)
    if not can_hide(apart):
        pytest.skip("this system does not let a test mount")
    with dask_cluster(tmp_path, unseen=apart) as cluster:
        said = job.run(name, f"apart/{name}", cluster, code=4)
    assert f"worker on {os.uname().nodename}: " in said and ": not found. All workers must see the input and --output" in said


def test_an_input_that_a_worker_does_not_see_names_its_host(job: Job, tmp_path: Path) -> None:
    if not can_hide(job.root / "dumps"):
        pytest.skip("this system does not let a test mount")
    with dask_cluster(tmp_path, unseen=job.root / "dumps") as cluster:
        error = job.run("corpus", "unseen", cluster, code=4).splitlines()[-1]
    assert f"worker on {os.uname().nodename}: cannot read {job.root / 'dumps'}" in error
    assert "All workers must see the input and --output under the same names" in error


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ([f"--runner={DASK}", "--dask_client_address=tcp://127.0.0.1:1", "--dask_connection_timeout=2"], 4, "cannot be reached"),
        (["--runner=DaskRunner", "--dask_client_address=nowhere"], 2, "options after --: missing port number"),
        ([f"--runner={DASK}", "--dask_npartitions=many"], 2, "--dask_npartitions: invalid int value: 'many'"),
        ([f"--runner={DASK}", "--dask_partitions_size=1"], 2, "--dask_partitions_size: Beam knows no such option"),
    ],
)
def test_wrong_options_are_told(job: Job, options: list[str], code: int, says: str) -> None:
    said = job.run("corpus", f"wrong-{says[-5:]}", Cluster(options, [], []), code=code)
    assert says in said and len(said.splitlines()) < 10
    assert not (job.root / f"wrong-{says[-5:]}").exists(), "it is refused before anything is written"


def test_workers_and_a_runner_are_refused_together(job: Job, cluster: Cluster) -> None:
    assert "--workers is for a local run" in job.run("corpus", "both", cluster, "--workers", "2", code=2)
    assert not (job.root / "both").exists()

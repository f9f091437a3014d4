"""Beam's portability API, a job service and two pools of workers on hosts of their own, makes the same bytes as one process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from clusters import (
    SECONDS,
    Cluster,
    Host,
    can_hide,
    can_make_hosts,
    go_on,
    hosts,
    portable_cluster,
    standing_still,
    wait_until,
)
from conftest import Build
from jobs_of_engines import COMMANDS, Job, prepare

pytestmark = pytest.mark.nightly
_POOL = ("--environment_type=EXTERNAL", "--environment_config=127.0.0.1:1")


@pytest.fixture(scope="module")
def job(build: Build, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return prepare(tmp_path_factory.mktemp("portable-job"), build, text)


@pytest.fixture(scope="module")
def machines() -> Iterator[list[Host]]:
    """A host for the driver and the job service, and two for the workers: in network namespaces where the user is root."""
    if not can_make_hosts():
        yield [Host()] * 3
        return
    with hosts(3) as made:
        yield made


@pytest.fixture(scope="module")
def cluster(machines: list[Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with portable_cluster(tmp_path_factory.mktemp("portable"), machines) as made:
        yield made


@pytest.mark.parametrize("name", COMMANDS)
def test_same_bytes(job: Job, cluster: Cluster, name: str) -> None:
    job.run_by_both(name, f"portable/{name}", cluster)


def test_a_job_may_take_longer_than_its_service_to_answer(job: Job, cluster: Cluster) -> None:
    """``--job_server_timeout`` is no limit of the job."""
    seconds = 2
    short = replace(cluster, options=[*cluster.options, f"--job_server_timeout={seconds}"])
    with standing_still(cluster), job.start("vocab", "late", short) as driver:
        held = job.root / "late" / ".bertdata" / "job.json"
        wait_until(lambda: held.exists() and json.loads(held.read_text())["id"], driver)
        with pytest.raises(subprocess.TimeoutExpired):
            driver.wait(3 * seconds)
        go_on(cluster)
        _, said = driver.communicate(timeout=SECONDS)
    assert driver.returncode == 0, said
    job.same("vocab", "late")


def test_a_damaged_input_is_told(job: Job, cluster: Cluster) -> None:
    job.refuses_damage(cluster)


@pytest.mark.parametrize("name", ["corpus", "vocab", "pairs"])
def test_a_worker_that_does_not_see_the_output_is_told(job: Job, machines: list[Host], tmp_path: Path, name: str) -> None:
    apart = job.root / "apart"
    apart.mkdir(exist_ok=True)
    if not can_hide(apart):
        pytest.skip("this system does not let a test mount")
    with portable_cluster(tmp_path, machines, unseen=apart) as cluster:
        said = job.run(name, f"apart/{name}", cluster, code=4)
    assert "worker on " in said and ": not found. All workers must see the input and --output" in said


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--job_endpoint=127.0.0.1:1", "--job_server_timeout=2", *_POOL], 4, "cannot be reached"),
        (
            ["--job_endpoint=127.0.0.1:1", "--job_server_timeout=2", "--environment_type=LOOPBACK"],
            4,
            "at 127.0.0.1:1 cannot be reached",
        ),
        (list(_POOL), 2, "--job_endpoint=host:8099"),
        (["--job_endpoint=127.0.0.1:1", "--environment_type=CAVE"], 2, "options after --: Unknown environment type: CAVE"),
    ],
)
def test_wrong_options_are_told(job: Job, options: list[str], code: int, says: str) -> None:
    output = f"wrong-{says[-5:]}"
    said = job.run("corpus", output, Cluster(["--runner=PortableRunner", *options], [], []), code=code)
    assert says in said and len(said.splitlines()) < 10
    assert not (job.root / output).exists()

"""The services of compose.yaml as processes on networks of their own, with the commands of its first lines.

The store is Moto as it is installed here: its own image is not tried.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from clusters import SECONDS, Host, can_make_hosts, end, networks, wait_for
from conftest import REPOSITORY, Build, digests

yaml = pytest.importorskip("yaml")
pytest.importorskip("distributed", reason="Dask is not installed: pip install 'apache-beam[dask]'")
pytestmark = pytest.mark.nightly

COMPOSE = (REPOSITORY / "compose.yaml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
HEADER = re.sub(r"\\\n# *", "", COMPOSE.partition("x-bertdata")[0])  # the commands that a user gives
STORE = ["moto_server", "-H", "0.0.0.0"]  # what its image runs
Program = Callable[[list[str], Mapping[str, str]], list[str]]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Turn the words of a service into those of a process with the service's variables."""
    own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    return lambda words, given: ["env", *(f"{name}={value}" for name, value in {**given, **own}.items()), *words]


def data(directory: Path) -> dict[str, str]:
    """Return the digests of shards: other files name the inputs."""
    return {name: digest for name, digest in digests(directory).items() if name.startswith("data/")}


def hosts_of(name: str) -> list[str]:
    """Return the names of a service's hosts: one for each replica."""
    count = SERVICES[name].get("deploy", {}).get("replicas", 1)
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


def words_of(name: str) -> list[str]:
    """Return the words of a service."""
    service = SERVICES[name]
    return STORE if name == "store" else [*service.get("entrypoint", ["bertdata"]), *service.get("command", [])]


@contextlib.contextmanager
def up(root: Path, program: Program) -> Iterator[dict[str, Host]]:
    """Start the services in order, each where its networks are; `user` is a host on the network outside, as this machine is."""
    members = {host: service["networks"] for name, service in SERVICES.items() for host in hosts_of(name)}
    with contextlib.ExitStack() as stack:
        machines = stack.enter_context(networks(root, {**members, "user": ["outside"]}))
        started: dict[str, subprocess.Popen[bytes]] = {}
        for name, service in SERVICES.items():
            for needed in service.get("depends_on", []):
                done = isinstance(service["depends_on"], dict) and "successfully" in service["depends_on"][needed]["condition"]
                assert not done or started[needed].wait(SECONDS) == 0, (root / needed / "log").read_text()
            for host in hosts_of(name) if "profiles" not in service else []:
                words = words_of(name)
                words = words if name == "store" else program(words, service["environment"])
                started[name] = machines[host].start(root / host, *words)
                stack.callback(end, started[name])
        for host in hosts_of("worker"):
            wait_for(root / host / "log", "Registered to:", started["worker"])
        yield machines


def connects(host: Host, name: str, port: int) -> bool:
    """Return True if a host reaches a port."""
    tried = f"import socket; socket.create_connection(({name!r}, {port}), 5)"
    return subprocess.run([*host.before, "python3", "-c", tried], capture_output=True, check=False).returncode == 0


def test_the_services_build_a_corpus(program: Program, build: Build, text: Path, tmp_path: Path) -> None:
    """With the commands of the file's header; the scheduler is out of reach from the network outside, under any name."""
    if not can_make_hosts():
        pytest.skip("needs root, to make network namespaces")
    tmp_path.chmod(0o755)
    (put,) = re.findall(r"^# +(curl .*)", HEADER, re.M)
    (given,) = re.findall(r"^# +docker compose run --rm bertdata (.*)", HEADER, re.M)
    tasks = ["--task-bytes", "65536"]  # some for each worker
    shutil.copy(text, tmp_path / "in.jsonl")
    with up(tmp_path, program) as machines:
        user, scheduler, driver = machines["user"], machines["scheduler"], machines["bertdata"]
        put = [*shlex.split(put.replace("127.0.0.1", "store")), "--fail", "--silent"]
        assert subprocess.run([*user.before, *put], cwd=tmp_path, check=False).returncode == 0
        assert connects(machines["worker-1"], "scheduler", 8786) and connects(user, "store", 5000)
        assert not connects(user, "scheduler", 8786) and not connects(user, scheduler.address, 8786)
        told = SERVICES["bertdata"]["environment"]
        before, _, after = given.partition(" -- ")
        words = ["bertdata", *shlex.split(before), *tasks, "--", *shlex.split(after)]
        words = [*driver.before, *program(words, told)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        get = f"import s3fs; s3fs.S3FileSystem().get('data/corpus', {str(tmp_path / 'there')!r}, recursive=True)"
        driver.start(tmp_path / "get", "env", *(f"{k}={v}" for k, v in told.items()), "python", "-c", get).wait()
    assert data(tmp_path / "there") == data(build("build-corpus", tmp_path / "here", "--text", tmp_path / "in.jsonl", *tasks))
    written = re.findall(r'^(\S+) .*"PUT /data/corpus/data/', (tmp_path / "store" / "log").read_text(), re.M)
    assert set(written) == {machines[host].address for host in hosts_of("worker")}

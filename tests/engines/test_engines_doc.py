"""The commands of docs/how-to/engines.md run as they stand, as far as they can here: other hosts are this one, on free ports.

What needs an engine that is not here (jars, a cloud) is checked without it: Beam accepts the options, a template its parameters.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bertdata.pipelines.engines import engine
from clusters import SECONDS, TIED, end, free_ports, wait_for
from conftest import REPOSITORY, SAMPLE, digests
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry
from listeners import listeners

from bertdata.cli import cli

pytestmark = pytest.mark.nightly

TEXT = (REPOSITORY / "docs" / "how-to" / "engines.md").read_text(encoding="utf-8")
BLOCKS = [re.sub(r"\\\n\s*", "", block) for block in re.findall(r"^```\n(.*?)^```", TEXT, re.M | re.S)]
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def lines(*words: str) -> list[str]:
    """List the lines of all blocks that begin with one of some words, without comments."""
    found = [line.split("  #")[0].strip() for block in BLOCKS for line in block.splitlines()]
    return [line for line in found if line.startswith(words)]


def block_with(text: str) -> str:
    (found,) = (block for block in BLOCKS if text in block)
    return found


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with what the commands read: dumps."""
    (tmp_path / "dumps").mkdir()
    shutil.copy(next(SAMPLE.glob("*en*.bz2")), tmp_path / "dumps")
    return tmp_path


def sh(script: str, directory: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a user would."""
    environment = {**os.environ, "PATH": PATH, **env}
    return subprocess.run(
        ["sh", "-ec", script], cwd=directory, env=environment, capture_output=True, text=True, timeout=2 * SECONDS
    )


def test_every_line_of_every_block_has_a_test() -> None:
    known = (
        "bertdata ",
        "pip install ",
        "export ",
        "dask ",
        "java -jar ",
        "python -m ",
        "IMAGE=",
        "docker build ",
        "for ",
        "done",
    )
    known += ("gcloud dataflow flex-template ", "unshare ", "openssl req ", "sbatch ", "python -c ", "(cd ")
    for block in BLOCKS:
        for line in block.splitlines():
            assert line.strip().startswith(known), line
            assert "…" not in line, f"a command with a gap cannot be run: {line}"


@pytest.mark.slow
def test_the_local_command(directory: Path) -> None:
    done = sh(block_with("here, a worker for each core"), directory)
    assert done.returncode == 0, done.stderr
    assert (directory / "corpus" / "manifest.json").exists()


@pytest.fixture
def google_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let paths of Google's store be made also where gcsfs is not installed; nothing is read or written there."""
    if not _is_installed("gcsfs"):
        monkeypatch.setitem(_registry, "gs", MemoryFileSystem)


@pytest.mark.usefixtures("google_storage")
@pytest.mark.slow
def test_beam_takes_the_options_of_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the engine is not here; a runner whose package is missing is left out."""
    looks = "apache_beam.options.pipeline_options.GoogleCloudOptions._warn_if_soft_delete_policy_enabled"
    monkeypatch.setattr(looks, lambda *_: None)  # it asks a store that cannot be reached, for minutes
    checked = 0
    for line in lines("bertdata "):
        before, _, after = line.partition(" -- ")
        command = cli.get_command(None, shlex.split(before)[1])  # type: ignore[arg-type]
        assert command is not None
        words = shlex.split(before.replace("$IMAGE", "image"))[2:]
        command.make_context("", words, resilient_parsing=False)
        beam = shlex.split(after.replace("$IMAGE", "image"))
        modules = {"DaskRunner": "distributed", "pyspark_runner": "beam_pyspark_runner", "Dataflow": "google.cloud.dataflow"}
        if any(name in after and not _is_installed(module) for name, module in modules.items()):
            continue
        assert engine.check(beam, None, "--no-wait" not in before) is False
        checked += 1
    assert checked >= 4


def _is_installed(module: str) -> bool:
    with contextlib.suppress(ModuleNotFoundError):
        return importlib.util.find_spec(module) is not None
    return False


@pytest.mark.slow
def test_what_is_installed_exists() -> None:
    """The extras are those of the project, the jars are of the Beam that is installed, the module of the pool is there."""
    project = (REPOSITORY / "pyproject.toml").read_text()
    for extra in re.findall(r"'bertdata\[(\w+)\]'", TEXT):
        assert re.search(rf"^{extra} = \[", project, re.M), extra
    (version,) = re.findall(r"^apache-beam==(.*)$", (REPOSITORY / "constraints.txt").read_text(), re.M)
    assert set(re.findall(r"job-server-(\d[\d.]*\d)\.jar", TEXT)) == {version}
    pinned = re.findall(r"beam-pyspark-runner==[\d.]+", TEXT)
    assert pinned and all(each in (REPOSITORY / "Makefile").read_text() for each in pinned)
    (pool,) = lines("python -m apache_beam")
    help_text = sh(pool.replace("--service_port=50000", "--help"), REPOSITORY).stdout
    assert "--service_port" in help_text


@pytest.mark.usefixtures("google_storage")
def test_the_templates_take_their_parameters() -> None:
    spec = importlib.util.spec_from_file_location("launch", REPOSITORY / "pipelines" / "dataflow" / "launch.py")
    assert spec is not None and spec.loader is not None
    launch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(launch)
    runs = lines("gcloud dataflow flex-template run")
    assert len(runs) == 3
    for line in runs:
        words = shlex.split(line)
        given = words[words.index("--parameters") + 1]
        between, given = (given[1], given[3:]) if given.startswith("^") else (",", given)
        arguments = [f"--{each}" for each in given.split(between)]
        name, *made = launch.command_line(arguments)
        beam = made[made.index("--") + 1 :]
        assert beam == [], "a parameter that the template does not know goes to Beam"
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        command.make_context("", made[: made.index("--")])
    for line in lines("docker build "):
        assert (REPOSITORY / re.findall(r"--file (\S+)", line)[0]).exists()
    (loop,) = lines("for command in")
    assert all((REPOSITORY / f"pipelines/dataflow/{name}.json").exists() for name in loop.split(" in ")[1].split(";")[0].split())


@contextlib.contextmanager
def dask_of(block: str, directory: Path) -> Iterator[str]:
    """Run the scheduler and the worker of a block, each in its own shell after the block's exports; yield the other lines."""
    port = str(free_ports(1)[0])
    block = re.sub(r"  +#.*", "", block).replace("8786", port)
    servers = [line.removesuffix(" &") for line in block.splitlines() if line.startswith("dask ")]
    others = ("dask ", "bertdata ", "openssl ", "pip ")
    before = "\n".join(line for line in block.splitlines() if not line.startswith(others))
    with contextlib.ExitStack() as stack:
        for server, said in zip(servers, ("Scheduler at:", "Registered to:"), strict=True):
            log = directory / f"{server.split()[1]}.log"
            script = f"{before}\nexec {server}"
            with log.open("wb") as file:
                words = [*TIED, "sh", "-ec", script]
                environment = {**os.environ, "PATH": PATH}
                process = subprocess.Popen(
                    words, cwd=directory, env=environment, stdout=file, stderr=file, start_new_session=True
                )
            stack.callback(end, process)
            wait_for(log, said, process)
            if Path("/proc/net/tcp").exists():
                assert {found.address for found in listeners(process.pid) if found.family != "unix"} == {"127.0.0.1"}
        yield f"{before}\n" + "\n".join(line for line in block.splitlines() if line.startswith("bertdata "))


@pytest.mark.long
@pytest.mark.parametrize("text", ["tcp://127.0.0.1:8786 --dask_partition_size", "tcp://SCHEDULER_IP:8786 --dask_partition_size"])
def test_dask(directory: Path, text: str) -> None:
    """Also with the settings for accidents: a wrong one ends the scheduler; hosts are this one.  It is seen, and ended."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    block = re.sub("(SCHEDULER|WORKER)_IP", "127.0.0.1", block_with(text)).replace("/tmp/dask-mine", "mine")
    seen, ended = lines('python -c "from distributed')
    with dask_of(block, directory) as script:
        done = sh(script, directory)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in (directory / "scheduler.log").read_text(), "of a command that has succeeded"
        (port,) = re.findall(r"address=tcp://127.0.0.1:(\d+)", script)
        assert "tcp://127.0.0.1:" in sh(seen.replace("8786", port), directory).stdout
        assert sh(ended.replace("8786", port), directory).returncode == 0
    one = sh(block_with("here, a worker for each core").replace("--output corpus", "--output other"), directory)
    assert one.returncode == 0 and digests(directory / "corpus") == digests(directory / "other")
    first, second = sh(block_with("sha256sum"), directory).stdout.splitlines()
    assert first == second


@pytest.mark.long
def test_dask_with_tls(directory: Path) -> None:
    """Who has no certificate is refused."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    block = block_with("openssl req")
    assert sh(block.splitlines()[0], directory).returncode == 0
    assert (directory / "dask-key.pem").stat().st_mode & 0o077 == 0
    with dask_of(block, directory) as script:
        address = re.findall(r"address=tls://(\S+)", script)[0]
        for scheme in ("tls", "tcp"):
            code = f"import distributed; distributed.Client('{scheme}://{address}', timeout=3)"
            stranger = subprocess.run([sys.executable, "-c", code], cwd=directory, capture_output=True, text=True, check=False)
            assert stranger.returncode != 0
        done = sh(script, directory)
    assert done.returncode == 0, done.stderr

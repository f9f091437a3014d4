"""Spark standalone, a master and two workers of PyPI's pyspark: the bytes are those of one process, on all three pipelines."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import MODES, UMASKS, Host, end, free_ports, modes, wait_for
from conftest import SAMPLE, Run, digests, leftovers

RUNNER = "--runner=beam_pyspark_runner.pyspark_runner.PySparkRunner"
JAR = "BERTDATA_SPARK_JAR"
_LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a Java that starts soon
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.nightly]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Run the master and its workers, each in a directory of its own; return the environment that sends a job there."""
    pyspark = pytest.importorskip("pyspark", reason="Spark is not installed")
    root, home, host = tmp_path_factory.mktemp("spark"), Path(pyspark.__file__).parent, Host()
    launcher = home / "bin" / "spark-class"
    if subprocess.run([launcher, "org.apache.spark.launcher.Main", "--help"], capture_output=True, check=False).returncode == 127:
        pytest.skip("Java is not installed")
    port = free_ports(1)[0]
    # a `python` of its own environment for the workers; addresses on loopback alone
    own = ["env", f"SPARK_HOME={home}", f"PYSPARK_PYTHON={sys.executable}", "SPARK_LOCAL_IP=127.0.0.1", "SPARK_NO_DAEMONIZE=1"]
    own += [f"SPARK_DAEMON_JAVA_OPTS={_LIGHT}", f"SPARK_SUBMIT_OPTS={_LIGHT}"]
    processes = []
    try:
        master = (launcher, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", 0)
        processes.append(host.start(root / "master", *own, *master))
        wait_for(root / "master" / "log", "New state: ALIVE", processes[0])
        for number, umask in enumerate(UMASKS):
            directory = root / f"worker-{number}"
            options = ("--host", "127.0.0.1", "--webui-port", 0, "--cores", 1, "--memory", "1g", "--work-dir", directory / "work")
            worker = (launcher, "org.apache.spark.deploy.worker.Worker", *options, f"spark://127.0.0.1:{port}")
            processes.append(host.start(directory, *own, *worker, umask=umask))
        for number, process in enumerate(processes[1:]):
            wait_for(root / f"worker-{number}" / "log", "Successfully registered with master", process)
        conf = {"default.parallelism": 4, "ui.enabled": "false", "executor.memory": "1g", "executor.extraJavaOptions": _LIGHT}
        settings = shlex.join(word for name, value in conf.items() for word in ("--conf", f"spark.{name}={value}"))
        yield {
            **dict(word.split("=", 1) for word in own[1:]),
            "MASTER_URL": f"spark://127.0.0.1:{port}",
            "PYSPARK_SUBMIT_ARGS": f"--master spark://127.0.0.1:{port} {settings} pyspark-shell",
        }
    finally:
        for process in reversed(processes):
            end(process)


def test_all_three_on_two_workers(
    run: Run, spark: dict[str, str], sample_corpus: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    pytest.importorskip("beam_pyspark_runner", reason="pip install --no-deps beam-pyspark-runner==0.0.3")
    corpus, vocab = tmp_path / "corpus", tmp_path / "vocab"
    beam = ("--", RUNNER)
    run("build-corpus", "--wikipedia", SAMPLE, "--books", SAMPLE / "books", "--output", corpus, *beam, **spark)
    assert digests(corpus) == digests(sample_corpus)
    run("train-vocab", corpus, "--size", 4000, "--output", vocab, *beam, **spark)
    assert digests(vocab) == digests(sample_vocab)
    words = ("make-pairs", corpus, "--vocab", vocab, "--shards", 6, "--max-seq-length", 64)
    run(*words, "--output", tmp_path / "here", "--workers", 1)
    there = tmp_path / "there"
    run(*words, "--output", there, *beam, **spark)
    assert digests(there) == digests(tmp_path / "here")
    assert all(leftovers(directory) == [] for directory in (corpus, vocab, there))
    shards = [path for directory in (there, corpus) for path in (directory / "data").iterdir()]
    assert modes(shards) == MODES, "both workers have written"


def test_an_error_of_a_step_is_told_as_it_is(run: Run, spark: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("beam_pyspark_runner", reason="pip install --no-deps beam-pyspark-runner==0.0.3")
    (tmp_path / "book.txt").write_text("* * *\n")
    words = ("build-corpus", "--books", tmp_path / "book.txt", "--output", tmp_path / "corpus", "--", RUNNER)
    quiet = spark | {"PYSPARK_SUBMIT_ARGS": f"--conf spark.log.level=ERROR {spark['PYSPARK_SUBMIT_ARGS']}"}
    said = run(*words, code=3, **quiet).stderr
    assert "became a document" in said.splitlines()[-1] and "Traceback" not in said


def test_a_master_that_does_not_run_is_reported_at_once(run: Run, tmp_path: Path) -> None:
    """Spark itself tries for a minute, and its error ends in the frames of a Java thread."""
    pytest.importorskip("beam_pyspark_runner", reason="pip install --no-deps beam-pyspark-runner==0.0.3")
    (tmp_path / "book.txt").write_text("A kettle sings.\n")
    master = f"spark://127.0.0.1:{free_ports(1)[0]}"
    words = ("build-corpus", "--books", tmp_path / "book.txt", "--output", tmp_path / "corpus", "--", RUNNER)
    said = run(*words, code=4, PYSPARK_SUBMIT_ARGS=f"--master {master} pyspark-shell").stderr
    assert f"PySparkRunner at {master} cannot be reached: Connection refused. Start the master" in said.splitlines()[-1]
    assert not (tmp_path / "corpus").exists()


def test_beams_own_runner(run: Run, spark: dict[str, str], sample_corpus: Path, tmp_path: Path) -> None:
    """Beam's runner for Spark, whose server is a jar."""
    if not (jar := os.environ.get(JAR)):
        pytest.skip(f"give Beam's job server for Spark: {JAR}=…/beam-runners-spark-3-job-server-2.77.0.jar")
    beam = ("--runner=SparkRunner", f"--spark_job_server_jar={jar}", f"--spark_master_url={spark['MASTER_URL']}")
    corpus = tmp_path / "corpus"
    sources = ("--wikipedia", SAMPLE, "--books", SAMPLE / "books")
    run("build-corpus", *sources, "--output", corpus, "--", *beam, "--environment_type=LOOPBACK", **spark)
    assert digests(corpus) == digests(sample_corpus)

"""`--no-wait`: the command ends, the job goes on in Beam's job service, and the directory is its own until it commits."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bertdata.pipelines.engines import engine
from clusters import SECONDS, Cluster, Host, portable_cluster, standing_still
from conftest import SAMPLE, Run, digests, leftovers
from listeners import is_loopback, listeners

from bertdata.errors import UsageError

pytestmark = pytest.mark.nightly

SOURCES = ("--wikipedia", SAMPLE, "--books", SAMPLE / "books")
LENGTHS = ("--max-seq-length", 64, "--max-seq-length", 128, "--shards", 3)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with portable_cluster(tmp_path_factory.mktemp("cluster"), [Host(), Host(), Host()]) as found:
        yield found


def await_manifest(directory: Path) -> None:
    limit = time.monotonic() + SECONDS
    while not (directory / "manifest.json").is_file() or leftovers(directory):
        assert time.monotonic() < limit, leftovers(directory)
        time.sleep(0.1)


@pytest.mark.long
def test_the_job_goes_on_and_writes_the_bytes_of_a_local_run(
    run: Run, cluster: Cluster, sample_corpus: Path, sample_vocab: Path, tmp_path: Path
) -> None:
    corpus, vocab = tmp_path / "corpus", tmp_path / "vocab"
    words = ("build-corpus", *SOURCES, "--output", corpus)
    with standing_still(cluster):
        said = run(*words, "--no-wait", "--", *cluster.options).stdout
        job = json.loads((corpus / ".bertdata" / "job.json").read_text())
        name = f"job {job['id']} of PortableRunner ({cluster.options[1].partition('=')[2]})"
        assert job["id"] and said == f"{corpus}: {name} writes it; it is done when this shows it: bertdata inspect {corpus}\n"
        assert f"{corpus} is being written by {name}: wait until" in run("inspect", corpus, code=2).stderr
        for more in (("--overwrite",), ("--no-wait",)):
            beam = ("--", *cluster.options) if "--no-wait" in more else ()
            told = run(*words, *more, *beam, code=5).stderr
            assert f"{corpus} is being written by {name}: wait for it; if it has ended and left no dataset, remove " in told
        assert not (corpus / "manifest.json").exists()
    await_manifest(corpus)
    assert digests(corpus) == digests(sample_corpus)
    assert "nothing to do" in run(*words).stdout
    run("train-vocab", corpus, "--size", 4000, "--output", vocab, "--no-wait", "--", *cluster.options)
    await_manifest(vocab)
    assert digests(vocab) == digests(sample_vocab)
    opened = {found for process in (*cluster.servers, *cluster.workers) for found in listeners(process.pid)}
    assert all(found.family == "unix" or is_loopback(found) for found in opened), "a test opens no port to others"


@pytest.mark.long
def test_several_outputs_are_one_job(run: Run, cluster: Cluster, sample_corpus: Path, sample_vocab: Path, tmp_path: Path) -> None:
    words = ("make-pairs", sample_corpus, "--vocab", sample_vocab, *LENGTHS, "--output")
    outputs = [tmp_path / f"there-{length}" for length in (64, 128)]
    with standing_still(cluster):
        said = run(*words, tmp_path / "there", "--no-wait", "--", *cluster.options).stdout
        assert [line.partition(":")[0] for line in said.splitlines()] == [str(output) for output in outputs]
        assert len({(output / ".bertdata" / "job.json").read_text() for output in outputs}) == 1
    run(*words, tmp_path / "here", "--workers", 1)
    for output in outputs:
        await_manifest(output)
        assert digests(output) == digests(tmp_path / output.name.replace("there", "here"))


@pytest.mark.long
def test_a_job_that_died_is_told_dead_by_hand_and_then_resumed(run: Run, sample_corpus: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    words = ("build-corpus", *SOURCES, "--output", corpus)
    with portable_cluster(tmp_path / "cluster", [Host(), Host(), Host()]) as cluster, standing_still(cluster):
        run(*words, "--no-wait", "--", *cluster.options)
    said = run(*words, code=5).stderr  # nobody here can know that the service is gone
    record = corpus / ".bertdata" / "job.json"
    assert f"remove {record} and run the same command again" in said
    record.unlink()
    run(*words, "--workers", 1)
    assert digests(corpus) == digests(sample_corpus)
    assert leftovers(corpus) == []


@pytest.mark.long
def test_a_command_that_waits_holds_the_directory_for_its_job_too(
    run: Run, cluster: Cluster, sample_corpus: Path, tmp_path: Path
) -> None:
    """Its record goes with the end of the job, good or bad."""
    good, bad, book = tmp_path / "good", tmp_path / "bad", tmp_path / "book.txt"
    run("build-corpus", *SOURCES, "--output", good, "--", *cluster.options)
    assert digests(good) == digests(sample_corpus)
    assert leftovers(good) == []
    book.write_text("* * *\n")
    words = ("build-corpus", "--books", book, "--output", bad)
    assert "became a document" in run(*words, "--", *cluster.options, code=3).stderr
    assert not (bad / ".bertdata" / "job.json").exists()
    before = (good / "manifest.json").stat().st_ino
    with standing_still(cluster):
        run("build-corpus", *SOURCES, "--output", good, "--overwrite", "--no-wait", "--", *cluster.options)
        assert digests(good) == digests(sample_corpus) and (good / "manifest.json").stat().st_ino == before
        assert "61 documents" in run("inspect", good, "--n", 0).stdout, "the old one is there until the new one is whole"
    await_manifest(good)
    assert digests(good) == digests(sample_corpus) and (good / "manifest.json").stat().st_ino != before


@pytest.mark.parametrize(
    ("beam", "runner"),
    [
        ((), ""),
        (("--runner=PortableRunner", "--job_endpoint=embed"), "PortableRunner"),
        (("--runner=PortableRunner", "--job_endpoint=127.0.0.1:9", "--environment_type=LOOPBACK"), "PortableRunner"),
        (("--runner=FlinkRunner", "--flink_master=127.0.0.1:9"), "FlinkRunner"),
        (("--runner=SparkRunner", "--spark_master_url=spark://127.0.0.1:9"), "SparkRunner"),
    ],
)
def test_an_engine_that_ends_with_the_command_is_refused(beam: tuple[str, ...], runner: str) -> None:
    with pytest.raises(
        UsageError,
        match=f"^`wait`: a {f'job of {runner}' if runner else 'local run'} ends with this process: omit it, or name an engine",
    ):
        engine.check(beam, None, wait=False)


@pytest.mark.parametrize(
    "beam",
    [
        ("--runner=PortableRunner", "--job_endpoint=127.0.0.1:9"),
        ("--runner=FlinkRunner", "--flink_master=127.0.0.1:9", "--flink_submit_uber_jar"),
    ],
)
@pytest.mark.slow
def test_an_engine_that_goes_on_is_taken(beam: tuple[str, ...]) -> None:
    assert not engine.check(beam, None, wait=False)


def test_a_refused_command_writes_nothing(run: Run, tmp_path: Path) -> None:
    said = run("build-corpus", *SOURCES, "--output", tmp_path / "corpus", "--no-wait", code=2).stderr
    assert "--no-wait: a local run ends with this process" in said
    beam = ("--runner=DaskRunner", "--dask_client_adress=tcp://127.0.0.1:9")
    said = run("build-corpus", *SOURCES, "--output", tmp_path / "corpus", "--dry-run", "--", *beam, code=2).stderr
    assert "--dask_client_address" in said
    assert not (tmp_path / "corpus").exists()


def test_a_service_that_is_not_there_holds_nothing(run: Run, tmp_path: Path) -> None:
    beam = ("--runner=PortableRunner", "--job_endpoint=127.0.0.1:9", "--job_server_timeout=1")
    said = run("build-corpus", *SOURCES, "--output", tmp_path / "corpus", "--no-wait", "--", *beam, code=4).stderr
    assert " cannot be reached: no answer in " in said
    assert not (tmp_path / "corpus").exists()
